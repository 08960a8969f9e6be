// How the reference machine reads and writes one element of a view: one conversion, one rounding, every NaN
// result canonical. Nothing here is clever on purpose.
#pragma once
#include <cstdint>

#include "numerics/half.h"
#include "tokitai/call.h"

namespace tokitai::reference {

template <class T> T& at(const View& view, std::int64_t row, std::int64_t col) {
  return static_cast<T*>(view.data)[view.rank == 2 ? row * view.row_stride + col : row];
}
inline float read(const View& view, std::int64_t row, std::int64_t col = 0) {
  switch (view.type) {
    case Type::f16: return widen_f16(at<std::uint16_t>(view, row, col));
    case Type::bf16: return widen_bf16(at<std::uint16_t>(view, row, col));
    default: return at<float>(view, row, col);
  }
}
inline void write(const View& view, std::int64_t row, std::int64_t col, float value) {
  switch (view.type) {
    case Type::f16: at<std::uint16_t>(view, row, col) = narrow_f16(value); break;
    case Type::bf16: at<std::uint16_t>(view, row, col) = narrow_bf16(value); break;
    default: at<float>(view, row, col) = canonical(value); break;
  }
}
// A value as memory of that type holds it.
inline float rounded(Type type, float value) {
  switch (type) {
    case Type::f16: return widen_f16(narrow_f16(value));
    case Type::bf16: return widen_bf16(narrow_bf16(value));
    default: return value;
  }
}
inline std::int64_t read_integer(const View& view, std::int64_t row) {
  return view.type == Type::i32 ? at<std::int32_t>(view, row, 0) : at<std::int64_t>(view, row, 0);
}

}  // namespace tokitai::reference
