// One call of an operator, in the one form that every device takes: its contract, operand views in the
// contract's order, option values, and the binary32 scalars derived from them on the host.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokitai/status.h"
#include "tokitai/view.h"

namespace tokitai {

struct Contract;

inline constexpr int kMaxOperands = 16;
inline constexpr int kMaxOptions = 16;
inline constexpr int kMaxScalars = 16;
inline constexpr int kMaxSymbols = 8;

struct Option {
  bool set = false;
  float f = 0;
  std::int64_t i = 0;
};
constexpr Option option_f32(float value) { return {true, value, 0}; }
constexpr Option option_integer(std::int64_t value) { return {true, 0, value}; }
constexpr Option option_unset() { return {}; }

using Operands = std::array<View, kMaxOperands>;

struct Symbol {
  std::string_view name;
  std::int64_t value = 0;
  int operand = -1;  // which operand bound it
};

struct Call {
  const Contract* contract = nullptr;
  Operands operands{};
  std::vector<Operands> list{};  // for operators over a list of tensors; `operands` is then unused
  std::array<Option, kMaxOptions> options{};
  std::array<float, kMaxScalars> scalars{};
  std::array<Symbol, kMaxSymbols> symbols{};
  Type storage = Type::f16;

  const View& operand(int index) const { return operands[static_cast<std::size_t>(index)]; }
  const Option& option(int index) const { return options[static_cast<std::size_t>(index)]; }
  // Whether a flag of that name exists and is on, or a choice of that name and is not the first of its values.
  bool option_set(std::string_view name) const;
};

// What a successful call tells beside its outputs.
struct Outcome {
  bool skipped = false;             // skip_nonfinite fired: nothing was changed
  std::int64_t skipped_tensor = 0;  // -1: by the norm that was given, and by no tensor
  std::int64_t skipped_position = 0;
  std::int64_t host_bytes_copied = 0;  // to and from the device, for operands in the host's memory
};

// A read-only view as a call holds it; the contract's role keeps it read-only.
inline View unconst(const ConstView& v) {
  return {const_cast<void*>(v.data), v.type, v.rank, v.shape, v.row_stride, v.outer_stride};
}

}  // namespace tokitai
