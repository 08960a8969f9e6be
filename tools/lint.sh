#!/usr/bin/env bash
# Format and clang-tidy over our C++ files; with --fix the format is put right in place.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.h' '*.cpp')
if [ "${1:-}" = "--fix" ]; then
  clang-format-19 -i "${files[@]}"
  exit 0
fi
clang-format-19 --dry-run --Werror "${files[@]}"
echo "format: ${#files[@]} files"

# clang-tidy reads the release build's compile commands, each file's first one: the skeleton's test compiles the
# library once more, and clang-tidy would read everything twice. The command's own files are left to the compiler's
# warnings: their libraries' headers take clang-tidy 40 s a file. One kernel of each host machine shows it every
# header of the patterns. What lockstep/strict holds is compiled with options of its own, to be read and not to run.
cmake --preset release >/dev/null
mkdir -p build/lint
python3 -c 'import json, sys
first = {c["file"]: c for c in reversed(json.load(sys.stdin))}
json.dump(list(first.values()), sys.stdout, indent=1)' <build/release/compile_commands.json >build/lint/compile_commands.json
mapfile -t sources < <(git ls-files 'base/*.cpp' 'compiler/*.cpp' 'contract/*.cpp' 'runtime/*.cpp' 'machines/*.cpp' 'operators/*/*.cpp' \
  'library/*.cpp' 'loader/*.cpp' 'reports/*.cpp' 'problems/*.cpp' 'evidence/*.cpp' 'accuracy/*.cpp' 'server/*.cpp' 'requests/*.cpp' 'proofs/*.cpp' 'testing/*.cpp' 'bench/copy.cpp' 'bench/harness.cpp' |
  grep -v -e '/tests/' -e 'operators/.*_test.cpp' -e 'testing/package' -e 'lockstep/strict')
kernels=(build/release/generated/reference_layernorm.cpp build/release/generated/cpu_layernorm_avx2.cpp)
for kernel in "${kernels[@]}"; do [ -f "$kernel" ] && sources+=("$kernel"); done
printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -n 3 clang-tidy-19 -p build/lint --quiet --warnings-as-errors='*' 2> >(grep -v 'warnings generated\|warnings treated' >&2 || true)
echo "clang-tidy: ${#sources[@]} files"
