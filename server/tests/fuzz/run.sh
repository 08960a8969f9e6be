#!/usr/bin/env bash
# Runs the fuzz target $1 over a copy of the corpus $2 for $3 executions. What it finds new is not kept.
set -euo pipefail
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
# The library beside the target is not built for the sanitizer, so what containers mark as unused is not known there.
export ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=0
cd "$corpus"
"$1" -seed=1 -runs="$3" -max_len=4096 -malloc_limit_mb=1200 -rss_limit_mb=3000 -timeout=20 -verbosity=1 -print_final_stats=1 \
  "$corpus" "$2" 2>&1 | tail -n 12
