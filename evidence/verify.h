// The verifier: runs problems on the reference machine once and on a device in many ways (instruction sets,
// thread counts, the batch cut into pieces, a hostile floating-point mode), and compares every output bit.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "problems/instance.h"
#include "problems/problem.h"
#include "reports/digest.h"
#include "tokitai/device.h"

namespace tokitai::evidence {

// One way of running a problem on the device under test.
struct Variant {
  std::string name;
  Device device;
  bool cut = false;           // the batch in three pieces; outputs that belong to a row are compared
  bool hostile_mode = false;  // the caller rounds up and flushes subnormals
  bool integers = false;      // differs from another variant only where integers are multiplied
  bool applied = false;       // some problem was run in this way
};

struct OperatorResult {
  std::string name;
  std::int64_t problems = 0, runs = 0;
  std::int64_t compared = 0, mismatches = 0;
  std::int64_t failed = 0;    // runs with a mismatch, or that did not run
  std::int64_t not_run = 0;   // those of them that did not run
  AccessChecks checks{};      // on devices that check every access
  std::string first_failure;  // in words, with the problem's line
};

// One problem in all the ways it was run. The digests are there where they were asked for.
struct ProblemResult {
  std::string line;  // stands for just this problem
  std::string name;  // of the operator
  std::int64_t runs = 0, compared = 0, mismatches = 0, failed = 0, not_run = 0;
  AccessChecks checks{};
  std::string failure;   // the first, in words
  NamedDigests inputs;   // what each operand that is read held before
  NamedDigests outputs;  // what the device wrote, the first way it was run; empty where it did not run
};

// Of what a call over this memory reads, and of what it writes, as they are now.
NamedDigests input_digests(const problems::Instance& instance);
NamedDigests output_digests(const problems::Instance& instance);

struct VerifyResult {
  std::vector<OperatorResult> operators;
  std::vector<ProblemResult> problems;
  std::vector<std::string> variants;  // those that some problem was run in
  OperatorResult summary;
};

// Called before each problem: the problem, how many are done, how many there are.
using Progress = std::function<void(const problems::Problem&, std::size_t, std::size_t)>;

// Whether the elements of inputs and outputs are digested on the way: once per problem.
enum class Digests : std::uint8_t { none, taken };

// `against` says what is right: the reference machine, or for a GPU the cpu device, itself verified.
VerifyResult verify(const std::vector<problems::Problem>& problems, std::vector<Variant> variants,
                    const Progress& progress, std::string_view against = "reference", Digests digests = Digests::none);

// The ways to run the cpu device: each instruction set with each thread count, then cut and in a hostile mode.
Result<std::vector<Variant>> cpu_variants(const std::vector<std::string>& isas, const std::vector<int>& threads);

// The ways to run a GPU: the best plan twice, every other plan, then cut.
Result<std::vector<Variant>> gpu_variants(const std::string& name);

// The ways to run the GPU's text on checked fibers: warps of 32 and 64, every other plan, and the ways in which GPUs
// multiply bytes. Each runs under several schedules.
Result<std::vector<Variant>> lockstep_variants();

// Has every kernel compiled that verifying these will run, on every core; for devices whose kernels are compiled when
// they run. What fails to compile is told again where it runs.
Status compile_ahead(const std::vector<problems::Problem>& problems, std::vector<Variant>& variants,
                     const CompileProgress& progress);

}  // namespace tokitai::evidence
