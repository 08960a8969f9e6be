// The row pattern over a number type, in the canonical orders: the reference's loops with N in place of float.
#pragma once
#include <algorithm>

#include "machines/analysis/elements.h"
#include "patterns/column.h"
#include "patterns/names.h"

namespace tokitai::analysis {

// A row on chip.
template <class N> struct Values {
  N* p;
  const N& operator[](std::int64_t i) const { return p[i]; }
  const N& keep(std::int64_t i, N v) const { return p[i] = std::move(v); }
};

template <class N, class D> struct RowMachine : D::Names {
  const Call& call;
  Data<N> data;
  std::int64_t height, n;
  std::int64_t row = 0;
  std::int64_t rows_counted = 0;
  Elements<N> buffer{};    // loaded rows and column parameters
  Elements<N> partials{};  // column sums: one row of partial results per 32 rows

  RowMachine(const Call& c, Data<N> d) : call(c), data(d), height(c.operand(0).rows()), n(c.operand(0).cols()) {}

  N cols() const { return static_cast<float>(n); }
  std::int64_t width() const { return n; }
  std::int64_t counted() const { return rows_counted; }
  template <int I> N value(Scalar<I>) const { return N::given(call.scalars[I]); }
  template <int I> std::int64_t value(IntegerOption<I>) const { return call.option(I).i; }
  template <int I> bool has(IntegerOption<I>) const { return call.option(I).set; }
  template <class O> N number(O) const { return data.read(O::index, row); }
  template <class O> std::int64_t integer(O) const { return reference::read_integer(data.view(O::index), row); }

  template <class O> Values<N> load(O) {
    return filled(O::index, [&](std::int64_t i) { return data.read(O::index, row, i); });
  }
  template <class O> Values<N> read(O out) { return load(out); }
  template <class O> Values<N> columns(O) {
    return filled(O::index, [&](std::int64_t i) { return data.read(O::index, i); });
  }
  template <class O> Values<N> make(O) {
    return filled(O::index, [](std::int64_t) { return N(0.0f); });
  }
  template <class F> Values<N> filled(int operand, F element) {
    auto& b = buffer[static_cast<std::size_t>(operand)];
    b.resize(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) b[static_cast<std::size_t>(i)] = element(i);
    return {b.data()};
  }

  template <class Term> N chain(const Term& term) const {
    N total(Term::identity);
    std::vector<N> lane(kLanes);
    for (std::int64_t block = 0; block < n; block += kBlock) {
      std::fill(lane.begin(), lane.end(), N(Term::identity));
      for (std::int64_t i = block; i < std::min(n, block + kBlock); ++i) {
        N& chained = lane[static_cast<std::size_t>(i % kLanes)];
        chained = term.step(chained, i);
      }
      for (std::size_t width = kLanes; width > 1; width /= 2)
        for (std::size_t l = 0; l < width / 2; ++l) lane[l] = Term::join(lane[2 * l], lane[2 * l + 1]);
      total = block == 0 ? lane[0] : Term::join(total, lane[0]);
    }
    return total;
  }
  template <class... Term> Reduced<N, sizeof...(Term)> reduce(const Term&... term) const { return {chain(term)...}; }
  template <class F> N sum(F f) const { return chain(Sum{f}); }
  template <class F> N sum_fma(F f) const { return chain(SumFma{f}); }
  template <class F> N max(F f) const { return chain(Max{f}); }

  // The element of a column, or anything where there is no such column.
  N pick(Values<N> x, std::int64_t j) const { return j >= 0 && j < n ? x[j] : N(0.0f); }

  template <class O, class F> void store(O, F f) {
    for (std::int64_t i = 0; i < n; ++i) data.write(O::index, row, i, f(i));
  }
  template <class O, class F, class G> void store_but(O out, std::int64_t j, G g, F f) {
    store(out, [&](std::int64_t i) { return i == j ? g(i) : f(i); });
  }
  template <class O> void put(O, N v) { data.write(O::index, row, 0, std::move(v)); }

  template <class O, class Term, class... More> void column_sums(O, const Term& term, const More&... more) {
    if (data.view(O::index).present()) column_chain(O::index, term);
    if constexpr (sizeof...(More) > 0) column_sums(more...);
  }
  template <class Term> void column_chain(int operand, const Term& term) {
    auto& p = partials[static_cast<std::size_t>(operand)];
    if (p.empty()) p.assign(static_cast<std::size_t>((height + kChain - 1) / kChain * n), N(0.0f));
    N* chained = p.data() + row / kChain * n;
    for (std::int64_t i = 0; i < n; ++i) chained[i] = term.step(chained[i], i);
  }
  void write_column_sums() {
    for (int operand = 0; operand < kMaxOperands; ++operand) {
      auto& p = partials[static_cast<std::size_t>(operand)];
      if (p.empty()) continue;
      finish_columns(p.data(), (height + kChain - 1) / kChain, n, n);
      for (std::int64_t i = 0; i < n; ++i) data.write(operand, i, 0, p[static_cast<std::size_t>(i)]);
    }
  }

  // After every row. An output that is summed up is stored as f32, so nothing was rounded in between.
  template <class O> N total(O) const {
    std::vector<N> scratch(static_cast<std::size_t>((height + kChain - 1) / kChain));
    return column_total(data.made[O::index].data(), height, scratch.data());
  }
  template <class O> void put_once(O, N v) {
    if (data.view(O::index).present()) data.write(O::index, 0, 0, std::move(v));
  }
  template <class O> void put_once(O, std::int64_t) {}  // an integer has no error
};

template <class N, class D> void run_row(const Call& call, const Sets<N>& given, Sets<N>& made) {
  made.assign(1, {});
  RowMachine<N, D> m(call, Data<N>(call.operands, given, made, 0));
  if constexpr (requires { D::counts(m); })
    for (m.row = 0; m.row < m.height; ++m.row) m.rows_counted += D::counts(m) ? 1 : 0;
  for (m.row = 0; m.row < m.height; ++m.row) D::row(m);
  m.write_column_sums();
  if constexpr (requires { D::finish(m); }) D::finish(m);
}

}  // namespace tokitai::analysis
