#!/usr/bin/env bash
# Installs the build in $1 to a temporary prefix, builds user.cpp against the package with compiler $2, runs it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$1" --prefix "$folder/prefix" >/dev/null
cmake -S "$here" -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_CXX_COMPILER="$2" >/dev/null
cmake --build "$folder/build" >/dev/null
found=$("$folder/build/user")
[ "$found" = "0.333333 0.090031 0.665241" ] || { echo "the installed package gave: $found"; exit 1; }
"$folder/prefix/bin/tokitai" --version
