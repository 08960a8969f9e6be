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
  friend Decision operator&(Decision a, Decision b) { return joined(a, b, a.computed && b.computed, false); }
  friend Decision operator|(Decision a, Decision b) { return joined(a, b, a.computed || b.computed, true); }

 private:
  // Certain where both are, or where one of them decides it alone.
  static Decision joined(Decision a, Decision b, bool computed, bool decider) {
    const bool alone = (a.certain && a.computed == decider) || (b.certain && b.computed == decider);
    return {computed, (a.certain && b.certain) || alone};
  }
};

}  // namespace tokitai::analysis
