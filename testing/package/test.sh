#!/usr/bin/env bash
# What others build on: installs the build in $1 to a temporary prefix and uses it from outside, with compiler $2.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
fail() { echo "the installed package: $*"; exit 1; }
# Builds the folder $1 against the package. Nothing beside the prefix may be found.
build() {
  cmake -S "$1" -B "$1/build" -G Ninja -Wno-dev -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$2" >"$folder/log" 2>&1 &&
    cmake --build "$1/build" >>"$folder/log" 2>&1 || { cat "$folder/log"; fail "$1 does not build"; }
}
# All that a user's CMake file needs.
three_lines() {
  printf '%s\n' "find_package(tokitai REQUIRED)" "add_executable($1 main.cpp)" "target_link_libraries($1 PRIVATE ${2:-tokitai::tokitai})"
}
unset TOKITAI_WORKER
cmake --install "$1" --prefix "$prefix" >/dev/null
"$prefix/bin/tokitai" --version

# Headers name no file that a user does not have.
named=$(grep -rhoE '[A-Za-z0-9_/.]+\.(h|md|cpp|txt|py|inc|json)\b' "$prefix/include/tokitai" | sort -u)
for name in $named; do
  [ -e "$prefix/include/$name" ] || [ -e "$prefix/include/tokitai/$name" ] || [ -e "$prefix/share/doc/tokitai/$name" ] ||
    fail "its headers name $name, which is not installed"
done

mkdir "$folder/user"
cp "$here/CMakeLists.txt" "$here/user.cpp" "$folder/user"
build "$folder/user" "$2"
found=$("$folder/user/build/user")
[ "$found" = "0.333333 0.090031 0.665241" ] || fail "softmax gave $found"

# A program of the core needs fmt and libsodium and no other library, and knows the devices that it is linked with.
mkdir "$folder/core"
cp "$here/core.cpp" "$folder/core/main.cpp"
three_lines core tokitai::core >"$folder/core/CMakeLists.txt"
build "$folder/core" "$2"
"$folder/core/build/core" || fail "the program of the core failed"
needed=$(readelf -d "$folder/core/build/core" | sed -n 's/.*NEEDED.*\[lib\([a-z_+]*\).*/\1/p' | grep -vxE 'c|m|stdc\+\+|gcc_s|fmt|sodium' || true)
[ -z "$needed" ] || fail "a program of the core needs $needed, too"

# The README's example is what it says.
mkdir "$folder/readme"
awk '/^```cpp$/ { on = 1; next } /^```$/ { if (on) exit } on' "$tree/README.md" >"$folder/readme/main.cpp"
three_lines readme >"$folder/readme/CMakeLists.txt"
build "$folder/readme" "$2"
[ "$("$folder/readme/build/readme")" = "mean 1, rstd 316.228" ] || fail "the README's example gave something else"

# Operators of one's own, in an empty folder and with nothing but the prefix.
mkdir "$folder/own" "$folder/cache"
chmod 700 "$folder/cache"
(cd "$folder/own" && export TOKITAI_CACHE=$folder/cache &&
  "$prefix/bin/tokitai" operator new mine && "$prefix/bin/tokitai" --operators mine verify --quick --op mine.forward) \
  >"$folder/log" 2>&1 || { cat "$folder/log"; fail "an operator of one's own does not work"; }
cp "$here/own.cpp" "$folder/own/main.cpp"
three_lines own >"$folder/own/CMakeLists.txt"
build "$folder/own" "$2"
found=$(cd "$folder/own" && TOKITAI_CACHE=$folder/cache build/own)
[ "$found" = "1.92806" ] || fail "mine.forward gave $found"

# The example trains with the same bits on every device, and finds the package's own worker; built from three lines, and
# by its own file where the prefix was moved and the program is built against it there.
for place in "$prefix" "$folder/moved"; do
  [ "$place" = "$prefix" ] || mv "$prefix" "$place"
  prefix=$place
  rm -rf "$folder/example"
  cp -r "$prefix/share/doc/tokitai/examples/linear_classifier" "$folder/example"
  [ "$place" = "$folder/moved" ] || three_lines linear_classifier >"$folder/example/CMakeLists.txt"
  build "$folder/example" "$2"
  "$folder/example/build/linear_classifier" cpu reference worker:cpu lockstep >"$folder/trained" || { cat "$folder/trained"; fail "the example failed"; }
  [ "$(tail -n 1 "$folder/trained")" = "the same weights, bit for bit" ] || fail "the example's weights differ"
done
cat "$folder/trained"
