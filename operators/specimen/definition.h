// No operator anyone needs: every verb and every value of the row pattern at once, and of the each pattern, so that
// what one machine can do and another cannot is seen when the tests are built. In nobody's list of operators
// (cmake/skeleton.cmake).
//   v = a, with b v = RN(a+b) as z holds it    y: an expression of all operations    z: v, scaled by its row's numbers
//   total_a, total_b, total_y: sums over rows, between other operands, one of them optional
#pragma once
#include "numerics/elementary.h"
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::specimen {

struct Rows {
  static constexpr char name[] = "specimen.rows";
  using Pattern = patterns::Row;
  struct Names {
    static constexpr Storage<0> a{};
    static constexpr StorageOrSingle<1> total_a{};
    static constexpr StorageOrSingle<2> b{};
    static constexpr StorageOrSingle<3> lane{};  // no member of a machine hides a name
    static constexpr StorageOrSingle<4> total_b{};
    static constexpr Storage<5> y{};
    static constexpr StorageOrSingle<6> z{};
    static constexpr StorageOrSingle<7> total_y{};
  };
  template <class M> static TK_FN void row(M& m) {
    auto a = m.read(m.a);
    if (m.has(m.b)) {
      auto b = m.read(m.b);
      work(m, [&](auto i) { return m.rounded(m.z, a[i] + b[i]); });
    } else {
      work(m, [&](auto i) { return a[i]; });
    }
  }
  template <class M, class F> static TK_FN void work(M& m, F value) {
    auto w = m.columns(m.lane);
    auto v = m.make(m.y);
    auto e = m.make(m.z);
    auto [top, squares, sum] =
        m.reduce(Max{[&](auto i) { return v.keep(i, value(i)); }}, SumFma{[&](auto i) { return product(v[i], v[i]); }},
                 Sum{[&](auto i) { return v[i]; }});
    auto n = m.cols();
    auto exponentials = m.sum([&](auto i) { return e.keep(i, exp_nonpositive(v[i] - top)); });
    auto scale = 1.0f / sqrt(squares / n + 1.0f);
    auto offset = log(exponentials) + sum / n;
    auto all = [&](auto i) {
      auto x = v[i] * scale;
      auto smooth = select(x < w[i], tanh(x), erf(x)) + select(x >= w[i], exp(-x), x);
      auto kept = select((x <= 1.0f) & (x != w[i]), smooth, fma(x, w[i], -offset));
      return select((x > -1.0f) | !(x == 0.0f), kept, e[i] / (exponentials + 1.0f));
    };
    m.store(m.y, [&](auto i) { return all(i); });
    m.store(m.z, [&](auto i) { return v[i]; });
    m.column_sums(m.total_a, SumFma{[&](auto i) { return product(v[i], e[i]); }},  //
                  m.total_b, Sum{[&](auto i) { return v[i]; }},                    //
                  m.total_y, Sum{[&](auto i) { return e[i] * scale; }});
  }
};

// The same of the each pattern, over a single tensor.
struct Elements {
  static constexpr char name[] = "specimen.elements";
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

using Operators = Family<Rows, Elements>;

}  // namespace tokitai::specimen
