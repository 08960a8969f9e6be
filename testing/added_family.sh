#!/usr/bin/env bash
# Adding a family touches its folder and nothing else: a copy of operators/skeleton under another name is built by a build
# folder that was there before, and everything that looks at all families finds it.
#   added_family.sh found|built COMPILER [PYTHON]     found: the build looks for it everywhere; built: and it all runs
set -euo pipefail
source=$(realpath "$(dirname "$0")/..")
how=$1 compiler=$2 python=${3:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/tree"
tar -C "$source" --exclude=./build --exclude=./.git -c . | tar -C "$folder/tree" -x
cd "$folder"
build() {
  cmake --build build --target "$@" >built 2>&1 || { cat built; exit 1; }
}
cmake -S tree -B build -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -DTOKITAI_ONLY_ISAS=portable >configured 2>&1 ||
  { cat configured; exit 1; }

cp -r tree/operators/skeleton tree/operators/added
mv tree/operators/added/skeleton.h tree/operators/added/added.h
mv tree/operators/added/skeleton.cpp tree/operators/added/added.cpp
sed -i 's/skeleton/added/g; s/Skeleton/Added/g' tree/operators/added/*
build build.ninja  # looks for folders again
for family in added softmax; do
  grep -q "$family::add_to" build/generated/families.cpp || { echo "$family is not registered"; exit 1; }
  grep -q "tokitai/$family.h" build/include/tokitai/operators.h || { echo "tokitai.h lacks $family"; exit 1; }
done
build generated/family_added.cpp
grep -q 'def added_forward' build/generated/family_added.cpp || { echo "its peer is not in the registry"; exit 1; }
grep -q 'operators/added/golden.inc' build/generated/golden_lines.inc || { echo "its frozen bits are not looked at"; exit 1; }
for text in operators/added/edges_test.cpp cpu_added_portable reference_added analysis_added; do
  grep -q "$text" build/build.ninja || { echo "the build knows no $text"; exit 1; }
done
[ "$how" = built ] || exit 0
# Builds less: it, and the families that the command itself calls.
cmake -S tree -B build -DTOKITAI_FAMILIES="adamw;added;embedding;gemm;layernorm;softmax" >configured 2>&1 ||
  { cat configured; exit 1; }
build tokitai_command golden_test edges_test promises_test
grep -q 'added\.forward' <(./build/tokitai ops) || { echo "tokitai ops does not list added.forward"; exit 1; }
./build/tokitai verify --op added.forward --quick >verified || { cat verified; exit 1; }
./build/golden_test >tested || { cat tested; exit 1; }
./build/edges_test --gtest_filter='AddedEdges.*' >tested || { cat tested; exit 1; }
grep -q 'PASSED' tested && grep -q AddedEdges tested || { echo "its edge tests did not run"; exit 1; }
./build/promises_test >tested || { cat tested; exit 1; }
grep -aq 'def added_forward' build/tokitai || { echo "its peer is not in the binary"; exit 1; }
if [ -n "$python" ]; then
  cd tree/testing/acceptance
  TOKITAI=$folder/build/tokitai "$python" - <<'PYTHON'
import unittest
import oracle
import test_operators
assert "added.forward" in oracle.OPERATORS and "added.forward" in oracle.PROBLEMS, "its oracle is not found"
oracle.PROBLEMS = {"added.forward": oracle.PROBLEMS["added.forward"]}
suite = unittest.defaultTestLoader.loadTestsFromTestCase(test_operators.EveryOperator)
assert unittest.TextTestRunner().run(suite).wasSuccessful()
PYTHON
fi
