#include "machines/analysis/product.h"

#include <algorithm>
#include <cmath>

#include "numerics/block15.h"
#include "numerics/hopper.h"

namespace tokitai::analysis {
namespace {

struct Block {
  int exponent;
  std::size_t first, end;
  Block(const Line& line, std::size_t from)
      : exponent(0), first(from), end(std::min(line.size(), from + block15::kBlock)) {
    std::uint32_t largest = 0;
    for (std::size_t k = first; k < end; ++k) largest = std::max(largest, block15::magnitude_of(line[k].value));
    exponent = block15::exponent_of(largest);
  }
};

}  // namespace

Bound block15_bound(const Line& a, const Line& b, Bound chain) {
  for (std::size_t from = 0; from < a.size(); from += block15::kBlock) {
    const Block p(a, from), q(b, from);
    const float left = block15::left_scale(p.exponent), right = block15::right_scale(q.exponent);
    const double unit = static_cast<double>(left) * static_cast<double>(right);
    int sum = 0;
    double error = chain.error;
    for (std::size_t k = p.first; k < p.end; ++k) {
      const int product =
          block15::product(block15::integer_of(a[k].value, p.exponent), block15::integer_of(b[k].value, q.exponent));
      sum += product;
      const double lost =
          lost_up(static_cast<double>(a[k].value) * static_cast<double>(b[k].value), -product * unit, 0.0);
      error = add_up(error, add_up(lost, Bound::product_error(a[k], b[k])));
    }
    const float value = block15::add_block(sum, left, right, chain.value);
    const auto rounded = static_cast<double>(static_cast<float>(sum));
    error = add_up(error, mul_up(std::fabs(rounded - sum), unit));
    error = add_up(error, lost_up(rounded * unit, chain.value, value));
    chain = {value, error};
  }
  return {block15::end_of(chain.value), chain.error};
}

Bound hopper_bound(const Line& a, const Line& b, Bound chain, Type type) {
  const int smallest = type == Type::f16 ? hopper::kSmallestF16 : hopper::kSmallestBf16;
  for (std::size_t from = 0; from < a.size(); from += hopper::kGroup) {
    const auto count = static_cast<int>(std::min<std::size_t>(hopper::kGroup, a.size() - from));
    float left[hopper::kGroup], right[hopper::kGroup];
    double error = chain.error;
    for (int k = 0; k < count; ++k) {
      const Bound &x = a[from + static_cast<std::size_t>(k)], &y = b[from + static_cast<std::size_t>(k)];
      left[k] = x.value, right[k] = y.value;
      error = add_up(error, Bound::product_error(x, y));
    }
    const float value = hopper::add_group(left, right, count, chain.value, smallest);
    const hopper::Group group = hopper::group_of(left, right, count, chain.value, smallest);
    if (!group.finite()) {
      chain = {value, kUnbounded};
      continue;
    }
    // A term has at most 48 bits, and what it keeps are the upper ones of them: every difference is exact.
    const double unit = std::ldexp(1.0, group.largest - hopper::kFraction);
    std::int64_t sum = 0;
    const auto keep = [&](double term, std::int64_t kept) {
      sum += kept;
      error = add_up(error, std::fabs(term - static_cast<double>(kept) * unit));
    };
    keep(chain.value, group.kept(chain.value));
    for (int k = 0; k < count; ++k)
      keep(static_cast<double>(left[k]) * static_cast<double>(right[k]), group.kept(left[k], right[k]));
    error = add_up(error, std::fabs(static_cast<double>(sum) * unit - value));
    chain = {value, error};
  }
  return chain;
}

}  // namespace tokitai::analysis
