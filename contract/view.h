// Views over the caller's memory: a pointer, a type, a shape of one to four dimensions and, from two on, how far apart
// the elements of each but the last lie. The last is contiguous: a row. Nothing is owned and nothing is copied.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
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

inline constexpr int kMaxRank = 4;
using Shape = std::array<std::int64_t, kMaxRank>;

// How many elements a tensor of these sizes has; -1 where one is negative, or 64 bits do not hold their number.
constexpr std::int64_t elements_of(const Shape& shape, int rank) {
  std::int64_t elements = 1;
  bool fits = true, none = false;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    if (shape[d] < 0) return -1;
    none |= shape[d] == 0;
    fits &= !__builtin_mul_overflow(elements, shape[d], &elements);
  }
  return none ? 0 : fits ? elements : -1;
}
constexpr std::int64_t elements_of(std::array<std::int64_t, 2> shape) {
  return elements_of(Shape{shape[0], shape[1], 0, 0}, 2);
}

// Ranks of views that could not be made as they were asked for (tensor.h); every call refuses them.
inline constexpr int kWrongSize = -1;  // the range that was to be `shape` holds row_stride elements
inline constexpr int kHasGaps = -2;    // a matrix that is no vector: its rows are row_stride apart
inline constexpr int kNoShape = -3;    // a matrix that is no vector: its `shape` has no number of elements

template <class Pointer> struct BasicView {
  Pointer data = nullptr;
  Type type = Type::f32;
  int rank = 0;  // 0: no operand
  Shape shape{};
  std::int64_t row_stride = 0;                 // elements from one row to the next; used from rank 2 on
  std::array<std::int64_t, 2> outer_stride{};  // from rank 3 on: of the dimensions before the rows'

  constexpr bool present() const { return rank != 0; }
  // All but the last dimension as rows. A vector is one column.
  constexpr std::int64_t rows() const {
    std::int64_t rows = shape[0];
    for (int d = 1; d + 1 < rank; ++d) rows *= shape[static_cast<std::size_t>(d)];
    return rows;
  }
  constexpr std::int64_t cols() const { return rank >= 2 ? shape[static_cast<std::size_t>(rank) - 1] : 1; }
  constexpr std::int64_t elements() const {
    if (rank <= 2) return rank <= 0 ? 0 : rows() * cols();
    return std::max<std::int64_t>(elements_of(shape, rank), 0);  // none of a shape that 64 bits do not count
  }

  // Elements from one index of a dimension to the next.
  constexpr std::int64_t stride(int dimension) const {
    if (dimension >= rank - 1) return 1;
    return dimension == rank - 2 ? row_stride : outer_stride[static_cast<std::size_t>(dimension)];
  }
  // Elements from the first to a row's first.
  constexpr std::int64_t row_offset(std::int64_t row) const {
    if (rank <= 2) return rank == 2 ? row * row_stride : row;
    std::int64_t offset = 0;
    for (int d = rank - 2; d >= 0; --d) {
      const std::int64_t size = shape[static_cast<std::size_t>(d)];
      offset += row % size * stride(d);
      row /= size;
    }
    return offset;
  }
  // Elements from the first to behind the last.
  constexpr std::int64_t span() const {
    if (elements() == 0) return 0;
    std::int64_t last = 0;
    for (int d = 0; d < rank; ++d) last += (shape[static_cast<std::size_t>(d)] - 1) * stride(d);
    return last + 1;
  }
  // Whether all rows are row_stride apart, as those of a matrix are: row_offset(r) is r * row_stride.
  constexpr bool evenly_spaced() const {
    for (int d = rank - 3; d >= 0; --d)
      if (shape[static_cast<std::size_t>(d)] != 1 &&
          stride(d) != stride(d + 1) * shape[static_cast<std::size_t>(d) + 1])
        return false;
    return true;
  }

  // Pieces that lie one behind the other: rows, or a vector as a whole.
  constexpr std::int64_t lines() const { return rank >= 2 ? rows() : 1; }
  constexpr std::int64_t line_elements() const { return rank >= 2 ? cols() : shape[0]; }
  constexpr std::int64_t line_offset(std::int64_t line) const { return rank >= 2 ? row_offset(line) : 0; }
  // The same in blocks of lines that are row_stride apart: one, or the matrices that the last two dimensions are.
  constexpr std::int64_t blocks() const {
    return evenly_spaced() ? 1 : rows() / shape[static_cast<std::size_t>(rank) - 2];
  }
  constexpr std::int64_t block_lines() const { return lines() / blocks(); }
  constexpr std::int64_t block_offset(std::int64_t block) const { return line_offset(block * block_lines()); }

  constexpr operator BasicView<const void*>() const  // NOLINT(google-explicit-constructor)
    requires(!std::is_same_v<Pointer, const void*>)
  {
    return {data, type, rank, shape, row_stride, outer_stride};
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

// Gives a view the strides of rows that lie one behind the other. What 64 bits do not hold is no matter: its shape is
// refused.
template <class Pointer> constexpr void make_dense(BasicView<Pointer>& view, std::int64_t row_stride) {
  view.row_stride = row_stride;
  std::int64_t stride = row_stride;
  for (int d = view.rank - 3; d >= 0; --d) {
    static_cast<void>(__builtin_mul_overflow(stride, view.shape[static_cast<std::size_t>(d) + 1], &stride));
    view.outer_stride[static_cast<std::size_t>(d)] = stride;
  }
}
template <class Pointer> constexpr void make_dense(BasicView<Pointer>& view) { make_dense(view, view.cols()); }

// Whether something lies between its rows; it has elements.
template <class Pointer> constexpr bool has_gaps(const BasicView<Pointer>& view) {
  return view.rank >= 2 && view.rows() > 1 && (view.row_stride != view.cols() || !view.evenly_spaced());
}

template <class T> constexpr auto vector(T* data, std::int64_t size) {
  using Pointer = std::conditional_t<std::is_const_v<T>, const void*, void*>;
  return BasicView<Pointer>{data, type_of<T>(), 1, {size, 1}, 1, {}};
}
template <class T> constexpr auto matrix(T* data, std::int64_t rows, std::int64_t cols) {
  using Pointer = std::conditional_t<std::is_const_v<T>, const void*, void*>;
  return BasicView<Pointer>{data, type_of<T>(), 2, {rows, cols}, cols, {}};
}
template <class T> constexpr auto matrix(T* data, std::int64_t rows, std::int64_t cols, std::int64_t row_stride) {
  auto view = matrix(data, rows, cols);
  view.row_stride = row_stride;
  return view;
}
// A tensor of up to four dimensions, row by row without gaps, or with the strides of all dimensions but the last.
template <class T> constexpr auto tensor(T* data, std::initializer_list<std::int64_t> shape) {
  using Pointer = std::conditional_t<std::is_const_v<T>, const void*, void*>;
  BasicView<Pointer> view{data, type_of<T>(), static_cast<int>(shape.size())};
  if (shape.size() > kMaxRank) return view;  // a rank that every call refuses
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  make_dense(view);
  return view;
}
template <class T>
constexpr auto tensor(T* data, std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> strides) {
  auto view = tensor(data, shape);
  if (strides.size() + 1 != shape.size() || shape.size() > kMaxRank) {
    view.rank = kMaxRank + 1;
    return view;
  }
  for (std::size_t d = 0; d < strides.size(); ++d)
    (d + 2 == shape.size() ? view.row_stride : view.outer_stride[d]) = strides.begin()[d];
  return view;
}

}  // namespace tokitai
