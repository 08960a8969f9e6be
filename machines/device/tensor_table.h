// The table of a list on the host, word for word as kernels read it: a Tensor<operands> (arguments.h) for each tensor.
#pragma once
#include <cstdint>
#include <vector>

#include "contract/call.h"
#include "machines/device/arguments.h"

namespace tokitai::device {

Kind kind_of(const View& view);

class TensorTable {
 public:
  TensorTable() = default;
  explicit TensorTable(std::size_t operands) : operands_(operands) {}

  // `first`: how many pieces of work the tensors before it make. Returns its operands' kinds.
  std::uint64_t add(const Operands& tensor, std::int64_t first) {
    const std::uint64_t kinds = kinds_of(tensor, operands_);
    words_.push_back(static_cast<std::uint64_t>(tensor[0].elements()));
    words_.push_back(static_cast<std::uint64_t>(first));
    words_.push_back(kinds);
    for (std::size_t i = 0; i < operands_; ++i) words_.push_back(address_of(tensor[i]));
    return kinds;
  }
  // Puts the operands of lists of the same lengths in.
  void bind(const std::vector<Operands>& list) {
    for (std::size_t t = 0; t < list.size(); ++t)
      for (std::size_t i = 0; i < operands_; ++i) words_[t * words_each() + kHead + i] = address_of(list[t][i]);
  }

  // What kernels are told of an operand; 0 where a tensor lacks it.
  std::uint64_t address(std::size_t tensor, std::size_t operand) const {
    return words_[tensor * words_each() + kHead + operand];
  }

  bool empty() const { return words_.empty(); }
  std::size_t size() const { return words_.size() / words_each(); }
  const std::uint64_t* data() const { return words_.data(); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(words_.size() * sizeof(std::uint64_t)); }
  bool operator==(const TensorTable&) const = default;

 private:
  static constexpr std::size_t kHead = 3;  // length, first and kinds
  static_assert(sizeof(Tensor<3>) == (kHead + 3) * sizeof(std::uint64_t));

  static std::uint64_t kinds_of(const Operands& tensor, std::size_t operands) {
    std::uint64_t kinds = 0;
    for (std::size_t i = 0; i < operands; ++i) kinds |= static_cast<std::uint64_t>(kind_of(tensor[i])) << (4 * i);
    return kinds;
  }
  // Null where a tensor lacks the operand.
  static std::uint64_t address_of(const View& v) { return v.present() ? reinterpret_cast<std::uint64_t>(v.data) : 0; }
  std::size_t words_each() const { return kHead + operands_; }

  std::size_t operands_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace tokitai::device
