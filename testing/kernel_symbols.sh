#!/usr/bin/env bash
# Kernels are built for one instruction set each. A weak function outside their own namespace could be picked by the
# linker for every caller, on processors that lack the instructions: there must be none.
set -euo pipefail
cd "$1"
checked=0
while IFS= read -r object; do
  isa=$(sed -E 's/.*_(avx512|avx2)\.cpp\.o$/\1/' <<<"$object")
  strays=$(nm -C --defined-only "$object" | awk '$2 == "W"' | grep -v "tokitai::cpu::$isa" || true)
  if [ -n "$strays" ]; then
    echo "$object defines for everyone:"
    echo "$strays"
    exit 1
  fi
  checked=$((checked + 1))
done < <(find . -name 'cpu_*_avx*.cpp.o')
[ "$checked" -gt 0 ] || { echo "no kernel objects found in $1"; exit 1; }
echo "$checked kernel objects define nothing outside their own namespace"
