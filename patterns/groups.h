// What every machine of the tile pattern shares of grouped products: which offsets are refused, and what of an operand
// is a group's. An operand of three sizes holds a matrix per group; of one with two a group has some rows.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "contract/record.h"
#include "numerics/base.h"

namespace tokitai {

struct Groups {
  View offsets;
  std::int64_t rows;  // of all groups together

  TK_FN Groups(const Call& call, const Record& record)
      : offsets(call.operand(record.offsets)), rows(call.operand(record.a).rows()) {}
  TK_FN std::int64_t count() const { return offsets.shape[0] - 1; }
  TK_FN std::int64_t offset(std::int64_t i) const {
    return offsets.type == Type::i32 ? static_cast<const std::int32_t*>(offsets.data)[i]
                                     : static_cast<const std::int64_t*>(offsets.data)[i];
  }
  TK_FN bool valid(std::int64_t i) const {
    const std::int64_t at = offset(i);
    return at >= (i == 0 ? 0 : offset(i - 1)) && at <= (i == 0 ? 0 : rows) && (i < count() || at == rows);
  }
  // The first position that is refused, or -1.
  TK_FN std::int64_t first_bad() const {
    for (std::int64_t i = 0; i <= count(); ++i)
      if (!valid(i)) return i;
    return -1;
  }
  TK_FN std::int64_t rows_of(std::int64_t group) const { return offset(group + 1) - offset(group); }
  TK_FN std::int64_t most_rows() const {
    std::int64_t most = 0;
    for (std::int64_t g = 0; g < count(); ++g) most = std::max(most, rows_of(g));
    return most;
  }
  TK_FN View of(const View& view, std::int64_t group) const {
    const bool matrices = view.rank == 3;
    const std::int64_t first = matrices ? group * view.shape[1] : offset(group);
    View one = view;
    one.data =
        static_cast<std::byte*>(view.data) + first * view.row_stride * static_cast<std::int64_t>(size_of(view.type));
    one.rank = 2;
    one.shape = {matrices ? view.shape[1] : rows_of(group), view.cols(), 0, 0};
    return one;
  }
};

}  // namespace tokitai
