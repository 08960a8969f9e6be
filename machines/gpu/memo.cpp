#include "machines/gpu/memo.h"

#include <bit>

namespace tokitai::gpu {
namespace {

template <class T> void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append_operands(std::string& key, const Operands& set, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const View& v = set[i];
    std::size_t same = i;  // the first operand over the same memory
    for (std::size_t j = 0; j < i; ++j)
      if (set[j].data == v.data && set[j].present() && same == i) same = j;
    const auto alignment = static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(v.data) % 16);
    const std::uint8_t small[] = {static_cast<std::uint8_t>(v.rank), static_cast<std::uint8_t>(v.type), alignment,
                                  static_cast<std::uint8_t>(same)};
    append(key, small);
    if (!v.present()) continue;
    append(key, v.shape[0]);
    if (v.rank != 2) continue;
    append(key, v.shape[1]);
    append(key, v.row_stride);
  }
}

}  // namespace

const std::string& Memo::key_of(const Call& call) {
  key_.clear();
  append(key_, reinterpret_cast<std::uintptr_t>(call.contract));
  // Numbers come and go from step to step: of them only whether they are given and zero. What chooses is there whole.
  std::uint64_t zeros = 0;
  for (std::size_t i = 0; i < call.contract->options.size(); ++i) {
    const Option& option = call.options[i];
    const OptionKind kind = call.contract->options[i].kind;
    if (kind == OptionKind::flag || kind == OptionKind::choice) append(key_, option.i);
    zeros = zeros << 3 | (option.set ? 4u : 0u) | (std::bit_cast<std::uint32_t>(option.f) == 0 ? 2u : 0u) |
            (option.i == 0 ? 1u : 0u);
  }
  append(key_, zeros);
  zeros = 0;
  for (const float scalar : call.scalars) zeros = zeros << 1 | (std::bit_cast<std::uint32_t>(scalar) == 0 ? 1u : 0u);
  append(key_, zeros);
  const std::size_t count = call.contract->operands.size();
  if (!call.contract->list) {
    append_operands(key_, call.operands, count);
  } else {
    for (const Operands& set : call.list) append_operands(key_, set, count);
  }
  return key_;
}

Prepared* Memo::find(const std::string& key) {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : found->second.get();
}

Prepared* Memo::keep(const std::string& key, std::unique_ptr<Prepared> prepared) {
  if (known_.size() >= kMost) known_.clear();
  return known_.insert_or_assign(key, std::move(prepared)).first->second.get();
}

void Prepared::bind(const Call& call) {
  for (std::size_t i = 0; i < call.operands.size(); ++i) arguments.operand[i].data = call.operands[i].data;
  for (std::size_t i = 0; i < call.scalars.size(); ++i) arguments.scalar[i] = call.scalars[i];
  for (std::size_t i = 0; i < call.options.size(); ++i) arguments.option[i] = call.options[i].i;
  if (!tensors.empty()) tensors.bind(call.list);
}

bool Prepared::bindable(const Call& call) const {
  if (!tensors.empty() && tensors.size() != call.list.size()) return false;
  for (std::size_t i = 0; i < call.operands.size(); ++i)
    if (arguments.operand[i].data != call.operands[i].data) return false;
  for (std::size_t i = 0; i < call.options.size(); ++i)
    if (arguments.option[i] != call.options[i].i) return false;
  if (!tensors.empty()) {
    device::TensorTable bound = tensors;
    bound.bind(call.list);
    if (bound != tensors) return false;
  }
  for (std::size_t i = 0; i < call.scalars.size(); ++i)
    if (std::bit_cast<std::uint32_t>(arguments.scalar[i]) != std::bit_cast<std::uint32_t>(call.scalars[i]))
      return false;
  return true;
}

}  // namespace tokitai::gpu
