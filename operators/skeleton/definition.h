// A family to copy. CONTRIBUTING.md says how.
//   forward (the row pattern): each row over its root mean square, rstd = 1/sqrt(sum(x^2)/n + eps), y = x*rstd
//   words (the each pattern): every word that values have, in one formula that means nothing
// The sum is one fma chain per lane; rstd stays f32, as a gradient would need it.
#pragma once
#include "numerics/elementary.h"
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::skeleton {

struct Forward {
  static constexpr char name[] = "skeleton.forward";
  using Pattern = patterns::Row;
  struct Names {  // positions in the contract's tables (skeleton.cpp)
    static constexpr Storage<0> x{};
    static constexpr Storage<1> y{};
    static constexpr Single<2> rstd{};
    static constexpr Scalar<0> eps{};
  };
  template <class M> static TK_FN void row(M& m) {
    auto x = m.load(m.x);
    auto mean_square = m.sum_fma([&](auto i) { return product(x[i], x[i]); }) / m.cols();
    auto rstd = 1.0f / sqrt(mean_square + m.value(m.eps));
    m.put(m.rstd, rstd);
    m.store(m.y, [&](auto i) { return x[i] * rstd; });
  }
};

// So that a word which one machine lacks does not compile.
struct Words {
  static constexpr char name[] = "skeleton.words";
  using Pattern = patterns::Each;
  struct Names {
    static constexpr Storage<0> x{};
    static constexpr Storage<1> bias{};  // optional
    static constexpr Storage<2> y{};
    static constexpr Floating<3> copy{};
    static constexpr IntegerOption<1> squash{};
    static constexpr IntegerOption<2> skip_large{};
    static constexpr Scalar<0> offset{};
  };
  template <class M> static TK_FN bool checked(const M& e) { return e.value(e.skip_large) != 0; }
  template <class M> static TK_FN auto valid(M& e) { return !(e.load(e.x) > 1000.0f); }
  template <class M> static TK_FN void element(M& e) {
    auto x = e.load(e.x);
    auto v = select(x > 8.0f, 8.0f, select(x <= -8.0f, -8.0f, x));
    auto gate = 1.0f / (1.0f + exp(-v));
    auto root = sqrt(fma(v, v, 1.0f));
    auto squashed = e.value(e.squash) == 0 ? tanh(v) : erf(v);
    auto y = (gate - root * 0.5f) / (root + log(root + 1.0f)) + squashed;
    auto flips = ((y < 0.0f) & !(x == 0.0f)) | (x != x) | (x >= 100.0f);
    y = select(flips, -y, y + e.value(e.offset));
    if (e.has(e.bias)) y = maximum(y + e.load(e.bias), -y);
    e.convert(e.copy, e.x);  // before y is stored, perhaps over x
    e.store(e.y, y);
  }
};

using Operators = Family<Forward, Words>;

}  // namespace tokitai::skeleton
