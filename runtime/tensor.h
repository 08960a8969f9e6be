// Comfort for C++ callers: views over std::vector and std::span, tensors that own their memory on a device, and
// conversions between float and the half-precision types.
#pragma once
#include <ranges>
#include <span>
#include <vector>

#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

// Elements that lie one behind the other in memory that is still there after the call: a vector or an array that has a
// name, or a span. A temporary vector is refused by the compiler.
template <class R>
concept LastingRange =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && std::ranges::borrowed_range<R>;

template <LastingRange R> constexpr auto vector(R&& range) {
  return vector(std::ranges::data(range), static_cast<std::int64_t>(std::ranges::size(range)));
}
// The range holds rows * cols elements. One that does not makes a view that every call refuses, with both numbers.
template <LastingRange R> constexpr auto matrix(R&& range, std::int64_t rows, std::int64_t cols) {
  auto view = matrix(std::ranges::data(range), rows, cols);
  const auto held = static_cast<std::int64_t>(std::ranges::size(range));
  if (elements_of({rows, cols}) != held) {
    view.data = nullptr;
    view.rank = kWrongSize;
    view.row_stride = held;
  }
  return view;
}
// A tensor as the vector of its elements. One with gaps between its rows, or of a shape that none has, makes a view
// that every call refuses.
template <class Pointer> constexpr BasicView<Pointer> flat(BasicView<Pointer> view) {
  if (view.rank < 2 || view.rank > kMaxRank) return view;
  const std::int64_t elements = elements_of(view.shape, view.rank);
  if (elements < 0) return {nullptr, view.type, kNoShape, view.shape, view.row_stride, {}};
  if (elements != 0 && has_gaps(view)) return {nullptr, view.type, kHasGaps, view.shape, view.row_stride, {}};
  return {view.data, view.type, 1, {elements, 1}, 1, {}};
}

// Memory of a device with a type and a shape, its contents undefined until something is written. Holds the device; one
// that was moved from may only be assigned to or destroyed.
class AnyTensor {
 public:
  static Result<AnyTensor> make(const Device& device, Type type, int rank, const Shape& shape);

  // Views of it while it is there: none of a temporary, whose memory goes with it.
  View view() & { return view_; }
  ConstView view() const& { return view_; }
  void view() const&& = delete;
  View flat() & { return tokitai::flat(view_); }
  ConstView flat() const& { return tokitai::flat(ConstView(view_)); }
  void flat() const&& = delete;
  operator View() & { return view_; }            // NOLINT(google-explicit-constructor)
  operator ConstView() const& { return view_; }  // NOLINT(google-explicit-constructor)
  operator View() const&& = delete;
  operator ConstView() const&& = delete;
  std::int64_t rows() const { return view_.rows(); }
  std::int64_t cols() const { return view_.cols(); }
  std::int64_t elements() const { return view_.elements(); }

 protected:
  // From and to memory of that many elements of that type: the tensor's own, or nothing is copied.
  Status copy_in(const void* from, Type type, std::size_t elements);
  Status copy_out(void* to, Type type, std::size_t elements) const;

 private:
  AnyTensor(Device device, Buffer buffer, View view)
      : device_(std::move(device)), buffer_(std::move(buffer)), view_(view) {}
  mutable Device device_;
  Buffer buffer_;
  View view_;
};

// auto w = device.tensor<f16>(rows, cols); what it is given for an operand is a view of it.
template <class T> class Tensor : public AnyTensor {
 public:
  // As many elements as it has, row by row.
  Status upload(std::span<const T> values) { return copy_in(values.data(), type_of<T>(), values.size()); }
  // Wait for what is queued; a call that the device refused meanwhile is told here.
  Status download(std::span<T> values) const { return copy_out(values.data(), type_of<T>(), values.size()); }
  Result<std::vector<T>> download() const {
    std::vector<T> values(static_cast<std::size_t>(elements()));
    if (Status s = download(values); !s.ok()) return s;
    return values;
  }

 private:
  friend class Device;  // which knows that the elements are T: a tensor of others would be a tensor of these
  explicit Tensor(AnyTensor tensor) : AnyTensor(std::move(tensor)) {}
};

template <class T> Result<Tensor<T>> Device::tensor(std::int64_t size) {
  auto made = AnyTensor::make(*this, type_of<T>(), 1, {size, 1});
  if (!made.ok()) return made.status();
  return Tensor<T>(std::move(made).value());
}
template <class T> Result<Tensor<T>> Device::tensor(std::int64_t rows, std::int64_t cols) {
  auto made = AnyTensor::make(*this, type_of<T>(), 2, {rows, cols});
  if (!made.ok()) return made.status();
  return Tensor<T>(std::move(made).value());
}

template <class T> Result<Tensor<T>> Device::tensor(std::initializer_list<std::int64_t> shape) {
  Shape sizes{};
  if (shape.size() <= sizes.size()) std::copy(shape.begin(), shape.end(), sizes.begin());
  auto made = AnyTensor::make(*this, type_of<T>(), static_cast<int>(shape.size()), sizes);
  if (!made.ok()) return made.status();
  return Tensor<T>(std::move(made).value());
}

// One rounding to nearest even, subnormals kept, every NaN the canonical one; back, every value is kept.
f16 to_f16(float value);
bf16 to_bf16(float value);
float to_f32(f16 value);
float to_f32(bf16 value);
std::vector<f16> to_f16(std::span<const float> values);
std::vector<bf16> to_bf16(std::span<const float> values);
std::vector<float> to_f32(std::span<const f16> values);
std::vector<float> to_f32(std::span<const bf16> values);

}  // namespace tokitai
