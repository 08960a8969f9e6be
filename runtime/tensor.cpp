#include "tokitai/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "numerics/half.h"

namespace tokitai {
namespace {

std::string shape_text(int rank, const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.begin() + rank, ", "));
}

Status wrong_type(Type type, const View& tensor) {
  return Status::invalid(
      fmt::format("elements of type {} for a tensor of type {}", name_of(type), name_of(tensor.type)));
}

template <class To, class From, class Convert>
std::vector<To> converted(std::span<const From> values, const Convert& convert) {
  std::vector<To> all;
  all.reserve(values.size());
  for (const From& value : values) all.push_back(convert(value));
  return all;
}

}  // namespace

Result<AnyTensor> AnyTensor::make(const Device& device, Type type, int rank, const Shape& shape) {
  if (rank < 1 || rank > kMaxRank)
    return Status::invalid(fmt::format("a tensor of {} dimensions; it must have 1 to {}", rank, kMaxRank));
  std::int64_t bytes = elements_of(shape, rank);
  if (std::any_of(shape.begin(), shape.begin() + rank, [](std::int64_t size) { return size < 0; }))
    return Status::invalid(fmt::format("a tensor of shape {}; sizes must not be negative", shape_text(rank, shape)));
  if (bytes < 0 || __builtin_mul_overflow(bytes, static_cast<std::int64_t>(size_of(type)), &bytes) ||
      bytes > kMostBytes)
    return Status::invalid(fmt::format("a tensor of shape {} and type {} takes more than 2^48 bytes",
                                       shape_text(rank, shape), name_of(type)));
  Device held = device;
  auto buffer = held.allocate(bytes);
  if (!buffer.ok()) return buffer.status();
  View view{buffer->data(), type, rank, shape};
  make_dense(view);
  return AnyTensor(std::move(held), std::move(buffer).value(), view);
}

Status AnyTensor::copy_in(const void* from, Type type, std::size_t elements) {
  if (type != view_.type) return wrong_type(type, view_);
  if (elements != static_cast<std::size_t>(view_.elements()))
    return Status::invalid(fmt::format("{} elements for a tensor of shape {}; it takes {}", elements,
                                       shape_text(view_.rank, view_.shape), view_.elements()));
  return device_.copy_in(view_.data, from, static_cast<std::int64_t>(elements * size_of(type)));
}

Status AnyTensor::copy_out(void* to, Type type, std::size_t elements) const {
  if (type != view_.type) return wrong_type(type, view_);
  if (elements != static_cast<std::size_t>(view_.elements()))
    return Status::invalid(fmt::format("room for {} elements of a tensor of shape {}; it has {}", elements,
                                       shape_text(view_.rank, view_.shape), view_.elements()));
  if (Status s = device_.copy_out(to, view_.data, static_cast<std::int64_t>(elements * size_of(type))); !s.ok())
    return s;
  return device_.wait();
}

f16 to_f16(float value) { return {narrow_f16(value)}; }
bf16 to_bf16(float value) { return {narrow_bf16(value)}; }
float to_f32(f16 value) { return widen_f16(value.bits); }
float to_f32(bf16 value) { return widen_bf16(value.bits); }
std::vector<f16> to_f16(std::span<const float> values) {
  return converted<f16>(values, [](float x) { return to_f16(x); });
}
std::vector<bf16> to_bf16(std::span<const float> values) {
  return converted<bf16>(values, [](float x) { return to_bf16(x); });
}
std::vector<float> to_f32(std::span<const f16> values) {
  return converted<float>(values, [](f16 x) { return to_f32(x); });
}
std::vector<float> to_f32(std::span<const bf16> values) {
  return converted<float>(values, [](bf16 x) { return to_f32(x); });
}

}  // namespace tokitai
