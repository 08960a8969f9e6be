// What the analysis machines work on instead of memory: numbers, one per element. Inputs come from the call's operands,
// or are given as numbers (the forward's exact outputs, say, or data with a direction); outputs stay numbers,
// unrounded, beside the types that the call would store them in. Nothing of the caller's memory is written.
#pragma once
#include <array>
#include <vector>

#include "machines/reference/memory.h"
#include "tokitai/call.h"

namespace tokitai::analysis {

// For each operand its elements in row-major order without padding, or nothing.
template <class N> using Elements = std::array<std::vector<N>, kMaxOperands>;

// The operand sets of a call: one, or one per tensor of a list. Left empty where inputs are all read from memory.
template <class N> using Sets = std::vector<Elements<N>>;

template <class N> using Kernel = void (*)(const Call& call, const Sets<N>& given, Sets<N>& made);

// One operand set of a call, as definitions see it.
template <class N> struct Data {
  const Operands& views;
  const Elements<N>* given;  // null: everything is in memory
  Elements<N>& made;

  Data(const Operands& operands, const Sets<N>& given_sets, Sets<N>& made_sets, std::size_t set)
      : views(operands), given(set < given_sets.size() ? &given_sets[set] : nullptr), made(made_sets[set]) {}

  const View& view(int operand) const { return views[static_cast<std::size_t>(operand)]; }
  std::size_t place(int operand, std::int64_t row, std::int64_t col) const {
    return static_cast<std::size_t>(row * view(operand).cols() + col);
  }
  bool in_memory(int operand) const { return given == nullptr || (*given)[static_cast<std::size_t>(operand)].empty(); }
  N read(int operand, std::int64_t row, std::int64_t col = 0) const {
    if (in_memory(operand)) return N::given(reference::read(view(operand), row, col));
    return (*given)[static_cast<std::size_t>(operand)][place(operand, row, col)];
  }
  void write(int operand, std::int64_t row, std::int64_t col, N number) {
    auto& elements = made[static_cast<std::size_t>(operand)];
    if (elements.empty()) elements.resize(static_cast<std::size_t>(view(operand).elements()));
    elements[place(operand, row, col)] = std::move(number);
  }
};

}  // namespace tokitai::analysis
