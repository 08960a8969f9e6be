#!/usr/bin/env bash
# Mistakes that a compiler is to refuse, with words that say what is wrong: with compiler $1 and the headers in $2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compile() {
  cat >"$folder/one.cpp" <<CODE
#include <tokitai/tokitai.h>
std::vector<float> made();
tokitai::Status user(tokitai::Device& device, std::vector<float>& x, std::vector<float>& y, const std::vector<float>& c) {
  return tokitai::softmax_forward(device, {.x = tokitai::matrix($1, 2, 3), .y = tokitai::matrix($2, 2, 3)});
}
CODE
  "$compiler" -std=c++20 -fsyntax-only -I"$headers" "$folder/one.cpp" >"$folder/words" 2>&1
}
refused() {  # x, y, the words
  if compile "$1" "$2"; then echo "compiles: x over $1, y over $2"; exit 1; fi
  grep -q "$3" "$folder/words" || { cat "$folder/words"; echo "does not say '$3': x over $1, y over $2"; exit 1; }
}
compiler=$1 headers=$2
compile x y || { cat "$folder/words"; echo "what is right does not compile"; exit 1; }
compile c y || { cat "$folder/words"; echo "an input of constant memory does not compile"; exit 1; }
refused x c "an output needs memory that may be written; this is a view of constant memory"
refused x "c.data()" "an output needs memory that may be written; this is a view of constant memory"
refused "made()" y "LastingRange"
refused_line() {  # a line, the words
  printf '#include <tokitai/tokitai.h>\nusing namespace tokitai;\nTensor<float> made();\nvoid user(ConstView);\nvoid uses(Device& device) { %s; }\n' "$1" >"$folder/one.cpp"
  if "$compiler" -std=c++20 -fsyntax-only -I"$headers" "$folder/one.cpp" >"$folder/words" 2>&1; then echo "compiles: $1"; exit 1; fi
  grep -q "$2" "$folder/words" || { cat "$folder/words"; echo "does not say '$2': $1"; exit 1; }
}
for line in "made().view()" "made().flat()" "user(made())" "View view = made()" "device.tensor<float>(3).value().flat()" \
  "user(std::move(device.tensor<float>(3)).value())" "user(const_cast<const Tensor<float>&&>(made()))"; do
  refused_line "$line" "deleted"
done
refused_line "Tensor<f16> narrow(made())" "private"
refused_line "AdamwStep step{.tensors = {}, .t = true}" "bool"
refused "std::vector<double>(6).data()" y "a view holds f16, bf16, float, int32_t or int64_t"
