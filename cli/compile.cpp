// tokitai compile: plans, compiles and audits an operator's GPU kernels for a target. No device is needed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <memory>
#include <set>

#include "base/at_once.h"
#include "cli/commands.h"
#include "cli/output_files.h"
#include "cli/problem_choice.h"
#include "cli/progress_line.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "compiler/audit.h"
#include "compiler/cache.h"
#include "machines/device/plan.h"
#include "problems/instance.h"

namespace tokitai::cli {
namespace {

using compiler::Artifact;
using compiler::Target;
using problems::Problem;

struct Arguments {
  std::string name;
  std::vector<std::string> targets;
  std::vector<std::string> shape;
  std::string emit;
  std::string output;
  std::string json;
  int variant = 0;
  bool audit = false, explain = false, all = false;
};

// One kernel of one problem for one target, and what became of it.
struct Job {
  std::string operator_name, problem;
  Target target;
  device::Launch launch;
  Result<Artifact> artifact = Status(Code::internal, "not compiled");
  std::vector<compiler::Finding> findings{};
};

// Multiprocessors matter to a plan only where a call is small; this many are assumed where no device is asked.
constexpr int kMultiprocessors = 132;

const std::vector<compiler::Header>& headers() {
  static const std::vector<compiler::Header> all = [] {  // one command, one set of operators
    std::vector<compiler::Header> h;
    for (const device::Text& text : device::device_headers()) h.push_back({text.name, text.text});
    return h;
  }();
  return all;
}

Result<std::vector<Target>> chosen_targets(const Arguments& a) {
  std::vector<Target> chosen;
  if (a.targets.empty()) {
    if (!a.all) return Status::invalid("--target is missing (see tokitai compile --help)");
    chosen.assign(compiler::targets().begin(), compiler::targets().end());
  }
  for (const std::string& name : a.targets) {
    auto target = compiler::find_target(name);
    if (!target.ok()) return target.status();
    chosen.push_back(target.value());
  }
  return chosen;
}

Result<std::vector<Problem>> chosen_problems(const Arguments& a) {
  ProblemChoice choice;
  if (!a.all) choice.operators = {a.name};
  if (!a.shape.empty()) choice.lines = {fmt::format("{} {}", a.name, fmt::join(a.shape, " "))};
  auto chosen = choice.chosen({problems::Use::compile});
  if (chosen.ok() && !a.all && a.shape.empty()) chosen->resize(1);  // the first stands for the operator
  return chosen;
}

Result<std::vector<Job>> jobs_of(const std::vector<Problem>& problems, const std::vector<Target>& targets,
                                 int variant) {
  std::vector<Job> jobs;
  for (const Target& target : targets)
    for (const Problem& problem : problems) {
      auto call = problems::call_without_memory(problem);
      if (!call.ok()) return call.status();
      auto program = device::plan(call.value(), {target, kMultiprocessors, variant});
      if (!program.ok()) return program.status();
      for (device::Launch& launch : program->launches)
        jobs.push_back({std::string(problem.contract->name), problem.text(), target, std::move(launch)});
    }
  return jobs;
}

void compile_job(Job& job, const compiler::Cache& cache) {
  job.artifact = cache.get({job.problem, job.launch.source, headers(), {}}, job.target);
  if (job.artifact.ok()) job.findings = compiler::audit(job.artifact.value(), job.target);
}

void compile_all(std::vector<Job>& jobs, const compiler::Cache& cache) {
  ProgressLine progress;
  std::atomic<std::size_t> done = 0;
  base::at_once(jobs.size(), [&](std::size_t i) {
    compile_job(jobs[i], cache);
    progress.say(fmt::format("{} of {}  {} {}", ++done, jobs.size(), jobs[i].target.name, jobs[i].launch.kernel));
  });
}

// Whether no compiler was there to ask.
bool is_missing(const Job& job) { return !job.artifact.ok() && job.artifact.status().code() == Code::unavailable; }

std::string result_of(const Job& job) {
  if (!job.artifact.ok()) return is_missing(job) ? "no compiler" : "FAILED";
  return job.findings.empty() ? "clean" : "REFUSED";
}

Json to_json(const Job& job) {
  Json j = {{"operator", job.operator_name}, {"problem", job.problem},  {"target", job.target.name},
            {"kernel", job.launch.kernel},   {"plan", job.launch.plan}, {"block", job.launch.block},
            {"blocks", job.launch.work},     {"result", result_of(job)}};
  if (!job.artifact.ok()) {
    j["why"] = job.artifact.status().message();
    return j;
  }
  const Artifact& artifact = job.artifact.value();
  const compiler::Manifest& m = artifact.manifest;
  j["from_cache"] = artifact.from_cache;
  if (!artifact.note.empty()) j["note"] = artifact.note;
  j["build_seconds"] = m.build_seconds;
  j["toolchain"] = m.toolchain;
  j["command"] = m.command;
  j["source_digest"] = m.source_digest;
  j["binary_digest"] = m.binary_digest;
  j["resources"] = Json::array();
  for (const compiler::Resources& r : artifact.resources)
    j["resources"].push_back({{"kernel", r.kernel},
                              {"registers", r.registers},
                              {"spill_bytes", r.spill_bytes},
                              {"local_bytes", r.local_bytes},
                              {"shared_bytes", job.launch.shared_bytes + r.shared_bytes}});
  j["findings"] = Json::array();
  for (const compiler::Finding& f : job.findings)
    j["findings"].push_back({{"kernel", f.kernel}, {"rule", f.rule}, {"line", f.line}});
  return j;
}

void print_table(const std::vector<Job>& jobs) {
  Table table({"target", "kernel", "problem", "threads", "registers", "spills", "shared", "seconds", "audit"});
  for (const Job& job : jobs) {
    std::string registers = "-", spills = "-", seconds = "-";
    if (job.artifact.ok()) {
      for (const compiler::Resources& r : job.artifact->resources) {
        registers = fmt::format("{}", r.registers);
        spills = fmt::format("{}", r.spill_bytes + r.local_bytes);
      }
      seconds = job.artifact->from_cache ? "cached" : fmt::format("{:.2f}", job.artifact->manifest.build_seconds);
    }
    std::string shape = job.problem.substr(job.operator_name.size() + 1);
    shape = shape.substr(0, shape.find(" data="));
    table.add({std::string(job.target.name), job.launch.kernel, shape, fmt::format("{}", job.launch.block), registers,
               spills, fmt::format("{}", job.launch.shared_bytes), seconds, result_of(job)});
  }
  fmt::print("{}", table.text());
  std::set<std::string> notes;
  for (const Job& job : jobs) {
    for (const compiler::Finding& f : job.findings)
      fmt::print("\n{} {}: {}: {}\n", job.target.name, f.kernel, f.rule, f.line);
    if (job.artifact.ok())
      notes.insert(job.artifact->note);
    else if (!is_missing(job))
      fmt::print("\n{} {}: {}\n", job.target.name, job.launch.kernel, job.artifact.status().message());
  }
  for (const std::string& note : notes)
    if (!note.empty()) fmt::print("\n{}\n", note);
}

// What went wrong, in one sentence; a missing compiler's own sentence is told once, however many kernels it concerns.
Status status_of(const std::vector<Job>& jobs) {
  std::set<std::string> why;
  std::size_t bad = 0, missing = 0;
  for (const Job& job : jobs) {
    if (is_missing(job)) {
      ++missing;
      why.insert(job.artifact.status().message());
    } else if (!job.artifact.ok() || !job.findings.empty()) {
      ++bad;
    }
  }
  if (bad != 0)
    return {Code::check_failed,
            fmt::format("{} of {} kernels do not compile or are refused by the audit", bad, jobs.size())};
  if (missing != 0)
    return {Code::unavailable,
            fmt::format("{} of {} kernels were not compiled: {}", missing, jobs.size(), fmt::join(why, "; "))};
  return {};
}

// Several binaries are several files; of text one file holds all.
bool emits_files(const Arguments& a, const std::vector<Job>& jobs) { return a.emit == "binary" && jobs.size() > 1; }

Status emit(const Arguments& a, const std::vector<Job>& jobs) {
  std::string all;
  std::vector<OutputFile> files;
  for (const Job& job : jobs) {
    if (a.emit == "plan") {
      all += job.launch.source;
      continue;
    }
    if (!job.artifact.ok()) return job.artifact.status();
    if (!job.findings.empty()) {
      const compiler::Finding& f = job.findings.front();
      return {Code::check_failed, fmt::format("{} is refused by the audit: {}: {}", f.kernel, f.rule, f.line)};
    }
    if (emits_files(a, jobs)) {
      const auto where = destination(a.output + "." + job.launch.kernel);
      if (!where.ok()) return where.status();
      files.push_back({"", where.value(), job.artifact->binary});
    } else {
      all += a.emit == "binary" ? job.artifact->binary : job.artifact->text;
    }
  }
  if (!files.empty()) return write_all(files);
  const std::string output = a.output.empty() ? kStandardOutput : a.output;
  if (a.emit == "binary" && output == kStandardOutput) {
    write_raw(Stream::out, all);
    return {};
  }
  return write_text(output, std::move(all));
}

// What can be seen of the arguments before anything is planned.
Status check_usage(const Arguments& a, const std::vector<Target>& targets) {
  if (a.all && !a.shape.empty())
    return Status::invalid("--shape belongs to one operator; --all takes the built-in problems");
  if (!a.output.empty() && a.emit.empty()) return Status::invalid("-o says where --emit writes; give --emit too");
  if (!a.emit.empty() && targets.size() > 1) return Status::invalid("--emit takes one --target");
  for (const Target& target : targets)
    if ((a.emit == "ptx" && target.vendor != compiler::Vendor::nvidia) ||
        (a.emit == "asm" && target.vendor != compiler::Vendor::amd))
      return Status::invalid(
          fmt::format("--emit {} does not go with {}: NVIDIA gives ptx, AMD gives asm", a.emit, target.name));
  for (const std::string& path : {a.output, a.json})
    if (!path.empty() && path != "-")
      if (const auto where = destination(path); !where.ok()) return where.status();
  return {};
}

// And before anything is compiled.
Status check_files(const Arguments& a, const std::vector<Job>& jobs) {
  if (!emits_files(a, jobs)) return {};
  if (a.output.empty() || a.output == "-")
    return Status::invalid(
        fmt::format("{} kernels: name a file with -o; each gets the kernel's name added", jobs.size()));
  std::set<std::string> names;
  for (const Job& job : jobs)
    if (!names.insert(job.launch.kernel).second)
      return Status::invalid(
          fmt::format("two kernels are called {}; choose one problem with --shape", job.launch.kernel));
  return {};
}

Status run(const Arguments& a) {
  if (a.all != a.name.empty()) return Status::invalid("name one operator, or give --all");
  auto targets = chosen_targets(a);
  if (!targets.ok()) return targets.status();
  if (Status s = check_usage(a, targets.value()); !s.ok()) return s;
  auto problems = chosen_problems(a);
  if (!problems.ok()) return problems.status();
  auto jobs = jobs_of(problems.value(), targets.value(), a.variant);
  if (!jobs.ok()) return jobs.status();
  if (Status s = check_files(a, jobs.value()); !s.ok()) return s;
  if (a.explain) {
    for (const Job& job : jobs.value())
      fmt::print("{} on {}\n  {}\n  {}\n\n", job.launch.kernel, job.target.name, job.problem, job.launch.plan);
    return {};
  }
  if (a.emit == "plan") return emit(a, jobs.value());

  auto cache = compiler::Cache::open();
  if (!cache.ok()) return cache.status();
  compile_all(jobs.value(), cache.value());
  if (!a.emit.empty()) return emit(a, jobs.value());
  if (!a.json.empty()) {
    Json all = Json::array();
    for (const Job& job : jobs.value()) all.push_back(to_json(job));
    if (Status s = write_text(a.json, dumped(all)); !s.ok()) return s;
  } else {
    print_table(jobs.value());
  }
  return status_of(jobs.value());
}

}  // namespace

void add_compile(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("compile", "compile and audit an operator's GPU kernels; no device is needed");
  command->add_option("operator", a->name, "the operator, e.g. layernorm.forward");
  std::vector<std::string_view> names;
  for (const Target& target : compiler::targets()) names.push_back(target.name);
  command->add_option("--target", a->targets, fmt::format("{}", fmt::join(names, " ")))->delimiter(',');
  command->add_option("--shape", a->shape, "sizes, types and options, e.g. rows=8192 cols=4096 type=bf16");
  CLI::Option* emit =
      command->add_option("--emit", a->emit, "write the kernels: ptx, asm, binary, or the plan's own source text")
          ->check(CLI::IsMember({"asm", "ptx", "binary", "plan"}));
  command->add_option("-o,--output", a->output, "where --emit writes (standard output)");
  command->add_option("--variant", a->variant, "another plan for the same call; all give the same bits")
      ->check(CLI::Range(0, device::kVariants - 1));
  command->add_flag("--audit", a->audit, "search the machine text for what the contract forbids (always done)");
  CLI::Option* explain =
      command->add_flag("--explain", a->explain, "print the plan in words, compile nothing")->excludes(emit);
  command->add_flag("--all", a->all, "every operator, for every target or the ones named");
  command->add_option("--json", a->json, "write the result as JSON to this file (- for standard output)")
      ->excludes(emit)
      ->excludes(explain);
  command->footer(
      "Examples:\n  tokitai compile softmax.forward --target sm_90a --explain\n"
      "  tokitai compile layernorm.forward --target sm_90a,gfx942 --shape rows=8192 cols=4096\n"
      "  tokitai compile softmax.forward --target gfx942 --emit asm -o softmax.s");
  command->callback([a, &exit_code] { report(run(*a), exit_code); });
}

}  // namespace tokitai::cli
