#include "evidence/verify.h"

#include <fmt/format.h>

#include <algorithm>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include "machines/device/plan.h"
#include "reports/compare.h"

namespace tokitai::evidence {
namespace {

using problems::Instance;
using problems::Problem;

// Two poisons, so that an element neither side writes differs too.
constexpr std::byte kReferencePoison{0xa5};
constexpr std::byte kDevicePoison{0x5a};

// What a careless caller, or a library built for speed, may have left behind.
class HostileMode {
 public:
#if defined(__x86_64__)
  explicit HostileMode(bool on) : saved_(_mm_getcsr()) {
    if (on) _mm_setcsr(0x1F80 | 0x8000 | 0x0040 | 0x4000);  // flush to zero, denormals are zero, round up
    set_ = _mm_getcsr();
  }
  ~HostileMode() { _mm_setcsr(saved_); }
  // The mode must come back to the caller as it was; the low six bits only note exceptions.
  bool kept() const { return (_mm_getcsr() & ~0x3fu) == (set_ & ~0x3fu); }
#else
  explicit HostileMode(bool on) : saved_(static_cast<unsigned>(std::fegetround())) {
    if (on) std::fesetround(FE_UPWARD);
  }
  ~HostileMode() { std::fesetround(static_cast<int>(saved_)); }
  bool kept() const { return true; }
#endif
  HostileMode(const HostileMode&) = delete;
  HostileMode& operator=(const HostileMode&) = delete;

 private:
  unsigned saved_;
  [[maybe_unused]] unsigned set_ = 0;
};

// The calls that a variant makes of one: itself, or three pieces of unequal size where the batch has that many.
std::vector<Call> calls_of(const Variant& variant, const Call& call, std::int64_t batch) {
  if (!variant.cut) return {call};
  const std::int64_t edges[] = {0, batch / 3, batch - batch / 4, batch};
  std::vector<Call> pieces;
  for (int i = 0; i < 3; ++i)
    if (edges[i] != edges[i + 1]) pieces.push_back(problems::cut(call, edges[i], edges[i + 1]));
  return pieces;
}

bool applies(const Variant& variant, const Call& call) {
  if (variant.integers && describe(call).arithmetic != Arithmetic::block15) return false;
  return !variant.cut || can_be_cut(call);
}

Status run_variant(Variant& variant, const Instance& instance) {
  const HostileMode mode(variant.hostile_mode);
  Status status;
  for (Call& call : calls_of(variant, instance.call(), instance.batch()))
    if (status.ok()) status = variant.device.run(call);
  if (status.ok() && !mode.kept()) return {Code::check_failed, "the caller's floating-point mode was changed"};
  return status;
}

// Compares everything the variant wrote; the words of the first difference, or none.
std::string compare_outputs(const Variant& variant, const Instance& expected, const Instance& found,
                            ProblemResult& result) {
  std::string first;
  const Contract& contract = *expected.call().contract;
  for (std::size_t t = 0; t < expected.sets().size(); ++t) {
    for (std::size_t i = 0; i < contract.operands.size(); ++i) {
      const View &a = expected.sets()[t][i], &b = found.sets()[t][i];
      if (!a.present()) continue;
      if (!expected.written(i)) {
        const std::int64_t changed = compare(a, b).differing;
        result.mismatches += changed;
        if (changed > 0 && first.empty())
          first = fmt::format("{}: {} inputs were changed", contract.operands[i].name, changed);
        continue;
      }
      if (variant.cut && !expected.has_batch(i)) continue;
      const Difference d = compare(a, b);
      result.compared += d.compared;
      result.mismatches += d.differing;
      if (d.differing > 0 && first.empty())
        first = fmt::format("{}[{}, {}]: expected bits {:#x}, found {:#x} ({} of {} differ)", contract.operands[i].name,
                            d.row, d.col, d.expected, d.found, d.differing, d.compared);
      const std::int64_t touched = expected.read(i) ? 0 : touched_padding(b, kDevicePoison);
      result.mismatches += touched;
      if (touched > 0 && first.empty())
        first = fmt::format("{}: {} bytes between rows were written", contract.operands[i].name, touched);
    }
  }
  return first;
}

// The digests of the operands that a predicate of the instance picks.
NamedDigests digests_of(const Instance& instance, bool (Instance::*picked)(std::size_t) const) {
  NamedDigests all;
  const Contract& contract = *instance.call().contract;
  for (std::size_t i = 0; i < contract.operands.size(); ++i)
    if ((instance.*picked)(i) && std::any_of(instance.sets().begin(), instance.sets().end(),
                                             [&](const Operands& set) { return set[i].present(); }))
      all.emplace_back(contract.operands[i].name, elements_digest(instance.sets(), i));
  return all;
}

ProblemResult verify_problem(const Problem& problem, Device& reference, std::vector<Variant>& variants,
                             Digests digests) {
  ProblemResult result;
  result.line = problem.text();
  result.name = problem.contract->name;
  const auto fail = [&](std::string_view variant, const std::string& why) {
    ++result.failed;
    if (result.failure.empty()) result.failure = fmt::format("{} ({}): {}", result.line, variant, why);
    return result;
  };
  auto expected = Instance::make(problem);
  auto found = Instance::make(problem);
  const auto not_run = [&](std::string_view variant, const Status& why) {
    ++result.not_run;
    return fail(variant, why.message());
  };
  if (!expected.ok()) return not_run(reference.name(), expected.status());
  if (!found.ok()) return not_run(reference.name(), found.status());
  expected->reset(kReferencePoison);
  if (digests == Digests::taken) result.inputs = input_digests(expected.value());
  Call call = expected->call();
  if (Status status = reference.run(call); !status.ok()) return not_run(reference.name(), status);
  for (Variant& variant : variants) {
    if (!applies(variant, call)) continue;
    variant.applied = true;
    found->reset(kDevicePoison);
    ++result.runs;
    const AccessChecks earlier = variant.device.access_checks();
    const Status status = run_variant(variant, found.value());
    const AccessChecks checks = variant.device.access_checks();
    result.checks.accesses += checks.accesses - earlier.accesses;
    result.checks.findings += checks.findings - earlier.findings;
    if (!status.ok()) {
      // A check that failed, of an access or the caller's mode, failed in a run.
      status.code() == Code::check_failed ? fail(variant.name, status.message()) : not_run(variant.name, status);
      continue;
    }
    if (digests == Digests::taken && result.outputs.empty() && !variant.cut)
      result.outputs = output_digests(found.value());
    const std::int64_t before = result.compared;
    std::string why = compare_outputs(variant, expected.value(), found.value(), result);
    if (why.empty() && result.compared == before) why = "nothing was compared";
    if (!why.empty()) fail(variant.name, why);
  }
  return result;
}

void add(OperatorResult& sum, const ProblemResult& one) {
  ++sum.problems;
  sum.runs += one.runs;
  sum.compared += one.compared;
  sum.mismatches += one.mismatches;
  sum.failed += one.failed;
  sum.not_run += one.not_run;
  sum.checks.accesses += one.checks.accesses;
  sum.checks.findings += one.checks.findings;
  if (sum.first_failure.empty()) sum.first_failure = one.failure;
}

}  // namespace

NamedDigests input_digests(const Instance& instance) { return digests_of(instance, &Instance::read); }
NamedDigests output_digests(const Instance& instance) { return digests_of(instance, &Instance::written); }

VerifyResult verify(const std::vector<Problem>& problems, std::vector<Variant> variants, const Progress& progress,
                    std::string_view against, Digests digests) {
  VerifyResult result;
  result.summary.name = "summary";
  Device reference = std::move(open(against)).value();
  for (std::size_t p = 0; p < problems.size(); ++p) {
    if (progress) progress(problems[p], p, problems.size());
    const ProblemResult& one = result.problems.emplace_back(verify_problem(problems[p], reference, variants, digests));
    auto of = std::find_if(result.operators.begin(), result.operators.end(),
                           [&](const OperatorResult& r) { return r.name == one.name; });
    if (of == result.operators.end()) of = result.operators.insert(of, {.name = one.name, .first_failure = {}});
    add(*of, one);
    add(result.summary, one);
  }
  for (const Variant& variant : variants)
    if (variant.applied) result.variants.push_back(variant.name);
  return result;
}

Result<std::vector<Variant>> cpu_variants(const std::vector<std::string>& isas, const std::vector<int>& threads) {
  std::vector<Variant> variants;
  const auto first = [](const auto& all, auto at) { return std::find(all.begin(), at, *at) == at; };
  for (auto at = isas.begin(); at != isas.end(); ++at) {
    if (!first(isas, at)) continue;
    const std::string& isa = *at;
    for (auto of = threads.begin(); of != threads.end(); ++of) {
      if (!first(threads, of)) continue;
      const int count = *of;
      auto device = open("cpu", {.threads = count, .isa = isa});
      if (!device.ok()) return device.status();
      variants.push_back(
          {fmt::format("{}, {} thread{}", isa, device->threads(), device->threads() == 1 ? "" : "s"), device.value()});
    }
    Device last = variants.back().device;
    variants.push_back({fmt::format("{}, batch cut", isa), last, true, false});
    variants.push_back({fmt::format("{}, hostile mode", isa), last, false, true});
    for (const std::string& integers : cpu_integers()) {  // those that the best way of multiplying integers leaves out
      if (!integers.starts_with(isa + "+")) continue;
      auto device = open("cpu", {.threads = threads.back(), .isa = integers});
      if (!device.ok()) return device.status();
      if (device.value().description() != last.description())
        variants.push_back(
            {fmt::format("{}, integers alone", integers), std::move(device).value(), false, false, true});
    }
  }
  return variants;
}

Result<std::vector<Variant>> gpu_variants(const std::string& name) {
  std::vector<Variant> variants;
  for (int plan = 0; plan < device::kVariants; ++plan) {
    auto device = open(name, {.plan = plan});
    if (!device.ok()) return device.status();
    variants.push_back(
        {fmt::format("{}, plan {}", name, plan), std::move(device).value(), false, false, plan == device::kWaves});
  }
  Device best = variants.front().device;
  variants.push_back({fmt::format("{}, plan 0 again", name), best});
  variants.push_back({fmt::format("{}, batch cut", name), best, true, false});
  return variants;
}

Result<std::vector<Variant>> lockstep_variants() {
  std::vector<Variant> variants;
  const auto add = [&](const std::string& name, int plan, const std::string& words, bool integers) -> Status {
    auto device = open(name, {.plan = plan});
    if (!device.ok()) return device.status();
    variants.push_back({words, std::move(device).value(), false, false, integers});
    return {};
  };
  if (Status s = add("lockstep", 0, "warps of 32, plan 0", false); !s.ok()) return s;
  if (Status s = add("lockstep:64", 0, "warps of 64, plan 0", false); !s.ok()) return s;
  for (int plan = 1; plan < device::kVariants; ++plan)
    if (Status s = add("lockstep", plan, fmt::format("warps of 32, plan {}", plan), plan == device::kWaves); !s.ok())
      return s;
  // Every other way of multiplying bytes, and every other plan of one.
  for (const auto& [target, plan] :
       {std::pair{"sm_80", 0}, std::pair{"sm_80", 1}, std::pair{"sm_80", 2}, std::pair{"gfx90a", 0},
        std::pair{"gfx1030", 0}, std::pair{"gfx1101", 0}, std::pair{"gfx1201", 0}})
    if (Status s = add(fmt::format("lockstep:{}", target), plan, fmt::format("as {}, plan {}", target, plan), true);
        !s.ok())
      return s;
  return variants;
}

Status compile_ahead(const std::vector<Problem>& problems, std::vector<Variant>& variants,
                     const CompileProgress& progress) {
  Status first;
  for (Variant& variant : variants) {
    std::vector<Call> calls;
    for (const Problem& problem : problems) {
      auto call = problems::call_without_memory(problem);
      if (!call.ok()) return call.status();
      if (!applies(variant, call.value())) continue;
      for (Call& one : calls_of(variant, call.value(), problems::batch_of(problem))) calls.push_back(std::move(one));
    }
    if (Status s = variant.device.compile_ahead(std::move(calls), progress); !s.ok() && first.ok()) first = s;
  }
  return first;
}

}  // namespace tokitai::evidence
