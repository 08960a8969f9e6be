// tokitai verify: compares a device with the reference machine, bit for bit, and prints one table.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/output_files.h"
#include "cli/problem_choice.h"
#include "cli/progress_line.h"
#include "cli/table.h"
#include "cli/verify_report.h"
#include "evidence/verify.h"
#include "machines/gpu/driver.h"

namespace tokitai::cli {
namespace {

using evidence::OperatorResult;
using evidence::VerifyResult;
using testing::Problem;

struct Arguments {
  std::string device = "cpu";
  ProblemChoice problems;
  std::vector<std::string> isas;
  std::vector<int> threads = {1, 2, 5};
  std::string json;
  bool quick = false;
  ReportChoice report;
};

Json to_json(const OperatorResult& r) {
  Json j = {{"problems", r.problems},
            {"runs", r.runs},
            {"outputs_compared", r.compared},
            {"mismatches", r.mismatches},
            {"failed", r.failed}};
  if (r.checks.accesses > 0) {
    j["accesses_checked"] = r.checks.accesses;
    j["findings"] = r.checks.findings;
  }
  if (!r.first_failure.empty()) j["first_failure"] = r.first_failure;
  return j;
}

Json to_json(const Arguments& a, const VerifyResult& result) {
  Json operators = Json::array();
  for (const OperatorResult& one : result.operators) {
    Json j = to_json(one);
    j["operator"] = one.name;
    operators.push_back(j);
  }
  return {{"device", a.device},
          {"variants", result.variants},
          {"operators", operators},
          {"summary", to_json(result.summary)}};
}

// Elements of the largest operand, to tell quick problems from the others.
std::int64_t largest(const Problem& problem) {
  std::int64_t most = 0;
  for (std::int64_t n : problem.list) most = std::max(most, n);
  for (const OperandSpec& spec : problem.contract->operands) {
    std::int64_t n = problem.size(spec.shape[0]);
    if (!spec.shape[1].empty()) n *= problem.size(spec.shape[1]);
    most = std::max(most, n);
  }
  return most;
}

bool on_gpu(const Arguments& a) { return gpu::names_gpu(a.device); }

Result<std::vector<Problem>> chosen_problems(const Arguments& a) {
  using testing::Use;
  auto chosen = a.device.starts_with("lockstep") ? a.problems.chosen({Use::verify_lockstep})
                : on_gpu(a)                      ? a.problems.chosen({Use::verify, Use::verify_gpu})
                                                 : a.problems.chosen({Use::verify});
  constexpr std::int64_t kQuick = 20000;
  if (chosen.ok() && a.quick && a.problems.lines.empty())
    std::erase_if(chosen.value(), [](const Problem& problem) { return largest(problem) > kQuick; });
  return chosen;
}

// A GPU is compared with the cpu device, itself verified, on problems that the reference would take hours for.
std::string_view against(const Arguments& a) { return on_gpu(a) ? "cpu" : "reference"; }

Result<std::vector<evidence::Variant>> chosen_variants(const Arguments& a) {
  if (a.device == "cpu") return evidence::cpu_variants(a.isas.empty() ? cpu_isas() : a.isas, a.threads);
  if (on_gpu(a)) return evidence::gpu_variants(a.device);
  if (a.device == "lockstep") return evidence::lockstep_variants();
  auto device = open(a.device);
  if (!device.ok()) return device.status();
  return std::vector<evidence::Variant>{{a.device, std::move(device).value()}};
}

void print(const Arguments& a, const VerifyResult& result) {
  const bool checked = result.summary.checks.accesses > 0;
  std::vector<std::string> columns{"operator", "problems", "runs", "outputs compared", "differing"};
  if (checked) columns.insert(columns.end(), {"accesses checked", "findings"});
  columns.emplace_back("result");
  Table table(columns);
  const auto add = [&](const OperatorResult& r) {
    std::vector<std::string> row{r.name, fmt::format("{}", r.problems), fmt::format("{}", r.runs),
                                 fmt::format("{}", r.compared), fmt::format("{}", r.mismatches)};
    if (checked) row.insert(row.end(), {fmt::format("{}", r.checks.accesses), fmt::format("{}", r.checks.findings)});
    row.emplace_back(r.failed == 0 ? "equal" : r.checks.findings > 0 ? "FOUND" : "DIFFERS");
    table.add(row);
  };
  for (const OperatorResult& one : result.operators) add(one);
  add(result.summary);
  fmt::print("{} against the {} machine, bit for bit\n\n{}\n", a.device, against(a), table.text());
  fmt::print("each problem was run {} ways:\n", result.variants.size());
  for (const std::string& variant : result.variants) fmt::print("  {}\n", variant);
  for (const OperatorResult& one : result.operators)
    if (!one.first_failure.empty()) fmt::print("\nfirst failure of {}:\n  {}\n", one.name, one.first_failure);
}

Status run(const Arguments& a, int& exit_code) {
  if (!a.json.empty() && a.json != "-")
    if (auto there = destination(a.json); !there.ok()) return there.status();
  auto writer = a.report.prepare(a.device);
  if (!writer.ok()) return writer.status();
  auto problems = chosen_problems(a);
  if (!problems.ok()) return problems.status();
  auto variants = chosen_variants(a);
  if (!variants.ok()) return variants.status();
  ProgressLine progress;
  // Where kernels are compiled when they run, compiling takes longer than running: all cores do it first. A kernel that
  // does not compile fails again with its problem; without a compiler nothing can be verified.
  const Status compiled = evidence::compile_ahead(
      problems.value(), variants.value(),
      [&](std::size_t done, std::size_t all) { progress.say(fmt::format("{} of {} kernels", done, all)); });
  if (compiled.code() == Code::unavailable) return compiled;
  const VerifyResult result = evidence::verify(
      problems.value(), variants.value(),
      [&](const Problem& problem, std::size_t done, std::size_t all) {
        progress.say(fmt::format("{} of {}  {}", done + 1, all, problem.text()));
      },
      against(a), a.report.wanted() ? evidence::Digests::taken : evidence::Digests::none);
  Status reported;
  if (a.report.wanted()) reported = writer->write(result, variants.value(), against(a), progress);
  progress.say("");
  if (a.json != "-") print(a, result);
  if (!a.json.empty())
    if (Status s = write_text(a.json, dumped(to_json(a, result))); !s.ok()) return s;
  if (!reported.ok()) return reported;
  if (a.report.wanted() && a.json != "-") fmt::print("\nwrote {}\n", writer->files_text());
  if (result.summary.compared == 0) return {Code::check_failed, "nothing was compared"};
  exit_code = result.summary.failed == 0 && result.summary.mismatches == 0 ? 0 : 1;
  return {};
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("verify", "compare a device with the reference machine, bit for bit");
  command->add_option("--device", a->device, "the device to verify")->capture_default_str();
  a->problems.add_to(*command);
  command->add_option("--isa", a->isas, "instruction sets of the cpu device (all that run here)")->delimiter(',');
  command->add_option("--threads", a->threads, "thread counts of the cpu device")
      ->delimiter(',')
      ->capture_default_str();
  command->add_flag("--quick", a->quick, "only small problems: seconds instead of a minute");
  command->add_option("--json", a->json, "write the result as JSON to this file (- for standard output)");
  a->report.add_to(*command);
  command->callback([a, &exit_code] { report(run(*a, exit_code), exit_code); });
}

}  // namespace tokitai::cli
