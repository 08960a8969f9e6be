// The tile pattern as the three loops of the textbook, in each arithmetic.
#pragma once
#include <algorithm>
#include <vector>

#include "contract/arithmetic.h"
#include "contract/kernel_table.h"
#include "machines/reference/memory.h"
#include "numerics/block15.h"
#include "numerics/hopper.h"
#include "patterns/groups.h"
#include "patterns/names.h"

namespace tokitai::reference {

// A matrix or its transpose, seen as lines along the contracted index.
struct Factor {
  View view;
  bool down_columns;
  std::int64_t lines() const { return down_columns ? view.cols() : view.rows(); }
  std::int64_t inner() const { return down_columns ? view.rows() : view.cols(); }
  float operator()(std::int64_t line, std::int64_t k) const {
    return down_columns ? read(view, k, line) : read(view, line, k);
  }
};

// A factor in integers, block by block.
struct Blocks {
  std::int64_t inner, blocks;
  std::vector<block15::Integer> integers;
  std::vector<int> exponents;

  explicit Blocks(const Factor& factor)
      : inner(factor.inner()),
        blocks((inner + block15::kBlock - 1) / block15::kBlock),
        integers(static_cast<std::size_t>(factor.lines() * inner)),
        exponents(static_cast<std::size_t>(factor.lines() * blocks)) {
    for (std::int64_t line = 0; line < factor.lines(); ++line)
      for (std::int64_t b = 0; b < blocks; ++b) {
        std::uint32_t largest = 0;
        for (std::int64_t k = first(b); k < first(b + 1); ++k)
          largest = std::max(largest, block15::magnitude_of(factor(line, k)));
        const int exponent = block15::exponent_of(largest);
        exponents[static_cast<std::size_t>(line * blocks + b)] = exponent;
        for (std::int64_t k = first(b); k < first(b + 1); ++k)
          integers[static_cast<std::size_t>(line * inner + k)] = block15::integer_of(factor(line, k), exponent);
      }
  }
  std::int64_t first(std::int64_t block) const { return std::min(inner, block * block15::kBlock); }
  block15::Integer at(std::int64_t line, std::int64_t k) const {
    return integers[static_cast<std::size_t>(line * inner + k)];
  }
  int exponent(std::int64_t line, std::int64_t block) const {
    return exponents[static_cast<std::size_t>(line * blocks + block)];
  }
};

inline float chain(const Factor& a, const Factor& b, std::int64_t i, std::int64_t j, float c) {
  for (std::int64_t k = 0; k < a.inner(); ++k) c = fma(a(i, k), b(j, k), c);
  return c;
}

inline float block15_chain(const Blocks& a, const Blocks& b, std::int64_t i, std::int64_t j, float c) {
  for (std::int64_t block = 0; block < a.blocks; ++block) {
    int sum = 0;
    for (std::int64_t k = a.first(block); k < a.first(block + 1); ++k) sum += block15::product(a.at(i, k), b.at(j, k));
    c = block15::add_block(sum, block15::left_scale(a.exponent(i, block)), block15::right_scale(b.exponent(j, block)),
                           c);
  }
  return block15::end_of(c);
}

inline float hopper_chain(const Factor& a, const Factor& b, std::int64_t i, std::int64_t j, float c) {
  const int smallest = a.view.type == Type::f16 ? hopper::kSmallestF16 : hopper::kSmallestBf16;
  for (std::int64_t k = 0; k < a.inner(); k += hopper::kGroup) {
    const int count = static_cast<int>(std::min<std::int64_t>(hopper::kGroup, a.inner() - k));
    float left[hopper::kGroup], right[hopper::kGroup];
    for (int e = 0; e < count; ++e) left[e] = a(i, k + e), right[e] = b(j, k + e);
    c = hopper::add_group(left, right, count, c, smallest);
  }
  return c;
}

// out = from + a b + added, each output in the arithmetic; nothing where a view is null.
inline void multiply(const View& out, const Factor& a, const Factor& b, const View* from, const View* added,
                     Arithmetic arithmetic) {
  const auto every = [&](auto&& output) {
    for (std::int64_t i = 0; i < out.rows(); ++i)
      for (std::int64_t j = 0; j < out.cols(); ++j) {
        const float c = output(i, j, from != nullptr ? read(*from, i, j) : 0.0f);
        write(out, i, j, added != nullptr ? c + read(*added, j) : c);
      }
  };
  switch (arithmetic) {
    case Arithmetic::chain: return every([&](auto i, auto j, float c) { return chain(a, b, i, j, c); });
    case Arithmetic::hopper: return every([&](auto i, auto j, float c) { return hopper_chain(a, b, i, j, c); });
    case Arithmetic::block15: {
      const Blocks p(a), q(b);
      return every([&](auto i, auto j, float c) { return block15_chain(p, q, i, j, c); });
    }
  }
}

template <class D> struct TileMachine : D::Names {
  const Call& call;
  Answer answer{};

  template <class O> const View* given(O) const {
    const View& view = call.operand(O::index);
    return view.present() ? &view : nullptr;
  }
  const View* given(Nothing) const { return nullptr; }
  template <class O> Arithmetic arithmetic_of(O) const { return static_cast<Arithmetic>(call.option(O::index).i); }
  static Arithmetic arithmetic_of(Nothing) { return Arithmetic::chain; }
  template <class O> Factor left(O) const { return {call.operand(O::index), false}; }
  template <class O> Factor left(Transposed<O>) const { return {call.operand(O::index), true}; }
  template <class O> Factor right(O) const { return {call.operand(O::index), true}; }
  template <class O> Factor right(Transposed<O>) const { return {call.operand(O::index), false}; }

  // out = start + x y + bias, each output in the arithmetic that the option names.
  template <class C, class A, class B, class Start = Nothing, class Bias = Nothing, class How = Nothing>
  void product(C, A x, B y, Start start = {}, Bias bias = {}, How how = {}) const {
    multiply(call.operand(C::index), left(x), right(y), given(start), given(bias), arithmetic_of(how));
  }
  // The same for each group of rows.
  template <class C, class A, class B, class Offsets, class Start = Nothing, class How = Nothing>
  void grouped_product(C, A x, B y, Offsets, Start start = {}, How how = {}) {
    const Groups groups(call, describe(call));
    if (const std::int64_t bad = groups.first_bad(); bad >= 0) {
      answer = {Answer::refused, bad};
      return;
    }
    const Factor a = left(x), b = right(y);
    const View* from = given(start);
    for (std::int64_t g = 0; g < groups.count(); ++g) {
      const View begin = from != nullptr ? groups.of(*from, g) : View{};
      multiply(groups.of(call.operand(C::index), g), {groups.of(a.view, g), a.down_columns},
               {groups.of(b.view, g), b.down_columns}, from != nullptr ? &begin : nullptr, nullptr, arithmetic_of(how));
    }
  }
};

template <class D> Answer run_tile(const Call& call) {
  TileMachine<D> m{{}, call};
  D::tile(m);
  return m.answer;
}

}  // namespace tokitai::reference
