// Small pieces that operators' contracts and calls are put together from.
#pragma once
#include <cmath>
#include <initializer_list>

#include "contract/contract.h"

namespace tokitai {

Call make_call(std::string_view name, std::initializer_list<View> operands, std::initializer_list<Option> options = {});

namespace option {
inline bool finite(const Option& o) { return std::isfinite(o.f); }
inline bool finite_nonnegative(const Option& o) { return std::isfinite(o.f) && o.f >= 0; }
inline bool unit_interval(const Option& o) { return o.f >= 0 && o.f < 1; }  // NaN fails both
inline bool flag(const Option& o) { return o.i == 0 || o.i == 1; }
}  // namespace option

// What most operators promise, and do not.
inline constexpr Promise kFormulaPromise{
    Guarantee::reproducible,
    "every output is what the formula gives, operation by operation in the canonical orders, rounded once to its type"};
inline constexpr Promise kBoundPromise{
    Guarantee::bounded,
    "where the formula has a real-number result and nothing overflows, every output is within a bound of it that a "
    "running error analysis of the formula derives from the data; it is never exceeded (tokitai accuracy)"};
// The formulas of patterns/error_bound.h.
inline constexpr Promise kRowSumBound{
    Guarantee::bounded,
    "where nothing overflows, a row sum of n values is within R u / (1 - R u) of the sum of their magnitudes, u = "
    "2^-24, R = ceil(min(n, 2048) "
    "/ 256) - 1 + ceil(log2(min(n, 256))) + ceil(n / 2048) - 1; of n fused products R is one more, and n 2^-149 is "
    "added (docs/error_bounds.md)"};
inline constexpr Promise kColumnSumBound{
    Guarantee::bounded,
    "where nothing overflows, a column sum of n rows is within R u / (1 - R u) of the sum of their magnitudes, u = "
    "2^-24, R = the sum of min(c, "
    "32) - 1 over the levels of c = n, ceil(n / 32), ... values; of n fused products R is one more, and n 2^-149 is "
    "added (docs/error_bounds.md)"};
inline constexpr Promise kChainBound{
    Guarantee::bounded,
    "in chain, where nothing overflows, before the bias and the rounding to its type, an output of K "
    "products is within min(K u, 1) S + K 2^-150, u = 2^-24, S the sum of the magnitudes of the products "
    "and of what it starts with, for any K (docs/error_bounds.md)"};
inline constexpr Promise kHopperBound{
    Guarantee::bounded,
    "in hopper, where nothing overflows, before the bias and the rounding to its type, an output of K "
    "products is within ceil(K / 16) (21 2^-25 S + 2^-146), S the sum of the magnitudes of the products "
    "and of what it starts with, a factor that is not zero counted as at least its type's smallest normal "
    "number (docs/error_bounds.md)"};
inline constexpr Promise kBlock15Bound{
    Guarantee::bounded,
    "in block15, where nothing overflows, before the bias and the rounding to its type, an output is "
    "within 1.002 2^-11 W + B ((4 W + |c0|) 2^-23 + 2^-149), B its blocks, W the sum over them of the "
    "number of products times the largest magnitudes of both sides, each at least 2^-63 "
    "(docs/error_bounds.md)"};
inline constexpr std::string_view kBoundOfData =
    "The error bound belongs to the data at hand: where terms cancel it is large beside the result, and infinite where "
    "a divisor may have cancelled to zero; no formula over all data is given relative to the result.";

// What operators that work on one element at a time say of their bits; they take no scratch memory.
inline constexpr std::string_view kElementBits =
    "the same bits on every device, for any thread count and any elements around one";

inline constexpr Limit kColsLimit{"cols", std::int64_t{1} << 24};  // so that n is exact in binary32

}  // namespace tokitai
