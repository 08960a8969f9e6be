// A report of one call: it is run on the device, run again on the reference machine over copies of what it read, and
// every output bit is compared. What it says is about this run and nothing else.
//   auto report = tokitai::run_with_report(device, tokitai::SoftmaxForward{.x = x, .y = y});
//   if (report.ok() && report->equal()) ... report->markdown() ...
// It takes as long as the reference takes, which is a plain scalar loop, and memory for a copy of every operand.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tokitai/device.h"

namespace tokitai {

struct OperandReport {
  std::string name, type, shape;  // "[3, 5]"; for a list of tensors how many there are
  std::string read, written;      // SHA-256 of its elements before and after; empty where it is not read, or written
  std::int64_t compared = 0, differing = 0;
};

// How far outputs are from the real-number result, and how far they may be, in units in the last place.
struct TrueError {
  std::int64_t outputs = 0;  // that have a real-number result and a finite bound
  double worst_ulp = 0, bound_ulp = 0;
  std::int64_t exceeded = 0;  // outputs not shown to be within their bound
  std::string first_exceeded = {};
};

struct Report {
  std::string op, summary;
  std::string device, description;
  std::string contract_digest, definition_digest;
  std::vector<std::pair<std::string, std::string>> options;  // as they were used
  std::vector<OperandReport> operands;
  double seconds = 0;  // of the call on the device, copies between host and device included
  Outcome outcome;
  std::int64_t compared = 0, differing = 0;
  std::string first_difference;      // in words
  std::optional<TrueError> error;    // where it was measured
  std::vector<KernelFacts> kernels;  // compiled at run time, and loaded on this device so far
  std::vector<std::string> claims, non_claims;

  // Something was compared and nothing differs.
  bool equal() const { return compared > 0 && differing == 0; }
  // No output was found beyond its bound; true, too, where nothing was measured.
  bool within_bound() const { return !error || error->exceeded == 0; }
  std::string json() const;
  std::string markdown() const;
  std::string html() const;  // one page that needs nothing else
};

struct ReportOptions {
  // Given the call over what it read and over what the device wrote; <tokitai/true_error.h> has one.
  std::optional<TrueError> (*measure)(const Call& before, const Call& after) = nullptr;
};

// The call's own status where it is refused: then nothing was written.
Result<Report> run_with_report(Device& device, Call call, const ReportOptions& options = {});
template <class Arguments>
Result<Report> run_with_report(Device& device, const Arguments& arguments, const ReportOptions& options = {}) {
  return run_with_report(device, bind(arguments), options);
}

}  // namespace tokitai
