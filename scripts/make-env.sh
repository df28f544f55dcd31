#!/usr/bin/env bash
# Writes what docker-compose.yml needs, once: .env, and the secrets in files of their own.
#
#   scripts/make-env.sh BASE_URL [OPTION …]
#
#   BASE_URL                  the public address: https://sync.example.org, or http://localhost:8787 to try it out
#   --behind-proxy [ADDRESS]  a proxy of your own ends TLS; the service is at ADDRESS (default 127.0.0.1:8787)
#   --with PROFILE            redis, s3 or monitoring; may be repeated
#   --directory DIRECTORY     where to write, by default the directory of docker-compose.yml
#
# Refuses to overwrite .env, and keeps every secret that exists: without its files, a stack cannot read its own data.
# Containers read the secrets as other users, so the files are world-readable, in a directory that only you can enter.
set -euo pipefail

usage() {
  sed -n 's/^# \{0,1\}//; 2,/^Refuses/{/^Refuses/!p}' "$0" >&2
  exit 2
}

directory=$(dirname "$0")/..
base_url='' profiles=() address=''
while [ $# -gt 0 ]; do
  case $1 in
    --behind-proxy)
      address=127.0.0.1:8787
      if [[ ${2-} =~ ^[0-9.]+:[0-9]+$ || ${2-} =~ ^\[[0-9a-f:]+\]:[0-9]+$ ]]; then address=$2 && shift; fi
      ;;
    --with)
      [[ ${2-} =~ ^(redis|s3|monitoring)$ ]] || usage
      profiles+=("$2") && shift
      ;;
    --directory) directory=${2:?} && shift ;;
    http://* | https://*) base_url=${1%/} ;;
    *) usage ;;
  esac
  shift
done
[[ $base_url =~ ^https?://(([A-Za-z0-9.-]+)(:[0-9]+)?)$ ]] || usage
domain=${BASH_REMATCH[2]} port=${BASH_REMATCH[3]#:}
# Caddy gets certificates for port 443; everything else is plain HTTP on this machine.
case $base_url in
  http://*) address=${address:-127.0.0.1:${port:-8787}} ;;
  *) [ -z "$port" ] || address=${address:-127.0.0.1:8787} ;;
esac

cd "$directory"
[ ! -e .env ] || { echo "$PWD/.env exists and is not overwritten; edit it, or move it away first" >&2; exit 1; }
mkdir -p secrets
chmod 700 secrets

random() { head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

# The name appears together with its content, and never replaces a file: of two concurrent runs, the first one wins.
keep() { # NAME TEXT
  local draft=secrets/.$1.$$
  [ ! -e "secrets/$1" ] || return 0
  (umask 077 && printf '%s' "$2" >"$draft")
  chmod 644 "$draft"
  if ln "$draft" "secrets/$1" 2>/dev/null; then echo "created secrets/$1"; fi
  rm "$draft"
}
kept() { cat "secrets/$1"; }

keep auth_secret "$(random 32)"
keep postgres_password "$(random 24)"
keep database_url "postgres://sync:$(kept postgres_password)@postgres:5432/sync"
keep s3_access_key "$(random 10)"
keep s3_secret_key "$(random 20)"
keep s3_identities "{\"identities\":[{\"name\":\"service\",\"credentials\":[{\"accessKey\":\"$(kept s3_access_key)\",\"secretKey\":\"$(kept s3_secret_key)\"}],\"actions\":[\"Admin\",\"Read\",\"Write\",\"List\"]}]}"
keep redis_password "$(random 24)"
keep redis_config "requirepass $(kept redis_password)"
keep redis_url "redis://:$(kept redis_password)@redis:6379"
keep grafana_password "$(random 12)"

proxy=proxy
[ -z "$address" ] || proxy=http
id=$(random 5) # of a unique local IPv6 network, RFC 4193
settings() {
  echo "# Read by Docker Compose and passed to the service; .env.example has every setting of the service."
  echo "COMPOSE_PROFILES=$(IFS=, && echo "$proxy${profiles[*]:+,${profiles[*]}}")"
  echo "BASE_URL=$base_url"
  if [ -n "$address" ]; then echo "HTTP_ADDRESS=$address"; else echo "DOMAIN=$domain"; fi
  echo "IPV6_SUBNET=fd${id:0:2}:${id:2:4}:${id:6:4}::/64"
  [[ " ${profiles[*]-} " != *' redis '* ]] || echo "REDIS_URL_FILE=/run/secrets/redis_url"
  [[ " ${profiles[*]-} " != *' s3 '* ]] || printf '%s\n' S3_ENDPOINT=http://s3:8333 S3_BUCKET=cloud-sync \
    S3_ACCESS_KEY_FILE=/run/secrets/s3_access_key S3_SECRET_KEY_FILE=/run/secrets/s3_secret_key
}

# The last step, so that an interrupted run can be repeated.
draft=.env.$$
trap 'rm -f "$draft"' EXIT
(umask 077 && settings >"$draft")
ln "$draft" .env || { echo "$PWD/.env has been written meanwhile" >&2; exit 1; }
echo "created .env"
