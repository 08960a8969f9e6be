#!/usr/bin/env bash
# Installs what the build, the tests or lint need and this machine lacks, from the distribution's packages.
# Where everything is there it does nothing and needs no rights.
set -euo pipefail

packages=(
  g++ cmake ninja-build
  libhwy-dev            # SIMD registers for every instruction set
  libfmt-dev            # text
  libcli11-dev          # the command line
  nlohmann-json3-dev    # JSON
  libsodium-dev         # SHA-256: what the kernel cache and evidence go by; ed25519: signatures
  libboost-context-dev  # fibers: GPU threads on the CPU, in the lockstep machine
  libmpfi-dev           # intervals (with MPFR and GMP): true errors, and what exp, log, tanh, erf and fma are tested against
  libz3-dev             # the solver of `tokitai prove`; without it everything else works
)
case "${1:-build}" in
  build) ;;
  test) packages+=(
    libgtest-dev          # tests
    clang-19 lld-19       # kernels for AMD GPUs
    libclang-rt-19-dev    # libFuzzer and sanitizers: fuzzing the parsers
    python3 python3-numpy # the independent implementation in testing/acceptance
    python3-jsonschema    # contracts and evidence against their schemas
    z3 cvc5               # other solvers, which answer the prover's questions again
    binutils) ;;          # nm, for the test of what kernels export
  lint) packages+=(libgtest-dev clang-format-19 clang-tidy-19 git python3) ;;
  *) echo "usage: setup.sh [build|test|lint]" >&2; exit 2 ;;
esac
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing: ${missing[*]}"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "these packages are missing and only root can install them: ${missing[*]}" >&2; exit 3; }
  as_root="sudo"
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
