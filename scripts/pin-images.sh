#!/usr/bin/env bash
# Adds the digest of each image to its tag in docker-compose.yml and Dockerfile, as the registry has it now. Needs Docker
# with buildx, and the network.
#
#   scripts/pin-images.sh
#
# A digest stands for all architectures. Renovate (renovate.json) then updates tag and digest together.
set -euo pipefail
cd "$(dirname "$0")/.."

images=$(sed -nE 's/^ +image: ([^ @]+:[^ @]+)$/\1/p; s/^FROM ([^ @]+:[^ @]+)( AS .*)?$/\1/p' docker-compose.yml Dockerfile |
  grep -v '^cloud-sync-service:' | sort -u)
for image in $images; do
  digest=$(docker buildx imagetools inspect --format '{{json .Manifest.Digest}}' "$image" | tr -d '"')
  [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "$image has no digest: $digest" >&2; exit 1; }
  sed -i -E "s#^( +image: |FROM )${image//./\\.}( |\$)#\\1$image@$digest\\2#" docker-compose.yml Dockerfile
  echo "$image@$digest"
done
