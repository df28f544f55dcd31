#!/usr/bin/env bash
# Generates the secrets of docker-compose.yml once: existing files are kept.
#
#   scripts/make-secrets.sh [DIRECTORY]     default: ./secrets
#
# Containers read the files as another user, so the files are world-readable, in a directory that only you can enter.
set -euo pipefail

directory=${1:-secrets}
mkdir -p "$directory"
chmod 700 "$directory"

random() { head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

keep() { # NAME TEXT
  [ -e "$directory/$1" ] && return
  (umask 077 && printf '%s' "$2" >"$directory/$1.draft")
  chmod 644 "$directory/$1.draft"
  mv "$directory/$1.draft" "$directory/$1"
  echo "created $directory/$1"
}
kept() { cat "$directory/$1"; }

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
