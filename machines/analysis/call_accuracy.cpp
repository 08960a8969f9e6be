#include "machines/analysis/call_accuracy.h"

#include <fmt/format.h>

#include <algorithm>

#include "contract/roles.h"
#include "machines/analysis/machine.h"
#include "machines/analysis/ulp.h"

namespace tokitai::evidence {
namespace {

using analysis::Bound;
using analysis::Interval;
using analysis::Terms;

std::size_t bin_of(double ulp) {
  return static_cast<std::size_t>(std::lower_bound(kUlpEdges.begin(), kUlpEdges.end(), ulp) - kUlpEdges.begin());
}

// One output operand: what the device stored, what it should be, how far off it may be.
OutputAccuracy measure(std::string_view operand, const View& stored, const std::vector<Interval>& exact,
                       const std::vector<Bound>& bound, const std::vector<Terms>& terms, const std::string& line) {
  OutputAccuracy figures;
  figures.operand = operand;
  figures.type = stored.type;
  const auto place = [&](std::size_t e) {
    const auto i = static_cast<std::int64_t>(e);
    const std::int64_t row = i / stored.cols(), col = i % stored.cols();
    return stored.rank >= 2 ? fmt::format("{}[{}, {}] of {}", operand, row, col, line)
                            : fmt::format("{}[{}] of {}", operand, row, line);
  };
  std::size_t worst = 0;
  for (std::size_t e = 0; e < exact.size(); ++e) {
    if (!exact[e].is_real()) {
      ++figures.not_real;
      continue;
    }
    // The bound is of the value that the bound machine stores. A device that stores another is off by that much more.
    const double promised = stored_value(bound[e].value, stored.type);
    const double most = std::isfinite(promised) ? analysis::add_up(bound[e].error, std::fabs(promised - bound[e].value))
                                                : analysis::kUnbounded;
    if (most == analysis::kUnbounded) {
      ++figures.overflowed;
      continue;
    }
    const auto i = static_cast<std::int64_t>(e);
    const Distance d = distance(reference::read(stored, i / stored.cols(), i % stored.cols()), exact[e], stored.type);
    const double bound_ulp = most / d.unit;
    ++figures.outputs;
    ++figures.histogram[bin_of(d.ulp)];
    if (d.ulp > figures.worst_ulp || figures.outputs == 1) {
      figures.worst_ulp = d.ulp;
      worst = e;
    }
    figures.worst_bound_ulp = std::max(figures.worst_bound_ulp, bound_ulp);
    if (exact[e].largest() < kCancelled * terms[e].largest) {
      ++figures.cancelled;
    } else {
      figures.worst_kept_ulp = std::max(figures.worst_kept_ulp, d.ulp);
      figures.worst_kept_bound_ulp = std::max(figures.worst_kept_bound_ulp, bound_ulp);
    }
    if (d.length > 0) {
      ++figures.inexact;
      figures.ratios += d.length / most;
      figures.tightest = std::max(figures.tightest, d.length / most);
    }
    figures.widest_enclosure = std::max(figures.widest_enclosure, exact[e].width() / d.unit);
    if (d.length > most && figures.exceeded++ == 0)
      figures.first_exceeded =
          fmt::format("{}: off by {:.6g} ulp, the derived bound is {:.6g} ulp", place(e), d.ulp, most / d.unit);
  }
  if (figures.outputs > 0) figures.worst_ulp_at = place(worst);
  return figures;
}

}  // namespace

void merge(AccuracyFigures& all, const AccuracyFigures& one) {
  all.outputs += one.outputs;
  all.not_real += one.not_real;
  all.overflowed += one.overflowed;
  if (one.worst_ulp > all.worst_ulp || all.worst_ulp_at.empty()) {
    all.worst_ulp = one.worst_ulp;
    all.worst_ulp_at = one.worst_ulp_at;
  }
  all.cancelled += one.cancelled;
  all.worst_kept_ulp = std::max(all.worst_kept_ulp, one.worst_kept_ulp);
  all.worst_kept_bound_ulp = std::max(all.worst_kept_bound_ulp, one.worst_kept_bound_ulp);
  all.inexact += one.inexact;
  all.ratios += one.ratios;
  all.widest_enclosure = std::max(all.widest_enclosure, one.widest_enclosure);
  all.worst_bound_ulp = std::max(all.worst_bound_ulp, one.worst_bound_ulp);
  all.tightest = std::max(all.tightest, one.tightest);
  all.exceeded += one.exceeded;
  if (all.first_exceeded.empty()) all.first_exceeded = one.first_exceeded;
  for (std::size_t b = 0; b < kUlpBins; ++b) all.histogram[b] += one.histogram[b];
}

std::int64_t AccuracyFigures::above(double edge) const {
  std::int64_t count = 0;
  for (std::size_t b = 1; b < kUlpBins; ++b)
    if (kUlpEdges[b - 1] >= edge) count += histogram[b];
  return count;
}

namespace {

// Whether every enclosure is so narrow beside its bound that it decides for or against it. A bound that was rounded
// upward is above what it must hold by 2^-53 of itself; one that was not comes from operations that were all exact, and
// those leave the enclosure no width.
bool decides(const analysis::Sets<Interval>& exact, const analysis::Sets<Bound>& bound) {
  for (std::size_t t = 0; t < exact.size(); ++t)
    for (std::size_t o = 0; o < exact[t].size(); ++o)
      for (std::size_t e = 0; e < exact[t][o].size(); ++e) {
        const double error = bound[t][o][e].error;
        if (exact[t][o][e].is_real() && error != analysis::kUnbounded && exact[t][o][e].width() > error * 0x1p-64)
          return false;
      }
  return true;
}

}  // namespace

struct CallAccuracy::Known {
  analysis::Sets<Bound> bound;
  analysis::Sets<Terms> terms;
  analysis::Sets<Interval> exact;

  Known(const Call& call, const analysis::Kernels& kernels)
      : bound(analysis::run(kernels.bound, call)),
        terms(analysis::run(kernels.terms, call)),
        exact(analysis::run(kernels.exact, call)) {
    if (decides(exact, bound)) return;
    const Interval::MoreBits more;
    exact = analysis::run(kernels.exact, call);
  }
};

CallAccuracy::CallAccuracy(const Call& call, const analysis::Kernels& kernels) : known_(new Known(call, kernels)) {}

std::vector<OutputAccuracy> CallAccuracy::of(const Call& call, const std::string& label) const {
  std::vector<OutputAccuracy> outputs;
  for (std::size_t t = 0; t < known_->exact.size(); ++t) {
    const std::string line = known_->exact.size() == 1 ? label : fmt::format("tensor {} of {}", t, label);
    const Operands& set = sets_of(call)[t];
    for (std::size_t i = 0; i < call.contract->operands.size(); ++i)
      if (!known_->exact[t][i].empty())
        outputs.push_back(measure(call.contract->operands[i].name, set[i], known_->exact[t][i], known_->bound[t][i],
                                  known_->terms[t][i], line));
  }
  return outputs;
}

void CallAccuracy::Forget::operator()(Known* known) const { delete known; }

AccuracyFigures together(const std::vector<OutputAccuracy>& outputs) {
  AccuracyFigures all;
  for (const OutputAccuracy& output : outputs) merge(all, output);
  return all;
}

}  // namespace tokitai::evidence
