// How accurate the outputs of one call are: each is held against the exact machine's enclosure of the real-number
// result, which gives its true error, and against the bound machine's derived bound, which must never be exceeded.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tokitai/call.h"

namespace tokitai::analysis {
struct Kernels;
}

namespace tokitai::evidence {

// The histogram's bins, of true errors in units in the last place: exactly 0; then above one edge up to the next; the
// last bin has no upper edge. A perfect rounding has at most 0.5.
inline constexpr std::array kUlpEdges{0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.51, 1.0, 2.0, 10.0, 100.0};
inline constexpr std::size_t kUlpBins = kUlpEdges.size() + 1;

// Where less than this is left of the largest term that was added on the way to an output, the output is cancelled: the
// term's rounding error stayed while the term went. 1/16 costs four of the thirteen bits that binary32 has over f16.
inline constexpr double kCancelled = 1.0 / 16;

struct AccuracyFigures {
  std::int64_t outputs = 0;   // with a real-number answer and a finite bound: the figures below are over these
  std::int64_t not_real = 0;  // no real-number answer: NaN or infinite data, a division by zero
  std::int64_t overflowed =
      0;                 // no bound: a value left the range of its type, or a divisor is not known to be apart from 0
  double worst_ulp = 0;  // largest true error, in units in the last place (machines/analysis/ulp.h)
  std::string worst_ulp_at;    // "y[3, 17] of PROBLEM LINE"
  double worst_bound_ulp = 0;  // largest derived bound
  std::int64_t cancelled = 0;  // outputs of which too little is left (kCancelled)
  double worst_kept_ulp = 0;   // largest true error and derived bound of all others
  double worst_kept_bound_ulp = 0;
  double tightest = 0;          // largest ratio of true error to derived bound: at most 1
  std::int64_t inexact = 0;     // outputs with an error
  double ratios = 0;            // the sum of their ratios
  double widest_enclosure = 0;  // how well the true errors are known, in units in the last place
  std::int64_t exceeded = 0;    // errors that are not shown to be within their bound: must be 0
  std::string first_exceeded;
  std::array<std::int64_t, kUlpBins> histogram{};

  std::int64_t above(double edge) const;  // outputs with a true error above one of kUlpEdges
  double mean_ratio() const { return inexact == 0 ? 0 : ratios / static_cast<double>(inexact); }
};

// One output operand in one stored type, over all data or over one family of it.
struct OutputAccuracy : AccuracyFigures {
  std::string operand;
  Type type = Type::f16;
  std::string data = {};  // the family; empty: all of them
};

void merge(AccuracyFigures& all, const AccuracyFigures& one);

// One call, checked and not yet run: the analysis machines look at it first, because it may write over its inputs.
class CallAccuracy {
 public:
  CallAccuracy(const Call& call, const analysis::Kernels& kernels);
  // After it was run: each output operand of each tensor.
  std::vector<OutputAccuracy> of(const Call& call, const std::string& label) const;

 private:
  struct Known;
  struct Forget {
    void operator()(Known* known) const;
  };
  std::unique_ptr<Known, Forget> known_;
};

AccuracyFigures together(const std::vector<OutputAccuracy>& outputs);

}  // namespace tokitai::evidence
