#!/usr/bin/env bash
# Builds Citus for the tests: scripts/build-citus.sh FOLDER [SOURCE]
#
# Copies the PostgreSQL of `pg_config` (or of $PG_CONFIG) into FOLDER and installs Citus into the copy, so the PostgreSQL of
# the system stays as it is. SOURCE is a folder with the sources of Citus; without it, the script clones the release below.
# The last line is the folder with the programs; give it to the tests as VITEST_PLIMSOLL_CITUS.
#
# Needs git, make, a C compiler and the headers of PostgreSQL 15-17; `.ci/run` names the packages of Debian and Ubuntu.
set -euo pipefail

RELEASE=v13.0.5
CLONE_LIMIT=60 # seconds

if (($# < 1 || $# > 2)); then
  sed -n 2p "$0" | cut -c3- >&2
  exit 2
fi
pg_config=${PG_CONFIG:-pg_config}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

if (($# == 2)); then
  cp -R "$2/." "$build"
else
  timeout "$CLONE_LIMIT" git clone --quiet --depth 1 --branch "$RELEASE" https://github.com/citusdata/citus.git "$build"
fi

# PostgreSQL finds its other folders from where its programs are.
for kind in bindir sharedir pkglibdir; do
  path=$("$pg_config" "--$kind")
  mkdir -p "$folder$path"
  cp -R "$path/." "$folder$path"
done

cd "$build"
# A file that looks older than its source would be made anew, which needs autoconf.
touch src/include/citus_config.h.in configure
PG_CONFIG=$pg_config ./configure --quiet --without-libcurl >&2
make --silent -j "$(nproc 2>/dev/null || echo 2)" extension >&2
make --silent install-extension DESTDIR="$folder" >&2
# As root, PostgreSQL runs as another user, who must be able to read the folder.
chmod -R go+rX "$folder"
echo "$folder$("$pg_config" --bindir)"
