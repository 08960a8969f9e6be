// What a comparison of two uncertain numbers answers: what the computed values say, and whether the real numbers can
// only say the same. Where they may not, `select` covers both branches. A definition branches with `if` and ?: on
// given scalars only, and those are certain.
#pragma once
#include <cassert>

namespace tokitai::analysis {

struct Decision {
  bool computed;
  bool certain;

  explicit operator bool() const {
    assert(certain && "a definition branched on a computed value");
    return computed;
  }
  Decision operator!() const { return {!computed, certain}; }
};

}  // namespace tokitai::analysis
