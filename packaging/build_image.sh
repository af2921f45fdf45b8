#!/usr/bin/env bash
# Build the image from the wheels in dist/image with buildah, which needs no daemon, and save it to
# dist/calibrant.tar:
#   bash packaging/build_image.sh [FOLDER]   where dist is, by default this repository
#   BASE=IMAGE     the base: one that buildah can pull, such as docker.io/library/python:3.11-slim
#   EXTRAS=A,B     the extras, by default those of the Dockerfile
# Without BASE, a Debian with the Python that the wheels are for is made by mmdebstrap, from Debian's
# packages alone.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
cd "${1:-$here}"
store=(--storage-driver vfs)
version=$("$here/.venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ -z "${BASE:-}" ]; then
  declare -A suites=([3.11]=bookworm [3.13]=trixie)
  suite=${suites[$version]:-}
  [ -n "$suite" ] || { echo "no Debian has Python $version; say which base with BASE=..." >&2; exit 2; }
  for tool in buildah mmdebstrap; do
    command -v $tool > /dev/null || { apt-get update -q && apt-get install -qy --no-install-recommends $tool; }
  done
  BASE=localhost/calibrant-base:$suite
  if ! buildah "${store[@]}" images --quiet "$BASE" > /dev/null 2>&1; then
    root=$(mktemp)
    mmdebstrap --quiet --variant=minbase --include=python3-venv,ca-certificates "$suite" "$root.tar"
    container=$(buildah "${store[@]}" from scratch)
    buildah "${store[@]}" add --quiet "$container" "$root.tar" /
    buildah "${store[@]}" commit --quiet "$container" "$BASE"
    buildah "${store[@]}" rm "$container" > /dev/null
    rm -f "$root" "$root.tar"
  fi
fi
buildah "${store[@]}" bud --isolation chroot --build-arg "BASE=$BASE" ${EXTRAS:+--build-arg "EXTRAS=$EXTRAS"} \
  --format docker --file "$here/Dockerfile" --tag calibrant .
rm -f dist/calibrant.tar
buildah "${store[@]}" push calibrant docker-archive:dist/calibrant.tar:calibrant:latest
ls -l dist/calibrant.tar
