#!/usr/bin/env bash
# Unpacks servers (Redis, Ceph's S3 gateway and others) and a file system for tests from Debian's packages into a separate
# directory. Does not change the system: no root, daemon, account or package. apt verifies the signatures.
#
#   scripts/test-servers.sh          unpacks into $TEST_SERVERS_DIR, by default ~/.cache/cloud-sync-service/test-servers
set -euo pipefail

PACKAGES=(
  redis-server radosgw ceph-mon ceph-osd ceph-common chromium nginx pgbouncer caddy shellcheck prometheus
  prometheus-alertmanager
)
DISKS=(exfat-fuse exfatprogs) # a file system that folds case, in user space
prefix=${TEST_SERVERS_DIR:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/cloud-sync-service/test-servers}

if [ "$(cat "$prefix/unpacked" 2>/dev/null)" = "${PACKAGES[*]} ${DISKS[*]}" ]; then
  echo "test servers: already in $prefix"
  exit 0
fi
command -v apt-get >/dev/null || { echo "test servers: apt-get is not available, so there are no Debian packages" >&2; exit 1; }

# The directory gets its final name only when it is complete.
draft=$prefix.$$
trap 'rm -rf "$draft"' EXIT
mkdir -p "$draft/apt/lists/partial" "$draft/apt/archives/partial"

# Uses separate package lists and locks: the system's may be missing, stale or owned by another user.
apt=(apt-get -qq -y -o Dir::State::lists="$draft/apt/lists" -o Dir::Cache="$draft/apt"
  -o Debug::NoLocking=1 -o APT::Sandbox::User= -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
"${apt[@]}" update || true # an unreachable source does not matter unless it is ours, in which case the next line fails
"${apt[@]}" --no-install-recommends --download-only install "${PACKAGES[@]}" "${DISKS[@]}" >/dev/null
for package in "$draft"/apt/archives/*.deb; do dpkg-deb --extract "$package" "$draft"; done
find "$draft" -type f -perm /6000 -exec chmod a-s {} + # no setuid copies
rm -rf "$draft/apt"
echo "${PACKAGES[*]} ${DISKS[*]}" >"$draft/unpacked"

rm -rf "$prefix"
mv -T "$draft" "$prefix"
echo "test servers: unpacked into $prefix"
