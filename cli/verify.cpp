// tokitai verify: compares a device with the reference machine, bit for bit, and prints one table.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/table.h"
#include "evidence/verify.h"

namespace tokitai::cli {
namespace {

using evidence::OperatorResult;
using evidence::VerifyResult;
using testing::Problem;

struct Arguments {
  std::string device = "cpu";
  std::vector<std::string> operators;
  std::vector<std::string> isas;
  std::vector<int> threads = {1, 2, 5};
  std::vector<std::string> problem;
  std::string json;
  bool quick = false;
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

bool on_gpu(std::string_view device) { return device.starts_with("cuda:") || device.starts_with("amd:"); }
bool on_lockstep(std::string_view device) { return device.starts_with("lockstep"); }

Result<std::vector<Problem>> chosen_problems(const Arguments& a) {
  std::vector<Problem> chosen;
  for (const std::string& line : a.problem) {
    auto parsed = testing::parse_problems(line);
    if (!parsed.ok()) return parsed.status();
    chosen.insert(chosen.end(), parsed->begin(), parsed->end());
  }
  if (!chosen.empty()) return chosen;
  for (const std::string& name : a.operators)
    if (auto known = operator_named(name); !known.ok()) return known.status();
  auto all = testing::problems(on_lockstep(a.device) ? testing::Use::verify_lockstep : testing::Use::verify);
  if (!all.ok()) return all.status();
  if (on_gpu(a.device)) {
    auto large = testing::problems(testing::Use::verify_gpu);
    if (!large.ok()) return large.status();
    all->insert(all->end(), large->begin(), large->end());
  }
  constexpr std::int64_t kQuick = 20000;
  for (const Problem& problem : all.value()) {
    const bool wanted = a.operators.empty() ||
                        std::find(a.operators.begin(), a.operators.end(), problem.contract->name) != a.operators.end();
    if (wanted && (!a.quick || largest(problem) <= kQuick)) chosen.push_back(problem);
  }
  return chosen;
}

// A GPU is compared with the cpu device, itself verified, on problems that the reference would take hours for.
std::string_view against(const Arguments& a) { return on_gpu(a.device) ? "cpu" : "reference"; }

Result<std::vector<evidence::Variant>> chosen_variants(const Arguments& a) {
  if (a.device == "cpu") return evidence::cpu_variants(a.isas.empty() ? cpu_isas() : a.isas, a.threads);
  if (on_gpu(a.device)) return evidence::gpu_variants(a.device);
  if (a.device == "lockstep") return evidence::lockstep_variants();
  auto device = open(a.device);
  if (!device.ok()) return device.status();
  return std::vector<evidence::Variant>{{a.device, std::move(device).value()}};
}

Status write_json(const std::string& path, const Json& j) {
  if (path == "-") {
    fmt::print("{}\n", j.dump(2));
    return {};
  }
  std::ofstream file(path);
  file << j.dump(2) << '\n';
  file.close();
  return file ? Status() : Status::invalid(fmt::format("cannot write {}", path));
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
  auto problems = chosen_problems(a);
  if (!problems.ok()) return problems.status();
  auto variants = chosen_variants(a);
  if (!variants.ok()) return variants.status();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  // Where kernels are compiled when they run, compiling takes longer than running: all cores do it first. A kernel that
  // does not compile fails again with its problem; without a compiler nothing can be verified.
  const Status compiled =
      evidence::compile_ahead(problems.value(), variants.value(), [&](std::size_t done, std::size_t all) {
        if (terminal) fmt::print(stderr, "\r\033[K{} of {} kernels", done, all);
      });
  if (compiled.code() == Code::unavailable) return compiled;
  const VerifyResult result = evidence::verify(
      problems.value(), std::move(variants).value(),
      [&](const Problem& problem, std::size_t done, std::size_t all) {
        if (terminal) fmt::print(stderr, "\r\033[K{} of {}  {:.80}", done + 1, all, problem.text());
      },
      against(a));
  if (terminal) fmt::print(stderr, "\r\033[K");
  if (a.json != "-") print(a, result);
  if (!a.json.empty())
    if (Status s = write_json(a.json, to_json(a, result)); !s.ok()) return s;
  if (result.summary.compared == 0) return {Code::check_failed, "nothing was compared"};
  exit_code = result.summary.failed == 0 && result.summary.mismatches == 0 ? 0 : 1;
  return {};
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("verify", "compare a device with the reference machine, bit for bit");
  command->add_option("--device", a->device, "the device to verify")->capture_default_str();
  command->add_option("--op", a->operators, "only these operators");
  command->add_option("--isa", a->isas, "instruction sets of the cpu device (all that run here)")->delimiter(',');
  command->add_option("--threads", a->threads, "thread counts of the cpu device")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--problem", a->problem,
                      "a problem line instead of the built-in ones, e.g. \"softmax.forward rows=3 cols=5\"");
  command->add_flag("--quick", a->quick, "only small problems: seconds instead of a minute");
  command->add_option("--json", a->json, "write the result as JSON to this file (- for standard output)");
  command->callback([a, &exit_code] { report(run(*a, exit_code), exit_code); });
}

}  // namespace tokitai::cli
