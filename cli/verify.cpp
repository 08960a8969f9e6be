// tokitai verify: compares a device with the reference machine, a GPU with the cpu device, bit for bit, and prints one
// table.
#include <fmt/format.h>

#include <memory>

#include "base/printable.h"
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
using problems::Problem;

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
  Json j = {{"problems", r.problems},     {"runs", r.runs},     {"outputs_compared", r.compared},
            {"mismatches", r.mismatches}, {"failed", r.failed}, {"not_run", r.not_run}};
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
    std::int64_t n = 1;
    for (int d = 0; d < spec.rank(); ++d) n *= problem.size(spec.shape[static_cast<std::size_t>(d)]);
    most = std::max(most, n);
  }
  return most;
}

bool on_gpu(const Arguments& a) { return gpu::names_gpu(a.device); }

Result<std::vector<Problem>> chosen_problems(const Arguments& a) {
  using problems::Use;
  auto chosen = a.device.starts_with("lockstep") ? a.problems.chosen({Use::verify_lockstep})
                : on_gpu(a)                      ? a.problems.chosen({Use::verify, Use::verify_gpu})
                                                 : a.problems.chosen({Use::verify});
  constexpr std::int64_t kQuick = 20000;
  if (chosen.ok() && a.quick && a.problems.lines.empty())
    std::erase_if(chosen.value(), [](const Problem& problem) { return largest(problem) > kQuick; });
  return chosen;
}

// A GPU is always compared with the cpu device, itself verified: the reference would take hours for its problems.
std::string_view against(const Arguments& a) { return on_gpu(a) ? "cpu" : "reference"; }

Result<std::vector<evidence::Variant>> chosen_variants(const Arguments& a) {
  if (a.device == "cpu") return evidence::cpu_variants(a.isas.empty() ? cpu_isas() : a.isas, a.threads);
  if (on_gpu(a)) return evidence::gpu_variants(a.device);
  if (a.device == "lockstep") return evidence::lockstep_variants();
  auto device = open(a.device);
  if (!device.ok()) return device.status();
  return std::vector<evidence::Variant>{{a.device, std::move(device).value()}};
}

struct Verified {
  std::string device, against;
  VerifyResult result;
  bool good() const {
    return result.summary.failed == 0 && result.summary.mismatches == 0 && result.summary.checks.findings == 0;
  }
};

void print(const std::vector<Verified>& all) {
  const bool several = all.size() > 1;
  bool checked = false;
  for (const Verified& one : all) checked |= one.result.summary.checks.accesses > 0;
  std::vector<std::string> columns{"operator", "problems", "runs", "outputs compared", "differing"};
  if (several) columns.insert(columns.begin(), "device");
  if (checked) columns.insert(columns.end(), {"accesses checked", "findings"});
  columns.emplace_back("result");
  Table table(columns);
  const auto add = [&](const std::string& device, const OperatorResult& r) {
    std::vector<std::string> row{r.name, fmt::format("{}", r.problems), fmt::format("{}", r.runs),
                                 fmt::format("{}", r.compared), fmt::format("{}", r.mismatches)};
    if (several) row.insert(row.begin(), device);
    if (checked) row.insert(row.end(), {fmt::format("{}", r.checks.accesses), fmt::format("{}", r.checks.findings)});
    row.emplace_back(r.failed == 0           ? "equal"
                     : r.checks.findings > 0 ? "FOUND"
                     : r.failed == r.not_run ? "NOT RUN"
                                             : "DIFFERS");
    table.add(row);
  };
  for (const Verified& one : all) {
    for (const OperatorResult& r : one.result.operators) add(one.device, r);
    add(one.device, one.result.summary);
    fmt::print("{}\n", base::one_line(fmt::format("{} against the {} machine, bit for bit", one.device, one.against)));
  }
  fmt::print("\n{}\n", table.text());
  for (const Verified& one : all) {
    fmt::print("{}problems were run in {} ways, each where it applies:\n",
               several ? base::one_line(one.device) + ": " : "", one.result.variants.size());
    for (const std::string& variant : one.result.variants) fmt::print("  {}\n", variant);
    for (const OperatorResult& r : one.result.operators)
      if (!r.first_failure.empty())
        fmt::print("\nfirst failure of {} on {}:\n  {}\n", r.name, base::one_line(one.device), r.first_failure);
  }
}

// The devices here that compute at speed: the processor and every GPU that has a driver and a compiler.
std::vector<std::string> devices_here() {
  std::vector<std::string> names{"cpu"};
  for (const char* vendor : {"cuda", "amd"}) {
    const auto driver = gpu::driver_of(vendor);
    if (!driver.ok()) continue;
    for (int index = 0; index < driver.value()->count(); ++index)
      if (std::string name = fmt::format("{}:{}", vendor, index); open(name).ok()) names.push_back(std::move(name));
  }
  return names;
}

Result<Verified> verify_one(const Arguments& a, ReportWriter& writer, ProgressLine& progress) {
  auto problems = chosen_problems(a);
  if (!problems.ok()) return problems.status();
  auto variants = chosen_variants(a);
  if (!variants.ok()) return variants.status();
  // Where kernels are compiled when they run, compiling takes longer than running: all cores do it first. A kernel that
  // does not compile fails again with its problem; without a compiler nothing can be verified.
  const Status compiled = evidence::compile_ahead(
      problems.value(), variants.value(),
      [&](std::size_t done, std::size_t all) { progress.say(fmt::format("{} of {} kernels", done, all)); });
  if (compiled.code() == Code::unavailable) return compiled;
  Verified verified{a.device, std::string(against(a)),
                    evidence::verify(
                        problems.value(), variants.value(),
                        [&](const Problem& problem, std::size_t done, std::size_t all) {
                          progress.say(fmt::format("{}: {} of {}  {}", a.device, done + 1, all, problem.text()));
                        },
                        against(a), a.report.wanted() ? evidence::Digests::taken : evidence::Digests::none)};
  if (a.report.wanted())
    if (Status s = writer.make(verified.result, variants.value(), against(a), progress); !s.ok()) return s;
  return verified;
}

Status run(Arguments a, int& exit_code) {
  FileUses files;
  const bool all = a.device == "all";
  if (all && a.report.wanted()) return Status::invalid("--report goes with one device, not with all");
  auto writer = a.report.prepare(a.device, files);
  if (!writer.ok()) return writer.status();
  if (Status s = files.writes_text("--json", a.json); !s.ok()) return s;
  std::vector<Verified> verified;
  Json documents = Json::array();
  ProgressLine progress;
  for (const std::string& device : all ? devices_here() : std::vector{a.device}) {
    a.device = device;
    auto one = verify_one(a, writer.value(), progress);
    if (!one.ok()) return one.status();
    documents.push_back(to_json(a, one->result));
    verified.push_back(std::move(one).value());
  }
  progress.say("");
  std::vector<OutputFile> written = writer->files();
  if (Status s = add_text(written, a.json, dumped(all ? Json{{"devices", documents}} : documents[0])); !s.ok())
    return s;
  if (a.json != kStandardOutput) print(verified);
  if (Status s = write_all(written); !s.ok()) return s;
  if (a.report.wanted() && a.json != kStandardOutput) fmt::print("\nwrote {}\n", base::one_line(writer->files_text()));
  for (const Verified& one : verified) {
    if (one.result.summary.compared == 0) return {Code::check_failed, "nothing was compared"};
    if (!one.good()) exit_code = 1;
  }
  return writer->judged();
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "verify", "compare a device with the reference machine (a GPU with the cpu device), bit for bit");
  command->add_option("--device", a->device, "the device to verify, or all: the processor and every GPU here")
      ->capture_default_str();
  a->problems.add_to(*command);
  command->add_option("--isa", a->isas, "instruction sets of the cpu device (all that run here)")->delimiter(',');
  command->add_option("--threads", a->threads, "thread counts of the cpu device")
      ->delimiter(',')
      ->capture_default_str();
  command->add_flag("--quick", a->quick, "only small problems: seconds instead of a minute");
  command->add_option("--json", a->json, "write the result as JSON to this file (- for standard output)");
  a->report.add_to(*command);
  command->footer(
      "Examples:\n  tokitai verify --quick\n  tokitai verify --op softmax.forward softmax.backward --isa avx2\n"
      "  tokitai verify --problem \"softmax.forward rows=3 cols=5\" --device lockstep\n"
      "  tokitai verify --quick --op layernorm.forward --report out --sign mine.key");
  command->callback([a, &exit_code] { report(run(*a, exit_code), exit_code); });
}

}  // namespace tokitai::cli
