// What a broken tree must not get past: the frozen bits, the verifier on small problems, and refusals, for the
// operator families this build has. Prints which of them caught something; exit 1 if any did. (tools/mutants.py)
#include <fmt/format.h>

#include <string>
#include <vector>

#include "evidence/verify.h"
#include "numerics/half.h"
#include "operators/tests/golden.h"
#include "testing/guarded.h"
#include "testing/interrupted.h"

namespace tokitai {
namespace {

std::vector<Device> devices() {
  std::vector<Device> all{open("reference").value()};
  for (const std::string& isa : cpu_isas()) all.push_back(open("cpu", {.threads = 3, .isa = isa}).value());
  return all;
}

bool built(std::string_view line) { return find_contract(line.substr(0, line.find(' '))) != nullptr; }

bool frozen_bits_differ() {
  for (Device& device : devices())
    for (const golden::Entry& entry : golden::kTable) {
      if (!built(entry.line)) continue;
      const auto hash = golden::hash_of(entry.line, device);
      if (!hash.ok() || hash.value() != entry.hash) return true;
    }
  return false;
}

// Elements of the largest operand.
std::int64_t largest(const problems::Problem& problem) {
  std::int64_t most = 0;
  for (std::int64_t n : problem.list) most = std::max(most, n);
  for (const OperandSpec& spec : problem.contract->operands) {
    std::int64_t n = 1;
    for (int d = 0; d < spec.rank(); ++d) n *= problem.size(spec.shape[static_cast<std::size_t>(d)]);
    most = std::max(most, n);
  }
  return most;
}

bool verify_fails() {
  constexpr std::int64_t kSmall = 20000;
  // Several units of work for the crew, and column sums in nested chains.
  constexpr std::string_view kLarger[] = {
      "adamw.step n=70000+3+70001 t=1 type=f16",
      "layernorm.backward rows=4101 cols=3 single=dgamma+dbeta type=f16",
      "softmax.forward rows=70 cols=700 type=f16",
      "cross_entropy.forward_backward rows=40000 cols=2 ignore_index=1 reduction=mean type=f32",
      "embedding.backward queries=3000 dim=40 vocab=2 type=f16,bf16",
      "gemm.forward m=210 n=40 k=30 type=f16",
      "swiglu.forward rows=3 cols=70001 type=f16 pad=0,3",
      "cast.forward rows=2100 cols=2048 type=f32 to=f32"};  // past the cache
  auto problems = problems::for_use(problems::Use::verify);
  if (!problems.ok()) return true;
  std::vector<problems::Problem> chosen;
  for (const problems::Problem& problem : problems.value())
    if (largest(problem) <= kSmall) chosen.push_back(problem);
  for (std::string_view line : kLarger)
    if (built(line))
      for (const problems::Problem& problem : problems::parse_problems(line).value()) chosen.push_back(problem);
  auto variants = evidence::cpu_variants(cpu_isas(), {1, 3});
  if (!variants.ok()) return true;
  const evidence::VerifyResult result = evidence::verify(chosen, std::move(variants).value(), {});
  if (result.summary.failed > 0) fmt::print("{}\n", result.summary.first_failure);
  return result.summary.compared == 0 || result.summary.failed > 0;
}

// A label or index one past the end, or below zero, is refused and named on every device.
bool refusals_fail() {
  constexpr std::string_view kLines[] = {"cross_entropy.forward_backward rows=40 cols=5 index=i64",
                                         "embedding.forward queries=40 dim=5 vocab=5 index=i64",
                                         "embedding.backward queries=40 dim=5 vocab=5 index=i64"};
  for (std::string_view line : kLines) {
    if (!built(line)) continue;
    for (Device& device : devices())
      for (std::int64_t value : {std::int64_t{5}, std::int64_t{-1}}) {
        const auto instance = problems::Instance::make(problems::parse_problems(line).value()[0]).value();
        Call call = instance.call();
        static_cast<std::int64_t*>(call.operand(1).data)[33] = value;
        const Status status = device.run(call);
        if (status.ok() || status.message().find(fmt::format("[33] = {};", value)) == std::string::npos) return true;
      }
  }
  return false;
}

// What the contract itself refuses: mean_loss, where nobody says of what grad is the gradient.
bool conditions_fail() {
  constexpr std::string_view kLine = "cross_entropy.forward_backward rows=3 cols=5 reduction=sum master=yes";
  if (!built(kLine)) return false;
  for (Device& device : devices()) {
    const auto instance = problems::Instance::make(problems::parse_problems(kLine).value()[0]).value();
    Call call = instance.call();
    if (!device.run(call).ok()) return true;
    call = instance.call();
    call.options[static_cast<std::size_t>(call.contract->option_index("reduction"))] = option_unset();
    if (device.run(call).code() != Code::invalid) return true;
  }
  return false;
}

// 1 + 2^-11 + 2^-24 is above the middle between two f16 values; rounded to f32 first it would be the middle.
bool exact_sums_fail() {
  constexpr std::string_view kLine = "embedding.backward queries=3 dim=85 vocab=1 type=f16";
  constexpr int kColumns = 85;  // several registers at once, one, and a part of one
  if (!built(kLine)) return false;
  for (Device& device : devices()) {
    const auto instance = problems::Instance::make(problems::parse_problems(kLine).value()[0]).value();
    Call call = instance.call();
    auto* dy = static_cast<std::uint16_t*>(call.operand(0).data);
    constexpr std::uint16_t kTerms[] = {0x3c00, 0x1000, 0x0001};
    for (int i = 0; i < 3 * kColumns; ++i) dy[i] = kTerms[i / kColumns];
    if (!device.run(call).ok()) return true;
    for (int c = 0; c < kColumns; ++c)
      if (static_cast<const std::uint16_t*>(call.operand(2).data)[c] != 0x3c01) return true;
  }
  return false;
}

// A NaN in one column alone becomes the canonical one.
bool lone_nans_fail() {
  constexpr std::string_view kLine = "layernorm.forward rows=1 cols=77 type=f16";
  constexpr int kColumns = 77;
  if (!built(kLine)) return false;
  for (Device& device : devices())
    for (int c = 0; c < kColumns; ++c) {
      const auto instance = problems::Instance::make(problems::parse_problems(kLine).value()[0]).value();
      Call call = instance.call();
      static_cast<std::uint16_t*>(call.operand(2).data)[c] = 0xfe01;  // beta
      if (!device.run(call).ok()) return true;
      if (static_cast<const std::uint16_t*>(call.operand(3).data)[c] != kCanonicalNanF16) return true;
    }
  return false;
}

// What lies behind and in front of the operands is not touched: a signal ends this process where it is.
bool bounds_fail() {
  constexpr std::string_view kLines[] = {"adamw.step n=77 t=2",
                                         "layernorm.forward rows=3 cols=77",
                                         "layernorm.backward rows=3 cols=77",
                                         "softmax.forward rows=3 cols=77",
                                         "softmax.backward rows=3 cols=77",
                                         "cross_entropy.forward_backward rows=3 cols=77",
                                         "embedding.forward queries=7 dim=77 vocab=5",
                                         "embedding.backward queries=7 dim=77 vocab=5",
                                         "gemm.forward m=17 n=33 k=65",
                                         "gemm.grad_a m=17 n=33 k=65",
                                         "gemm.grad_b m=17 n=33 k=65",
                                         "swiglu.forward rows=3 cols=77 pad=3",
                                         "cast.forward rows=3 cols=77 to=f16",
                                         "rope.forward tokens=3 positions=3 half=11 width=66"};
  for (std::string_view line : kLines) {
    if (!built(line)) continue;
    for (Device& device : devices())
      for (const auto side : {testing::Against::begin, testing::Against::end}) {
        const auto instance = problems::Instance::make(problems::parse_problems(line).value()[0]).value();
        const testing::GuardedCall guarded(instance.call(), side);
        Call call = guarded.call();
        if (!guarded.has_memory() || !device.run(call).ok()) return true;
      }
  }
  return false;
}

// A step ended after any instruction, and taken on by every machine; and the one that takes it on is ended, too.
bool journals_fail() {
  constexpr std::string_view kLine = "adamw.step n=3+195+1+64 t=2 type=f16";
  if (!built(kLine)) return false;
  const auto step = testing::Interrupted::make(problems::parse_problems(kLine).value()[0]).value();
  std::vector<Device> all{open("reference").value(), open("cpu", {.threads = 1, .isa = cpu_isas().front()}).value()};
  for (Device& ended : all)
    for (Device& other : all)
      if (!step.at_every_instant(ended, other).first_failure.empty()) return true;
  const auto first = step.at_every_instant(all[1], all[0]);
  for (std::size_t i = 0; i < first.states.size(); i += 13)
    if (!step.at_every_instant(all[1], all[0], &first.states[i]).first_failure.empty()) return true;
  return false;
}

int check_everything() {
  std::string caught;
  const auto look = [&](const char* name, bool (*fails)()) {
    if (fails()) caught += (caught.empty() ? "" : ", ") + std::string(name);
  };
  look("refusals", refusals_fail);
  look("conditions", conditions_fail);
  look("exact sums", exact_sums_fail);
  look("lone NaNs", lone_nans_fail);
  look("bounds", bounds_fail);
  look("journals", journals_fail);
  look("frozen bits", frozen_bits_differ);
  look("verify", verify_fails);
  fmt::print("{}\n", caught.empty() ? "nothing found" : "caught by " + caught);
  return caught.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tokitai

int main() { return tokitai::check_everything(); }
