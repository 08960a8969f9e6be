// The reference against the textbook: each operator's formula in double precision, with a bound on what binary32
// may lose on the way. It knows the mathematics and not the order of operations, so it and the frozen bits can
// only be wrong together if both were made from the same mistake.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "numerics/half.h"
#include "testing/instance.h"
#include "tokitai/device.h"

namespace tokitai {

// A value and a bound on the error of computing it in binary32: each operation passes on the errors of its
// operands and adds its own rounding. Orders of operations other than ours are allowed for by a factor of 2.
inline constexpr double kUnit = 0x1p-24;
struct Bounded {
  double v = 0, e = 0;
  Bounded(double value) : v(value) {}  // NOLINT(google-explicit-constructor)
  Bounded(double value, double error) : v(value), e(error) {}
};
inline Bounded rounded(double v, double e) { return {v, e + kUnit * (std::fabs(v) + e) + 0x1p-150}; }
inline Bounded operator+(Bounded a, Bounded b) { return rounded(a.v + b.v, a.e + b.e); }
inline Bounded operator-(Bounded a, Bounded b) { return rounded(a.v - b.v, a.e + b.e); }
inline Bounded operator*(Bounded a, Bounded b) {
  return rounded(a.v * b.v, std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e);
}
inline Bounded operator/(Bounded a, Bounded b) {
  return rounded(a.v / b.v, (a.e + std::fabs(a.v / b.v) * b.e) / (std::fabs(b.v) - b.e));
}
inline Bounded sqrt(Bounded a) { return rounded(std::sqrt(a.v), a.e / std::sqrt(a.v)); }
// Ours are within one unit in the last place: two roundings' worth.
inline Bounded exp(Bounded a) { return rounded(std::exp(a.v), std::exp(a.v) * (std::expm1(a.e) + kUnit)); }
inline Bounded log(Bounded a) { return rounded(std::log(a.v), a.e / (a.v - a.e) + kUnit * std::fabs(std::log(a.v))); }

// A sum in which no term passes through more than `depth` additions.
template <class F> Bounded sum(std::int64_t n, std::int64_t depth, const F& term) {
  double v = 0, e = 0, size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Bounded t = term(i);
    v += t.v;
    e += t.e;
    size += std::fabs(t.v) + t.e;
  }
  return {v, e + static_cast<double>(depth) * kUnit * size};
}
template <class F> Bounded row_sum(std::int64_t n, const F& term) { return sum(n, 8 + 8 + n / 2048, term); }
template <class F> Bounded column_sum(std::int64_t n, const F& term) {
  return sum(n, 32 * 4, term);
}  // up to 2^20 rows

inline double read(const View& view, std::int64_t r, std::int64_t c = 0) {
  const std::int64_t at = view.row_offset(r) + c;
  switch (view.type) {
    case Type::f16: return widen_f16(static_cast<const std::uint16_t*>(view.data)[at]);
    case Type::bf16: return widen_bf16(static_cast<const std::uint16_t*>(view.data)[at]);
    case Type::f32: return static_cast<const float*>(view.data)[at];
    case Type::i32: return static_cast<const std::int32_t*>(view.data)[at];
    case Type::i64: return static_cast<double>(static_cast<const std::int64_t*>(view.data)[at]);
  }
  return 0;
}
inline std::int64_t read_integer(const View& view, std::int64_t r) { return static_cast<std::int64_t>(read(view, r)); }

// Half a unit in the last place of the storage type, at the most.
inline double half_unit(Type type, double v) {
  if (type == Type::f16) return std::max(0x1p-11 * std::fabs(v), 0x1p-25);
  return std::max((type == Type::bf16 ? 0x1p-8 : 0x1p-24) * std::fabs(v), 0x1p-134);
}

// One problem: the operands as they were before the run, and as they are after it.
struct Trial {
  testing::Instance before, after;
  Call call;  // checked: options and dimensions are filled in

  const View& in(std::string_view name, std::size_t set = 0) const { return before.sets()[set][index(name)]; }
  const View& out(std::string_view name, std::size_t set = 0) const { return after.sets()[set][index(name)]; }
  double option(std::string_view name) const { return call.option(call.contract->option_index(name)).f; }
  std::size_t index(std::string_view name) const {
    return static_cast<std::size_t>(call.contract->operand_index(name));
  }

  void expect(std::string_view name, std::int64_t r, std::int64_t c, Bounded value, std::size_t set = 0) const {
    const View& view = out(name, set);
    const double found = read(view, r, c),
                 allowed = 2 * value.e + half_unit(view.type, std::fabs(value.v) + 2 * value.e);
    ASSERT_LE(std::fabs(found - value.v), allowed)
        << name << "[" << r << ", " << c << "] is " << found << ", mathematics says " << value.v;
  }
};

inline void for_problems(std::string_view line, const std::function<void(const Trial&)>& check) {
  Device reference = open("reference").value();
  for (const testing::Problem& problem : testing::parse_problems(line).value()) {
    SCOPED_TRACE(problem.text());
    Trial run{testing::Instance::make(problem).value(), testing::Instance::make(problem).value(), {}};
    run.after.reset(std::byte{0xa5});
    run.call = run.after.call();
    ASSERT_TRUE(reference.run(run.call).ok());
    check(run);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// A row's exponentials against its largest element, their sum, and log of it.
struct Exponentials {
  double top = -INFINITY;
  Bounded total = 0, log_total = 0;
  std::function<Bounded(std::int64_t)> at;
  Exponentials(const View& x, std::int64_t r) {
    for (std::int64_t c = 0; c < x.cols(); ++c) top = std::max(top, read(x, r, c));
    at = [&x, r, t = top](std::int64_t c) { return exp(Bounded(read(x, r, c)) - t); };
    total = row_sum(x.cols(), at);
    log_total = log(total);
  }
};

}  // namespace tokitai
