// The column rule's upper levels: partial results of 32 consecutive rows become one value per column.
// Written once, over the type of a value; every host machine finishes its column sums here.
#pragma once
#include <algorithm>
#include <cstdint>

#include "patterns/reduction.h"

namespace tokitai {

// One level: chains of 32 consecutive partial rows, each from +0, in place. `columns` values from `partials` on,
// rows `stride` apart. Returns how many partial rows are left.
template <class T>
TK_FN std::int64_t chain_partials(T* partials, std::int64_t count, std::int64_t columns, std::int64_t stride) {
  const std::int64_t chains = (count + kChain - 1) / kChain;
  for (std::int64_t chain = 0; chain < chains; ++chain) {
    T* out = partials + chain * stride;
    const std::int64_t end = std::min(count, (chain + 1) * kChain);
    for (std::int64_t c = 0; c < columns; ++c) {
      T acc = 0.0f;
      for (std::int64_t r = chain * kChain; r < end; ++r) acc = acc + partials[r * stride + c];
      out[c] = acc;  // row chain*32 >= chain was read above before it is overwritten
    }
  }
  return chains;
}

// All levels above the first: afterwards the first row holds the sums.
template <class T>
TK_FN void finish_columns(T* partials, std::int64_t count, std::int64_t columns, std::int64_t stride) {
  while (count > 1) count = chain_partials(partials, count, columns, stride);
}

// The whole column rule for one column of single values.
template <class T> TK_FN T column_total(const T* values, std::int64_t count, T* partials) {
  std::int64_t chains = 0;
  for (std::int64_t r = 0; r < count; r += kChain, ++chains) {
    T acc = 0.0f;
    for (std::int64_t k = r; k < std::min(count, r + kChain); ++k) acc = acc + values[k];
    partials[chains] = acc;
  }
  finish_columns(partials, chains, 1, 1);
  return partials[0];
}

}  // namespace tokitai
