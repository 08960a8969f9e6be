#!/usr/bin/env bash
# The tests under the address, undefined-behaviour and thread sanitizers. Not those of other compilers' work: the
# installed package, exported symbols, kernels for GPUs. What a process finds goes to a file, so that nothing is lost
# where nobody asks how it ended.
set -euo pipefail
cd "$(dirname "$0")/.."
export TOKITAI_TIME_LIMIT=900
found=$PWD/build/sanitizer_findings
rm -rf "$found" && mkdir -p "$found"
export ASAN_OPTIONS="log_path=$found/address exitcode=66" UBSAN_OPTIONS="log_path=$found/undefined"
export TSAN_OPTIONS="log_path=$found/thread suppressions=$PWD/tools/tsan.supp"
for preset in asan tsan; do
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset" -j "$(nproc)"
  ctest --test-dir "build/$preset" --output-on-failure --timeout 7200 -j "$(nproc)" \
    -E 'package|kernel_symbols|compile_all' "$@" || failed=1
done
if [ -n "$(ls "$found")" ]; then
  head -n 40 "$found"/*
  exit 1
fi
exit "${failed:-0}"
