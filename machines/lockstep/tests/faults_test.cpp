// Device text broken on purpose: every fault of faults.txt must be caught, on checked fibers or in the audit of what a
// GPU's compiler makes of it, and for the reason it should be. The unbroken text must pass the same problems, so that
// what is caught is the fault.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/at_once.h"
#include "compiler/audit.h"
#include "compiler/cache.h"
#include "evidence/verify.h"
#include "machines/lockstep/machine.h"
#include "machines/lockstep/tests/faults.h"
#include "problems/instance.h"
#include "reports/compare.h"
#include "testing/thorough.h"

namespace tokitai::lockstep {
namespace {

// "2bff*30 0001": thirty times the first word, then the second.
std::vector<std::uint16_t> words_of(const std::string& text) {
  std::vector<std::uint16_t> words;
  std::istringstream parts(text);
  for (std::string part; parts >> part;) {
    const std::size_t times = part.find('*');
    const int count = times == std::string::npos ? 1 : std::stoi(part.substr(times + 1));
    words.insert(words.end(), static_cast<std::size_t>(count),
                 static_cast<std::uint16_t>(std::stoi(part, nullptr, 16)));
  }
  return words;
}

// Makes of a problem's call what the fault asks for.
void change(const Fault& f, const problems::Instance& instance) {
  const Call call = instance.call();
  if (!f.rows.empty()) {
    const std::vector<std::uint16_t> words = words_of(f.rows);
    const View& view = call.operand(0);
    for (std::int64_t r = 0; r < view.rows(); ++r)
      for (std::int64_t c = 0; c < view.cols(); ++c)
        static_cast<std::uint16_t*>(view.data)[r * view.row_stride + c] =
            r < static_cast<std::int64_t>(words.size()) ? words[static_cast<std::size_t>(r)] : std::uint16_t{0};
  }
  for (std::size_t i = 0; f.refused && i < call.contract->operands.size(); ++i)
    if (call.contract->operands[i].type == TypeRule::index)
      static_cast<std::int64_t*>(call.operand(static_cast<int>(i)).data)[3] = -7;
}

// A call of special make, on the reference and on the device: the same answer, the same bits; where it is refused,
// nothing is written.
std::string verify_call(const Fault& f, const problems::Problem& problem, Device device) {
  Device reference = open("reference").value();
  auto expected = problems::Instance::make(problem), found = problems::Instance::make(problem);
  if (!expected.ok() || !found.ok()) return "no memory";
  for (problems::Instance* instance : {&expected.value(), &found.value()}) {
    instance->reset(std::byte{0x5a});
    change(f, *instance);
  }
  Call right = expected->call(), call = found->call();
  const Status answer = reference.run(right), status = device.run(call);
  if (answer.ok() == f.refused) return "the reference says: " + answer.message();
  if (status.message() != answer.message()) return "another answer: " + status.message();
  for (std::size_t i = 0; i < problem.contract->operands.size(); ++i) {
    if (!call.operands[i].present() || !found->written(i)) continue;
    const evidence::Difference d = evidence::compare(right.operands[i], call.operands[i]);
    if (d.differing > 0)
      return fmt::format("{}{}[{}, {}]: expected bits {:#x}, found {:#x}", f.refused ? "written though refused: " : "",
                         problem.contract->operands[i].name, d.row, d.col, d.expected, d.found);
  }
  return "";
}

// What is wrong with the kernels of a problem on checked fibers, in words; empty: nothing.
std::string check_on_fibers(const Fault& f, const std::vector<device::Text>& headers) {
  const problems::Problem problem = problems::parse_problems(f.problem).value().at(0);
  auto machine = make_machine(f.on, {.plan = std::stoi(f.plan)}, [&] { return headers; });
  if (!machine.ok()) return machine.status().message();
  Device device(f.on, std::move(machine).value());
  if (f.refused || !f.rows.empty()) return verify_call(f, problem, std::move(device));
  return evidence::verify({problem}, {{f.on, std::move(device)}}, {}).summary.first_failure;
}

// What the audit finds in the kernels of a problem, as a GPU's compiler makes them.
std::string check_by_audit(const Fault& f, const std::vector<device::Text>& texts) {
  const auto target = compiler::find_target(f.on);
  if (!target.ok()) return target.status().message();
  const auto call = problems::call_without_memory(problems::parse_problems(f.problem).value().at(0));
  if (!call.ok()) return call.status().message();
  const auto program = device::plan(call.value(), {target.value(), 132, std::stoi(f.plan)});
  const auto cache = compiler::Cache::open();
  if (!program.ok() || !cache.ok()) return "no plan or no cache";
  std::vector<compiler::Header> headers;
  for (const device::Text& text : texts) headers.push_back({text.name, text.text});
  std::string found;
  for (const device::Launch& launch : program->launches) {
    const auto artifact = cache->get({f.name, launch.source, headers, {}}, target.value());
    if (!artifact.ok()) return artifact.status().message();
    for (const compiler::Finding& finding : compiler::audit(artifact.value(), target.value()))
      found += fmt::format("audit: {}: {}: {}\n", finding.kernel, finding.rule, finding.line);
  }
  return found;
}

bool on_fibers(const Fault& f) { return f.on.starts_with("lockstep"); }
std::vector<device::Text> texts_of(const Fault& f) {
  return on_fibers(f) ? device::lockstep_headers() : device::device_headers();
}
std::string check(const Fault& f, const std::vector<device::Text>& headers) {
  return on_fibers(f) ? check_on_fibers(f, headers) : check_by_audit(f, headers);
}

// TOKITAI_FAULT=WORDS tries only faults with these words in their name, and prints what catches them.
const char* only() { return std::getenv("TOKITAI_FAULT"); }

std::vector<Fault> faults_on(std::string_view prefix) {
  std::vector<Fault> chosen = read_faults(TK_FAULTS);
  std::erase_if(chosen, [&](const Fault& f) {
    return !f.on.starts_with(prefix) || (only() != nullptr && f.name.find(only()) == std::string::npos);
  });
  return only() != nullptr ? chosen : testing::sample(chosen, 3);
}

// The first fault of each setting, to run the unbroken text as.
std::vector<Fault> settings(const std::vector<Fault>& faults) {
  std::vector<Fault> different;
  for (const Fault& f : faults)
    if (std::none_of(different.begin(), different.end(), [&](const Fault& g) { return f.setting() == g.setting(); }))
      different.push_back(f);
  return different;
}

void expect_unbroken_to_pass(const std::vector<Fault>& faults) {
  const std::vector<Fault> different = settings(faults);
  std::vector<std::string> wrong(different.size());
  base::at_once(different.size(), [&](std::size_t i) {
    const Headers headers(texts_of(different[i]), nullptr);
    wrong[i] = check(different[i], headers.all);
  });
  for (std::size_t i = 0; i < different.size(); ++i) EXPECT_EQ(wrong[i], "") << different[i].setting();
}

// Whether the text holds one of the words, which " | " stands between.
bool said(std::string_view words, const std::string& text) {
  for (;;) {
    const std::size_t end = words.find(" | ");
    if (text.find(words.substr(0, end)) != std::string::npos) return true;
    if (end == std::string_view::npos) return false;
    words.remove_prefix(end + 3);
  }
}

void expect_faults_to_be_caught(const std::vector<Fault>& faults) {
  std::vector<std::string> caught(faults.size());
  std::vector<int> times(faults.size());
  base::at_once(faults.size(), [&](std::size_t i) {
    const Headers headers(texts_of(faults[i]), &faults[i]);
    times[i] = headers.times;
    if (headers.times == 1) caught[i] = check(faults[i], headers.all);
  });
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const Fault& f = faults[i];
    SCOPED_TRACE(fmt::format("fault: {}, in {}: {}", f.name, f.file, f.setting()));
    EXPECT_EQ(times[i], 1) << "its text must stand in the header once";
    if (times[i] != 1) continue;
    EXPECT_NE(caught[i], "") << "not caught";
    EXPECT_TRUE(caught[i].empty() || said(f.caught, caught[i])) << "caught by something else:\n" << caught[i];
    if (only() != nullptr) fmt::print("{} [{}]\n  {:.400}\n", f.name, f.setting(), caught[i]);
  }
}

// Faults of index arithmetic that the prover refutes.
std::vector<Fault> index_faults() {
  std::vector<Fault> faults = read_faults(TK_INDEX_FAULTS);
  std::erase_if(faults, [&](const Fault& f) {
    return !f.unseen.empty() || (only() != nullptr && f.name.find(only()) == std::string::npos);
  });
  return only() != nullptr ? faults : testing::sample(faults, 40);
}

bool has_compiler(compiler::Vendor vendor) { return compiler::toolchain(vendor).ok(); }

TEST(Faults, TheTableCanBeRead) {
  const std::vector<Fault> faults = read_faults(TK_FAULTS);
  EXPECT_GE(faults.size(), 25U);
  for (const Fault& f : faults) {
    EXPECT_TRUE(f.unknown.empty()) << f.name << ": " << f.unknown.front();
    EXPECT_FALSE(f.file.empty() || f.old_text.empty() || f.caught.empty()) << f.name;
    const auto problems = problems::parse_problems(f.problem);
    ASSERT_TRUE(problems.ok()) << f.name << ": " << problems.status().message();
    EXPECT_EQ(problems->size(), 1U) << f.name;
  }
}

TEST(Faults, OfIndexArithmeticCanBeRead) {
  std::vector<Fault> faults = read_faults(TK_INDEX_FAULTS);
  EXPECT_GE(faults.size(), 100U);
  for (const Fault& f : faults) {
    EXPECT_TRUE(f.unknown.empty()) << f.name << ": " << f.unknown.front();
    EXPECT_FALSE(f.claim.empty() || f.unseen.empty() == f.problem.empty()) << f.name;
    const Headers headers(device::lockstep_headers(), &f);
    EXPECT_EQ(headers.times, 1) << f.name << ": its text must stand in the header once";
  }
}

TEST(Faults, OfIndexArithmeticAreCaughtOnCheckedFibers) {
  if (!has_compiler(compiler::Vendor::host)) GTEST_SKIP() << "no C++ compiler";
  const std::vector<Fault> faults = index_faults();
  expect_unbroken_to_pass(faults);
  expect_faults_to_be_caught(faults);
}

TEST(Faults, AreCaughtOnCheckedFibers) {
  if (!has_compiler(compiler::Vendor::host)) GTEST_SKIP() << "no C++ compiler";
  const std::vector<Fault> faults = faults_on("lockstep");
  expect_unbroken_to_pass(faults);
  expect_faults_to_be_caught(faults);
}

TEST(Faults, AreCaughtByTheAuditOfNvidiaCode) {
  if (!has_compiler(compiler::Vendor::nvidia)) GTEST_SKIP() << "no NVRTC";
  const std::vector<Fault> faults = faults_on("sm_");
  expect_unbroken_to_pass(faults);
  expect_faults_to_be_caught(faults);
}

TEST(Faults, AreCaughtByTheAuditOfAmdCode) {
  if (!has_compiler(compiler::Vendor::amd)) GTEST_SKIP() << "no clang for AMD";
  const std::vector<Fault> faults = faults_on("gfx");
  expect_unbroken_to_pass(faults);
  expect_faults_to_be_caught(faults);
}

}  // namespace
}  // namespace tokitai::lockstep
