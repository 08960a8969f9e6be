#include "accuracy/gradient_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "machines/analysis/ulp.h"
#include "numerics/philox.h"

namespace tokitai::evidence {

using analysis::Bound;
using analysis::Interval;

float element(const View& view, std::size_t e) {
  const auto i = static_cast<std::int64_t>(e);
  return reference::read(view, i / view.cols(), i % view.cols());
}

double stored_error(const Bound& bound, Type type) {
  const double stored = stored_value(bound.value, type);
  return std::isfinite(stored) ? analysis::add_up(bound.error, std::fabs(stored - bound.value)) : analysis::kUnbounded;
}

void Sides::add(float v, const Interval& exact, const Bound& derived, const View& stored, std::size_t e, float before) {
  const Interval by(v), start(before);
  const Interval share = by * (exact - start);
  formula = formula + share;
  device = device + by * (Interval::given(element(stored, e)) - start);
  bound = analysis::add_up(bound, analysis::mul_up(std::fabs(v), stored_error(derived, stored.type)));
  size += share.largest();
}

void judge(const Sides& sides, const std::string& where, GradientResult& result) {
  ++result.directions;
  constexpr double kNarrow = 0x1p-200;  // 320 bits lose some 60 on the way at the most
  const auto fail = [&](const std::string& why) {
    if (result.failed++ == 0) result.first_failure = fmt::format("{}: {}", where, why);
  };
  const auto middle = [](const Interval& i) { return mpfr_get_d(i.lower(), MPFR_RNDN); };
  if (!sides.derivative.is_real() || !sides.formula.is_real()) return fail("the derivative is no real number");
  const double scale = std::max(sides.size, 0x1p-1000);
  const double width = hull(sides.derivative, sides.formula).width();
  const double distance = (sides.device - sides.derivative).largest();
  if (!sides.derivative.meets(sides.formula))
    return fail(fmt::format("the derivative along the direction is {:.9g}, the backward formula gives {:.9g}",
                            middle(sides.derivative), middle(sides.formula)));
  if (width > kNarrow * scale)
    return fail(fmt::format("the intervals are too wide to tell: {:.3g} of the sum", width / scale));
  if (!(distance <= sides.bound + width))  // where the bound is 0, the intervals' own width remains
    return fail(fmt::format("the device's gradient gives {:.9g} instead of {:.9g}; the derived bound is {:.3g}",
                            middle(sides.device), middle(sides.derivative), sides.bound));
  result.widest = std::max(result.widest, width / scale);
  result.worst_deviation = std::max(result.worst_deviation, distance / scale);
  result.worst_bound = std::max(result.worst_bound, sides.bound / scale);
  if (sides.bound > 0) result.tightest = std::max(result.tightest, distance / sides.bound);
}

Direction::Direction(const Operands& operands, const std::vector<std::size_t>& of, int number) {
  for (const std::size_t operand : of) {
    const View& view = operands[operand];
    const Philox random{.seed = static_cast<std::uint64_t>(number), .stream = 1000 + operand};
    std::vector<float>& v = along.emplace_back();
    for (std::size_t e = 0; e < static_cast<std::size_t>(view.elements()); ++e) {
      v.push_back(random.normal(e));
      inputs[0][operand].emplace_back(Interval::given(element(view, e)), Interval(v.back()));
    }
  }
}

}  // namespace tokitai::evidence
