// The row pattern as plain scalar loops. This text defines the bits of every row operator.
#pragma once
#include <array>
#include <vector>

#include "contract/kernel_table.h"
#include "machines/reference/memory.h"
#include "patterns/column.h"
#include "patterns/names.h"

namespace tokitai::reference {

// A row on chip: here a buffer of floats.
struct Values {
  float* p;
  float operator[](std::int64_t i) const { return p[i]; }
  float keep(std::int64_t i, float v) const { return p[i] = v; }
};

template <class D> struct RowMachine : D::Names {
  const Call& call;
  std::int64_t height, n;
  std::int64_t row = 0;
  std::int64_t rows_counted = 0;
  std::array<std::vector<float>, kMaxOperands> buffer{};    // loaded rows and column parameters
  std::array<std::vector<float>, kMaxOperands> partials{};  // column sums: one row of partials per 32 rows

  explicit RowMachine(const Call& c) : call(c), height(c.operand(0).rows()), n(c.operand(0).cols()) {}

  float cols() const { return static_cast<float>(n); }
  std::int64_t width() const { return n; }
  std::int64_t counted() const { return rows_counted; }  // the rows that the definition counts
  template <int I> float value(Scalar<I>) const { return call.scalars[I]; }
  template <int I> std::int64_t value(IntegerOption<I>) const { return call.option(I).i; }
  template <int I> bool has(IntegerOption<I>) const { return call.option(I).set; }
  template <class O> bool has(O) const { return call.operand(O::index).present(); }
  template <class O> float number(O) const { return reference::read(call.operand(O::index), row); }
  template <class O> std::int64_t integer(O) const { return read_integer(call.operand(O::index), row); }

  template <class O> Values load(O) { return fill(O::index, row); }
  template <class O> Values read(O) { return fill(O::index, row); }  // the same here; elsewhere it is not kept as f32
  // A row on chip that is not loaded but made.
  template <class O> Values make(O) {
    buffer[O::index].resize(n);
    return {buffer[O::index].data()};
  }
  template <class O> Values columns(O) {  // a vector: its elements are the columns
    auto& b = buffer[O::index];
    b.resize(n);
    for (std::int64_t i = 0; i < n; ++i) b[i] = reference::read(call.operand(O::index), i);
    return {b.data()};
  }
  Values fill(int operand, std::int64_t r) {
    auto& b = buffer[operand];
    b.resize(n);
    for (std::int64_t i = 0; i < n; ++i) b[i] = reference::read(call.operand(operand), r, i);
    return {b.data()};
  }

  // The canonical row order, spelled out.
  template <class Term> float chain(const Term& term) const {
    float total = Term::identity;
    for (std::int64_t block = 0; block < n; block += kBlock) {
      float lane[kLanes];
      std::fill(lane, lane + kLanes, Term::identity);
      for (std::int64_t i = block; i < std::min(n, block + kBlock); ++i)
        lane[i % kLanes] = term.step(lane[i % kLanes], i);
      for (int width = kLanes; width > 1; width /= 2)
        for (int l = 0; l < width / 2; ++l) lane[l] = Term::join(lane[2 * l], lane[2 * l + 1]);
      total = block == 0 ? lane[0] : Term::join(total, lane[0]);
    }
    return total;
  }
  template <class... Term> Reduced<float, sizeof...(Term)> reduce(const Term&... term) const {
    return {chain(term)...};
  }
  template <class F> float sum(F f) const { return chain(Sum{f}); }
  template <class F> float sum_fma(F f) const { return chain(SumFma{f}); }
  template <class F> float max(F f) const { return chain(Max{f}); }

  // The element of a column, or anything where there is no such column.
  float pick(Values x, std::int64_t j) const { return j >= 0 && j < n ? x[j] : 0.0f; }

  // v as the operand will hold it.
  template <class O> float rounded(O, float v) const { return reference::rounded(call.operand(O::index).type, v); }

  // Outputs that are absent are not made.
  template <class O, class F> void store(O out, F f) const {
    for (std::int64_t i = 0; has(out) && i < n; ++i) write(call.operand(O::index), row, i, f(i));
  }
  // Everywhere f, in column j g.
  template <class O, class F, class G> void store_but(O out, std::int64_t j, G g, F f) const {
    store(out, [&](std::int64_t i) { return i == j ? g(i) : f(i); });
  }
  template <class O> void put(O out, float v) const {
    if (has(out)) write(call.operand(O::index), row, 0, v);
  }

  // Any number of outputs, each followed by its term; one that is absent is not summed.
  template <class O, class Term, class... More> void column_sums(O out, const Term& term, const More&... more) {
    if (has(out)) column_chain(O::index, term);
    if constexpr (sizeof...(More) > 0) column_sums(more...);
  }
  template <class Term> void column_chain(int operand, const Term& term) {
    auto& p = partials[operand];
    if (p.empty()) p.assign((height + kChain - 1) / kChain * n, 0.0f);
    float* chain = p.data() + row / kChain * n;
    for (std::int64_t i = 0; i < n; ++i) chain[i] = term.step(chain[i], i);
  }
  void write_column_sums() {
    for (int operand = 0; operand < kMaxOperands; ++operand) {
      auto& p = partials[operand];
      if (p.empty()) continue;
      finish_columns(p.data(), (height + kChain - 1) / kChain, n, n);
      for (std::int64_t i = 0; i < n; ++i) write(call.operand(operand), i, 0, p[i]);
    }
  }

  // After every row.
  template <class O> float total(O) const {
    const View& v = call.operand(O::index);
    std::vector<float> scratch((height + kChain - 1) / kChain);
    return column_total(static_cast<const float*>(v.data), height, scratch.data());
  }
  template <class O> void put_once(O out, float v) const {
    if (has(out)) write(call.operand(O::index), 0, 0, v);
  }
  template <class O> void put_once(O out, std::int64_t v) const {
    if (has(out)) reference::at<std::int64_t>(call.operand(O::index), 0, 0) = v;
  }
};

template <class D> Answer run_row(const Call& call) {
  RowMachine<D> m(call);
  if constexpr (requires { D::valid(m); })
    for (m.row = 0; m.row < m.height; ++m.row)
      if (!D::valid(m)) return {Answer::refused, m.row};
  if constexpr (requires { D::counts(m); })
    for (m.row = 0; m.row < m.height; ++m.row) m.rows_counted += D::counts(m) ? 1 : 0;
  for (m.row = 0; m.row < m.height; ++m.row) D::row(m);
  m.write_column_sums();
  if constexpr (requires { D::finish(m); }) D::finish(m);
  return {};
}

}  // namespace tokitai::reference
