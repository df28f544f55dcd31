#!/usr/bin/env bash
# A full drill on a machine with Docker and Compose 2.24 or later: secrets, start, health, a folder that syncs through the
# proxy, two instances, a hanging instance, upgrade by replacement, backup, a kill of all containers, restore into a second
# stack, the move to the next major version of PostgreSQL and back, and removal.
#
#   scripts/try-compose.sh [make-env OPTION …]     such as: --with s3 --with redis
#
# Needs bash, Node.js and the packages of this tree (npm ci). Uses the local ports 18787 and 18788. Works on a copy of the
# tree with its own project names. Removes its containers, volumes and files at the end, also after a failure; KEEP=1 leaves
# them. NEXT_POSTGRES names the image of the next major version, by default postgres:18-bookworm. Prints a line per step,
# and "the drill passed" as the last one.
set -euo pipefail
unset COMPOSE_FILE COMPOSE_PROJECT_NAME

tree=$(cd "$(dirname "$0")/.." && pwd)
home=$(mktemp -d "${TMPDIR:-/tmp}/try-compose-XXXXXX")
first=try-$$-a second=try-$$-b
sync=(npm --silent --prefix "$tree" run sync --)
adopt=
case " $* " in *' --with s3 '*) adopt=--adopt-store ;; esac

step() { printf '%s  %s\n' "$(date +%T)" "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

in_stack() { # STACK COMPOSE-ARGUMENT…
  local stack=$1
  shift
  (cd "$home/$stack" && docker compose --project-name "$stack" "$@")
}
admin() { # STACK ADMIN-ARGUMENT…
  local stack=$1
  shift
  in_stack "$stack" run --rm -T -v "$home/backups:/backups" -e TMPDIR=/backups service node dist/service/admin.js "$@"
}

finish() {
  local status=$?
  if [ "$status" -ne 0 ]; then
    for stack in "$first" "$second"; do
      [ ! -d "$home/$stack" ] || in_stack "$stack" logs --tail 50 >&2 || true
    done
  fi
  if [ "${KEEP-}" = 1 ]; then
    echo "kept: $home, projects $first and $second" >&2
  else
    for stack in "$first" "$second"; do
      [ ! -d "$home/$stack" ] || in_stack "$stack" down --volumes --remove-orphans --timeout 1 >/dev/null 2>&1 || true
    done
    # The backup belongs to the user of the image.
    docker run --rm --user 0:0 --entrypoint rm -v "$home:/home" cloud-sync-service:try -rf /home/backups >/dev/null 2>&1 || true
    rm -rf "$home" || true
    docker image rm cloud-sync-service:try >/dev/null 2>&1 || true
  fi
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

lay_out() { # STACK PORT OPTION…: a copy of what the compose file needs, with an .env and secrets of its own
  local stack=$1 port=$2
  shift 2
  mkdir "$home/$stack"
  cp -r "$tree/ops" "$home/$stack/"
  sed -E '/^    build: /d; s/^(    image: cloud-sync-service):.*/\1:try/' "$tree/docker-compose.yml" >"$home/$stack/docker-compose.yml"
  "$tree/scripts/make-env.sh" "http://localhost:$port" --directory "$home/$stack" "$@"
  # All requests of the drill come from one address, so a rate limit would slow it down.
  echo RATE_LIMIT_PER_MINUTE=0 >>"$home/$stack/.env"
}

ready() { # PORT
  for _ in $(seq 180); do
    if curl -fsS -o /dev/null --max-time 3 "http://localhost:$1/health/ready" 2>/dev/null; then return; fi
    sleep 1
  done
  fail "http://localhost:$1/health/ready does not answer 200"
}
instances_of() { in_stack "$1" ps --quiet service; } # read it to the end: compose fails when nobody does
same() { diff -r --exclude=.cloud-sync "$1" "$2" >&2 || fail "$1 and $2 differ"; }

for tool in docker curl node npm; do command -v "$tool" >/dev/null || fail "$tool is not installed"; done
docker compose version >/dev/null || fail 'docker compose is not installed'
node -e 'process.exit(require(process.argv[1]).scripts.sync ? 0 : 1)' "$tree/package.json" || fail 'package.json has no script sync'

step 'build the image'
docker build --quiet --tag cloud-sync-service:try "$tree"

step 'secrets and settings, twice: the second time is refused'
lay_out "$first" 18787 "$@"
! "$tree/scripts/make-env.sh" http://localhost:18787 --directory "$home/$first" 2>/dev/null || fail '.env was overwritten'
install -d -m 777 "$home/backups"

step 'up, with two instances'
in_stack "$first" config --quiet
in_stack "$first" up --detach --quiet-pull --scale service=2
ready 18787
[ "$(instances_of "$first" | wc -l)" = 2 ] || fail 'there are not two instances'

step 'an account, and a token for its devices'
field() { node -pe "JSON.parse(require('fs').readFileSync(0, 'utf8'))$1"; }
ask() { # PATH CURL-ARGUMENT…, with the bearer token in $bearer
  curl -fsS "http://localhost:18787$1" -H "authorization: Bearer ${bearer-}" -H 'content-type: application/json' "${@:2}"
}
password=$(admin "$first" user create drill@example.org --json | field .password)
bearer=$(ask /api/auth/sign-in/email -d "{\"email\":\"drill@example.org\",\"password\":\"$password\"}" | field .token)
bearer=$(ask /api/auth/token | field .token)
ACCESS_TOKEN=$(ask /api/v1/auth/tokens -d '{"name":"drill","scopes":["full"]}' | field .token)

step 'two folders in sync through the proxy'
export ACCESS_TOKEN XDG_STATE_HOME=$home/state VAULT_PASSWORD='six words that nobody else says'
mkdir -p "$home/laptop/notes" "$home/phone"
for n in $(seq 200); do head -c $((n * 37)) /dev/urandom >"$home/laptop/notes/$n.md"; done
head -c 5000000 /dev/urandom >"$home/laptop/large.bin"
"${sync[@]}" init "$home/laptop" --service http://localhost:18787 --new drill --device laptop
"${sync[@]}" sync "$home/laptop"
vault=$(ask /api/v1/workspaces | field '.workspaces[0].id')
"${sync[@]}" init "$home/phone" --service http://localhost:18787 --workspace "$vault" --device phone
"${sync[@]}" sync "$home/phone"
same "$home/laptop" "$home/phone"

# Everything acknowledged from here on must survive. Each round writes a file, which counts once `sync` has exited with 0.
write() { # NAME
  head -c 100000 /dev/urandom >"$home/laptop/$1"
  for _ in $(seq 60); do
    if "${sync[@]}" sync "$home/laptop" >/dev/null 2>&1; then return; fi
    sleep 1
  done
  fail "$1 cannot be uploaded"
}
check() { # what has arrived on the other device
  "${sync[@]}" sync "$home/phone" >/dev/null
  same "$home/laptop" "$home/phone"
}

step 'an instance is killed while the other one serves'
docker kill --signal KILL "$(instances_of "$first" | sed -n 1p)" >/dev/null
write killed.bin
check

step 'an instance hangs: its watchdog ends it, and the engine starts it again'
in_stack "$first" up --detach --no-recreate --scale service=2 >/dev/null 2>&1
ready 18787
hung=$(instances_of "$first" | sed -n 1p)
started=$(docker inspect --format '{{.State.StartedAt}}' "$hung")
for _ in $(seq 60); do # the watchdog waits for a start however long it takes
  ! docker logs --since "$started" "$hung" 2>&1 | grep 'is watched from now on' >/dev/null || break
  sleep 1
done
before=$(docker inspect --format '{{.RestartCount}}' "$hung")
# Process 1 is tini, its child the watchdog, and the watchdog's child the service.
docker exec "$hung" node -e '
  const { readdirSync, readFileSync } = require("fs");
  const pid = readdirSync("/proc").find((p) => /^\d+$/.test(p) && /^node\0.*--max-semi-space-size/.test(readFileSync(`/proc/${p}/cmdline`, "utf8")) && !/watchdog/.test(readFileSync(`/proc/${p}/cmdline`, "utf8")));
  process.kill(Number(pid), "SIGSTOP");'
write hung.bin
for _ in $(seq 150); do
  [ "$(docker inspect --format '{{.RestartCount}}' "$hung")" = "$before" ] || break
  sleep 1
done
[ "$(docker inspect --format '{{.RestartCount}}' "$hung")" != "$before" ] || fail 'the instance that hangs was not restarted'
check

step 'upgrade by replacement'
in_stack "$first" up --detach --no-deps --force-recreate --scale service=2 service >/dev/null 2>&1
ready 18787
write replaced.bin
check

step 'backup, beside the running service'
admin "$first" backup create /backups/drill

step 'the machine: every container killed at once'
write before-kill.bin
# shellcheck disable=SC2046 # a list of ids
docker kill --signal KILL $(in_stack "$first" ps --quiet) >/dev/null
in_stack "$first" up --detach --scale service=2 >/dev/null 2>&1
ready 18787
check

step 'restore into a second stack'
lay_out "$second" 18788 "$@"
cp "$home/$first/secrets/auth_secret" "$home/$second/secrets/auth_secret"
admin "$second" backup restore /backups/drill
in_stack "$second" up --detach --quiet-pull
ready 18788
mkdir "$home/restored"
"${sync[@]}" init "$home/restored" --service http://localhost:18788 --workspace "$vault" --device restored
"${sync[@]}" sync "$home/restored"
# The backup is older than the last file.
mv "$home/laptop/before-kill.bin" "$home/"
same "$home/laptop" "$home/restored"
admin "$second" doctor --deep

step 'the next major version of PostgreSQL'
mv "$home/before-kill.bin" "$home/laptop/"
in_stack "$first" up --detach --scale service=1 >/dev/null 2>&1
in_stack "$first" exec -T service node dist/service/admin.js kill-switch down
in_stack "$first" exec -T service node dist/service/admin.js backup create /srv/backups/before-next
in_stack "$first" down >/dev/null 2>&1
cat >"$home/$first/docker-compose.override.yml" <<END
services:
  postgres:
    image: ${NEXT_POSTGRES:-postgres:18-bookworm}
    environment: { PGDATA: /var/lib/postgresql/data/pgdata-next }
END
# With S3, the bucket belongs to the database that is left behind.
in_stack "$first" run --rm -T service node dist/service/admin.js backup restore /srv/backups/before-next ${adopt:+"$adopt"}
in_stack "$first" run --rm -T service node dist/service/admin.js doctor --deep
in_stack "$first" up --detach
ready 18787
in_stack "$first" exec -T postgres postgres --version
check
write next-major.bin
check

step 'and back: what was written since is not there, and devices upload it again'
in_stack "$first" down >/dev/null 2>&1
rm "$home/$first/docker-compose.override.yml"
in_stack "$first" up --detach
in_stack "$first" exec -T service node dist/service/admin.js kill-switch off
ready 18787
write back.bin
check

step 'the drill passed'
