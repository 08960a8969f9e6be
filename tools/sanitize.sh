#!/usr/bin/env bash
# The tests under the address, undefined-behaviour and thread sanitizers. Not those of other compilers' work: the
# installed package, exported symbols, kernels for GPUs.
set -euo pipefail
cd "$(dirname "$0")/.."
export TSAN_OPTIONS="suppressions=$PWD/tools/tsan.supp" TOKITAI_TIME_LIMIT=900
for preset in asan tsan; do
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" -j "$(nproc)"
  ctest --test-dir "build/$preset" --output-on-failure --timeout 7200 -j "$(nproc)" -E 'package|kernel_symbols|compile_all'
done
