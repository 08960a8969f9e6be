// Measured figures of an operator that a report can show beside what was compared. Each is there where it was measured.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tokitai::evidence {

// How far the f16 outputs are from the real-number results, in units in the last place, and the derived bound on that.
struct ErrorFigures {
  std::string name;  // of the operator
  std::int64_t outputs = 0, exceeded = 0;
  double worst_ulp = 0, bound_ulp = 0;
  double tightest = 0;            // the largest error as a share of its own bound
  std::vector<double> bin_edges;  // one more than bins
  std::vector<std::int64_t> bins;
};

// How fast a problem ran, beside the copy bandwidth of the same run.
struct SpeedFigures {
  std::string name, problem;
  std::int64_t repetitions = 0, bytes = 0, flops = 0;
  double seconds = 0, copy_gb_per_s = 0;

  double gb_per_s() const { return static_cast<double>(bytes) / seconds / 1e9; }
  double gflop_per_s() const { return static_cast<double>(flops) / seconds / 1e9; }
  // So many operations for each byte that memory cannot be what limits it: matrix products.
  bool compute_bound() const { return static_cast<double>(flops) > 50 * static_cast<double>(bytes); }
  double percent_of_copy() const { return 100 * gb_per_s() / copy_gb_per_s; }
};

// What was claimed of a GPU pattern's index arithmetic, and how much of it a solver proved.
struct ProofFigures {
  std::string name;  // of the pattern
  std::int64_t plans = 0, claims = 0, proved = 0;
  double seconds = 0, slowest_seconds = 0;
};

}  // namespace tokitai::evidence
