// Views over the caller's memory: a pointer, a type, a shape of one or two dimensions and, for a matrix, the
// distance between rows. A row is contiguous. Nothing is owned and nothing is copied.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tokitai {

// The most bytes of a buffer, and of all operands of a call together: as many as a processor has addresses. Sums of
// such sizes, and multiples by a few thousand (GEMM's panels), stay inside 64 bits.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 48;

enum class Type : std::uint8_t { f16, bf16, f32, i32, i64 };

constexpr std::size_t size_of(Type type) {
  switch (type) {
    case Type::f16:
    case Type::bf16: return 2;
    case Type::f32:
    case Type::i32: return 4;
    case Type::i64: return 8;
  }
  return 0;
}
constexpr std::string_view name_of(Type type) {
  switch (type) {
    case Type::f16: return "f16";
    case Type::bf16: return "bf16";
    case Type::f32: return "f32";
    case Type::i32: return "i32";
    case Type::i64: return "i64";
  }
  return "?";
}

// The sixteen bits of a half-precision number, as they lie in memory.
struct f16 {
  std::uint16_t bits;
};
struct bf16 {
  std::uint16_t bits;
};

template <class T> constexpr Type type_of() {
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, f16>)
    return Type::f16;
  else if constexpr (std::is_same_v<U, bf16>)
    return Type::bf16;
  else if constexpr (std::is_same_v<U, float>)
    return Type::f32;
  else if constexpr (std::is_same_v<U, std::int32_t>)
    return Type::i32;
  else {
    static_assert(std::is_same_v<U, std::int64_t>, "a view holds f16, bf16, float, int32_t or int64_t");
    return Type::i64;
  }
}

// How many elements a matrix of that shape has; -1 where a size is negative, or 64 bits do not hold their number.
constexpr std::int64_t elements_of(std::array<std::int64_t, 2> shape) {
  std::int64_t elements = 0;
  if (shape[0] < 0 || shape[1] < 0 || __builtin_mul_overflow(shape[0], shape[1], &elements)) return -1;
  return elements;
}

// Ranks of views that could not be made as they were asked for (tensor.h); every call refuses them.
inline constexpr int kWrongSize = -1;  // the range that was to be `shape` holds row_stride elements
inline constexpr int kHasGaps = -2;    // a matrix that is no vector: its rows are row_stride apart
inline constexpr int kNoShape = -3;    // a matrix that is no vector: its `shape` has no number of elements

template <class Pointer> struct BasicView {
  Pointer data = nullptr;
  Type type = Type::f32;
  int rank = 0;  // 0: no operand
  std::array<std::int64_t, 2> shape{0, 0};
  std::int64_t row_stride = 0;  // elements from one row to the next; used when rank is 2

  constexpr bool present() const { return rank != 0; }
  constexpr std::int64_t rows() const { return shape[0]; }
  constexpr std::int64_t cols() const { return rank == 2 ? shape[1] : 1; }
  constexpr std::int64_t elements() const { return rank <= 0 ? 0 : rows() * cols(); }

  constexpr operator BasicView<const void*>() const  // NOLINT(google-explicit-constructor)
    requires(!std::is_same_v<Pointer, const void*>)
  {
    return {data, type, rank, shape, row_stride};
  }
  // What a compiler meets where a view of constant memory is given for an output.
  template <class Output>
    requires(std::is_same_v<Pointer, const void*> && std::is_same_v<Output, BasicView<void*>>)
  constexpr operator Output() const {  // NOLINT(google-explicit-constructor)
    static_assert(!std::is_same_v<Output, BasicView<void*>>,
                  "tokitai: an output needs memory that may be written; this is a view of constant memory");
    return {};
  }
};

using View = BasicView<void*>;
using ConstView = BasicView<const void*>;

template <class T> constexpr auto vector(T* data, std::int64_t size) {
  using Pointer = std::conditional_t<std::is_const_v<T>, const void*, void*>;
  return BasicView<Pointer>{data, type_of<T>(), 1, {size, 1}, 1};
}
template <class T> constexpr auto matrix(T* data, std::int64_t rows, std::int64_t cols) {
  using Pointer = std::conditional_t<std::is_const_v<T>, const void*, void*>;
  return BasicView<Pointer>{data, type_of<T>(), 2, {rows, cols}, cols};
}
template <class T> constexpr auto matrix(T* data, std::int64_t rows, std::int64_t cols, std::int64_t row_stride) {
  auto view = matrix(data, rows, cols);
  view.row_stride = row_stride;
  return view;
}

}  // namespace tokitai
