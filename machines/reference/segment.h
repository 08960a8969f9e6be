// The segment pattern as plain loops: gather rows by index, sum the rows that share an index.
// f16 sums are exact integers (every f16 is a multiple of 2^-24); bf16 and f32 follow the column rule over the
// occurrences in ascending order.
#pragma once
#include <cstring>
#include <vector>

#include "contract/kernel_table.h"
#include "machines/reference/memory.h"
#include "patterns/column.h"
#include "patterns/names.h"
#include "patterns/segment.h"

namespace tokitai::reference {

template <class D> struct SegmentMachine : D::Names {
  const Call& call;
  IndexRange range;
  Answer answer{};

  template <class O, class W, class I, class P> void gather(O, W, I, P) const {
    const View &y = call.operand(O::index), &weight = call.operand(W::index);
    const std::size_t bytes = static_cast<std::size_t>(y.cols()) * size_of(y.type);
    for (std::int64_t i = 0; i < y.rows(); ++i) {
      if (range.padded(range.at(i)))
        std::memset(row_pointer(y, i), 0, bytes);
      else
        std::memcpy(row_pointer(y, i), row_pointer(weight, range.at(i)), bytes);
    }
  }

  template <class O, class Y, class I, class P> void scatter_sum(O, Y, I, P, bool accumulate) {
    const View &dweight = call.operand(O::index), &dy = call.operand(Y::index);
    std::vector<std::vector<std::int64_t>> occurrences(dweight.rows());
    for (std::int64_t i = 0; i < dy.rows(); ++i)
      if (!range.padded(range.at(i))) occurrences[range.at(i)].push_back(i);
    for (std::int64_t v = 0; v < dweight.rows() && dy.type == Type::f16; ++v)
      if (static_cast<std::int64_t>(occurrences[v].size()) > kMostOccurrences) {
        answer = {Answer::too_many, v};
        return;
      }
    std::vector<float> values, scratch;
    for (std::int64_t v = 0; v < dweight.rows(); ++v)
      for (std::int64_t c = 0; c < dweight.cols(); ++c) {
        float sum = 0.0f;
        if (dy.type == Type::f16) {
          ExactSum exact;
          for (std::int64_t r : occurrences[v]) exact.add(read(dy, r, c));
          if (dweight.type == Type::f16) {
            at<std::uint16_t>(dweight, v, c) = exact.to_f16();
            continue;
          }
          sum = exact.to_f32();
        } else if (!occurrences[v].empty()) {
          values.clear();
          for (std::int64_t r : occurrences[v]) values.push_back(read(dy, r, c));
          scratch.resize(values.size() / kChain + 1);
          sum = column_total(values.data(), static_cast<std::int64_t>(values.size()), scratch.data());
        }
        write(dweight, v, c, accumulate ? read(dweight, v, c) + sum : sum);
      }
  }
  template <class O> bool flag(O) const { return call.option(O::index).i != 0; }
};

template <class D> Answer run_segment(const Call& call) {
  SegmentMachine<D> m{{}, call, IndexRange(call, describe(call))};
  if (const std::int64_t bad = m.range.first_bad(0, m.range.index.rows()); bad >= 0) return {Answer::refused, bad};
  D::segment(m);
  return m.answer;
}

}  // namespace tokitai::reference
