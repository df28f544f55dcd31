#!/usr/bin/env bash
# Unpacks the servers that some tests need (Redis, Ceph's S3 gateway and others) from Debian's packages into a directory of
# their own. The system stays as it is: no root, no daemon, no account, nothing registered. apt checks the signatures.
#
#   scripts/test-servers.sh          into $TEST_SERVERS_DIR, else ~/.cache/cloud-sync-service/test-servers
set -euo pipefail

PACKAGES=(redis-server radosgw ceph-mon ceph-osd ceph-common chromium nginx pgbouncer)
prefix=${TEST_SERVERS_DIR:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/cloud-sync-service/test-servers}

if [ "$(cat "$prefix/unpacked" 2>/dev/null)" = "${PACKAGES[*]}" ]; then
  echo "test servers: already in $prefix"
  exit 0
fi
command -v apt-get >/dev/null || { echo "test servers: there is no apt-get, and so no Debian packages" >&2; exit 1; }

# Complete under its name or not at all.
draft=$prefix.$$
trap 'rm -rf "$draft"' EXIT
mkdir -p "$draft/apt/lists/partial" "$draft/apt/archives/partial"

# Package lists and locks of our own: the system's may be missing, stale or another user's.
apt=(apt-get -qq -y -o Dir::State::lists="$draft/apt/lists" -o Dir::Cache="$draft/apt"
  -o Debug::NoLocking=1 -o APT::Sandbox::User= -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
"${apt[@]}" update || true # one source of the machine that is away does not matter; whether ours is, the next line says
"${apt[@]}" --no-install-recommends --download-only install "${PACKAGES[@]}" >/dev/null
for package in "$draft"/apt/archives/*.deb; do dpkg-deb --extract "$package" "$draft"; done
find "$draft" -type f -perm /6000 -exec chmod a-s {} + # no copies that run as somebody else
rm -rf "$draft/apt"
echo "${PACKAGES[*]}" >"$draft/unpacked"

rm -rf "$prefix"
mv -T "$draft" "$prefix"
echo "test servers: unpacked into $prefix"
