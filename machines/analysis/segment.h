// The segment pattern over a number type. f16 sums are exact integers on every machine; bf16 and f32 follow the column
// rule over the occurrences in ascending order.
#pragma once
#include "machines/analysis/elements.h"
#include "patterns/column.h"
#include "patterns/names.h"
#include "patterns/segment.h"

namespace tokitai::analysis {

template <class N, class D> struct SegmentMachine : D::Names {
  const Call& call;
  Data<N> data;
  IndexRange range;

  template <class O, class W, class I, class P> void gather(O, W, I, P) {
    const View& y = data.view(O::index);
    for (std::int64_t i = 0; i < y.rows(); ++i)
      for (std::int64_t c = 0; c < y.cols(); ++c)
        data.write(O::index, i, c, range.padded(range.at(i)) ? N(0.0f) : data.read(W::index, range.at(i), c));
  }

  template <class O, class Y, class I, class P> void scatter_sum(O, Y, I, P, bool accumulate) {
    const View &dweight = data.view(O::index), &dy = data.view(Y::index);
    std::vector<std::vector<std::int64_t>> occurrences(static_cast<std::size_t>(dweight.rows()));
    for (std::int64_t i = 0; i < dy.rows(); ++i)
      if (!range.padded(range.at(i))) occurrences[static_cast<std::size_t>(range.at(i))].push_back(i);
    for (std::int64_t v = 0; v < dweight.rows(); ++v)
      for (std::int64_t c = 0; c < dweight.cols(); ++c) {
        N sum = summed(Y::index, occurrences[static_cast<std::size_t>(v)], c, dweight.type);
        data.write(O::index, v, c, accumulate ? data.read(O::index, v, c) + sum : sum);
      }
  }
  N summed(int dy, const std::vector<std::int64_t>& rows, std::int64_t col, Type stored) const {
    if (data.view(dy).type == Type::f16 && data.in_memory(dy)) {
      ExactSum exact;
      for (std::int64_t r : rows) exact.add(reference::read(data.view(dy), r, col));
      return exact.is_finite() ? N::rounded_sum(exact.finite, stored) : N::given(exact.special);
    }
    if (rows.empty()) return N(0.0f);
    std::vector<N> values, scratch(rows.size() / kChain + 1);
    for (std::int64_t r : rows) values.push_back(data.read(dy, r, col));
    return column_total(values.data(), static_cast<std::int64_t>(values.size()), scratch.data());
  }
  template <class O> bool flag(O) const { return call.option(O::index).i != 0; }
};

template <class N, class D> void run_segment(const Call& call, const Sets<N>& given, Sets<N>& made) {
  made.assign(1, {});
  SegmentMachine<N, D> m{{}, call, Data<N>(call.operands, given, made, 0), IndexRange(call, describe(call))};
  D::segment(m);
}

}  // namespace tokitai::analysis
