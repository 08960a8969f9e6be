#!/usr/bin/env bash
# The fast tests and a quick verification under the address, undefined-behaviour and thread sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."
for preset in asan tsan; do
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" -j "$(nproc)"
  ctest --test-dir "build/$preset" --output-on-failure -L fast -E 'package|kernel_symbols'
  "build/$preset/tokitai" verify --quick
done
