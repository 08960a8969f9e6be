// tokitai compile: plans, compiles and audits an operator's GPU kernels for a target. No device is needed.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/commands.h"
#include "cli/table.h"
#include "compiler/audit.h"
#include "compiler/cache.h"
#include "machines/device/plan.h"
#include "testing/instance.h"
#include "testing/problem.h"

namespace tokitai::cli {
namespace {

using compiler::Artifact;
using compiler::Target;
using testing::Problem;

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

std::span<const compiler::Header> headers() {
  static const std::vector<compiler::Header> all = [] {
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
  auto built_in = testing::problems(testing::Use::compile);
  if (!built_in.ok() || a.all) return built_in;
  auto contract = operator_named(a.name);
  if (!contract.ok()) return contract.status();
  if (!a.shape.empty()) {
    std::string line = a.name;
    for (const std::string& word : a.shape) line += " " + word;
    return testing::parse_problems(line);
  }
  std::vector<Problem> chosen;
  for (const Problem& problem : built_in.value())
    if (problem.contract == contract.value() && chosen.empty()) chosen.push_back(problem);
  return chosen;
}

Result<std::vector<Job>> jobs_of(const std::vector<Problem>& problems, const std::vector<Target>& targets, int variant) {
  std::vector<Job> jobs;
  for (const Target& target : targets)
    for (const Problem& problem : problems) {
      auto call = testing::call_without_memory(problem);
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
  const bool terminal = isatty(STDERR_FILENO) != 0;
  std::atomic<std::size_t> next = 0, done = 0;
  std::mutex printing;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      compile_job(jobs[i], cache);
      const std::size_t count = ++done;
      if (!terminal) continue;
      const std::lock_guard lock(printing);
      fmt::print(stderr, "\r\033[K{} of {}  {} {}", count, jobs.size(), jobs[i].target.name, jobs[i].launch.kernel);
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 1; t < std::thread::hardware_concurrency() && t < jobs.size(); ++t) threads.emplace_back(work);
  work();
  threads.clear();
  if (terminal) fmt::print(stderr, "\r\033[K");
}

std::string result_of(const Job& job) {
  if (!job.artifact.ok()) return job.artifact.status().code() == Code::unavailable ? "no compiler" : "FAILED";
  return job.findings.empty() ? "clean" : "REFUSED";
}

Json to_json(const Job& job) {
  Json j = {{"operator", job.operator_name}, {"problem", job.problem},       {"target", job.target.name},
            {"kernel", job.launch.kernel},   {"plan", job.launch.plan},      {"block", job.launch.block},
            {"blocks", job.launch.work},     {"result", result_of(job)}};
  if (!job.artifact.ok()) {
    j["why"] = job.artifact.status().message();
    return j;
  }
  const Artifact& artifact = job.artifact.value();
  const compiler::Manifest& m = artifact.manifest;
  j["from_cache"] = artifact.from_cache;
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
  for (const Job& job : jobs) {
    for (const compiler::Finding& f : job.findings)
      fmt::print("\n{} {}: {}: {}\n", job.target.name, f.kernel, f.rule, f.line);
    if (!job.artifact.ok())
      fmt::print("\n{} {}: {}\n", job.target.name, job.launch.kernel, job.artifact.status().message());
  }
}

Status write(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  return file ? Status() : Status::invalid(fmt::format("cannot write {}", path));
}

Status emit(const Arguments& a, const std::vector<Job>& jobs) {
  std::string all;
  for (const Job& job : jobs) {
    if (a.emit == "plan") {
      all += job.launch.source;
      continue;
    }
    if (!job.artifact.ok()) return job.artifact.status();
    if (a.emit == "binary") {
      if (jobs.size() > 1 && (a.output.empty() || a.output == "-"))
        return Status::invalid(fmt::format("{} kernels: name a file with -o; each gets the kernel's name added", jobs.size()));
      if (jobs.size() > 1) {
        if (Status s = write(a.output + "." + job.launch.kernel, job.artifact->binary); !s.ok()) return s;
        continue;
      }
      all += job.artifact->binary;
    } else {
      all += job.artifact->text;
    }
  }
  return all.empty() ? Status() : write(a.output, all);
}

Status run(const Arguments& a, int& exit_code) {
  if (a.all != a.name.empty()) return Status::invalid("name one operator, or give --all");
  auto targets = chosen_targets(a);
  if (!targets.ok()) return targets.status();
  if (!a.emit.empty() && targets->size() > 1) return Status::invalid("--emit takes one --target");
  for (const Target& target : targets.value())
    if ((a.emit == "ptx" && target.vendor != compiler::Vendor::nvidia) || (a.emit == "asm" && target.vendor != compiler::Vendor::amd))
      return Status::invalid(fmt::format("--emit {} does not go with {}: NVIDIA gives ptx, AMD gives asm", a.emit, target.name));
  auto problems = chosen_problems(a);
  if (!problems.ok()) return problems.status();
  auto jobs = jobs_of(problems.value(), targets.value(), a.variant);
  if (!jobs.ok()) return jobs.status();
  if (a.explain) {
    for (const Job& job : jobs.value())
      fmt::print("{} on {}\n  {}\n  {}\n\n", job.launch.kernel, job.target.name, job.problem, job.launch.plan);
    return {};
  }
  if (a.emit == "plan") return emit(a, jobs.value());

  auto cache = compiler::Cache::open();
  if (!cache.ok()) return cache.status();
  compile_all(jobs.value(), cache.value());
  bool failed = false, missing = false;
  for (const Job& job : jobs.value()) {
    failed = failed || (job.artifact.ok() ? !job.findings.empty() : job.artifact.status().code() != Code::unavailable);
    missing = missing || (!job.artifact.ok() && job.artifact.status().code() == Code::unavailable);
  }
  if (!a.json.empty()) {
    Json all = Json::array();
    for (const Job& job : jobs.value()) all.push_back(to_json(job));
    if (Status s = write(a.json, all.dump(2) + "\n"); !s.ok()) return s;
  } else if (a.emit.empty()) {
    print_table(jobs.value());
  } else {
    for (const Job& job : jobs.value())
      for (const compiler::Finding& f : job.findings)
        return {Code::check_failed, fmt::format("{} is refused by the audit: {}: {}", f.kernel, f.rule, f.line)};
    if (Status s = emit(a, jobs.value()); !s.ok()) return s;
  }
  exit_code = failed ? 1 : missing ? 3 : 0;
  return {};
}

}  // namespace

void add_compile(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("compile", "compile and audit an operator's GPU kernels; no device is needed");
  command->add_option("operator", a->name, "the operator, e.g. layernorm.forward");
  command->add_option("--target", a->targets, "sm_80 sm_89 sm_90a sm_100a gfx90a gfx942 gfx1030 gfx1101 gfx1201")
      ->delimiter(',');
  command->add_option("--shape", a->shape, "sizes, types and options, e.g. rows=8192 cols=4096 type=bf16");
  command->add_option("--emit", a->emit, "write the kernels: ptx, asm, binary, or the plan's own source text")
      ->check(CLI::IsMember({"asm", "ptx", "binary", "plan"}));
  command->add_option("-o,--output", a->output, "where --emit writes (standard output)");
  command->add_option("--variant", a->variant, "another plan for the same call; all give the same bits")
      ->check(CLI::Range(0, device::kVariants - 1));
  command->add_flag("--audit", a->audit, "search the machine text for what the contract forbids (always done)");
  command->add_flag("--explain", a->explain, "print the plan in words, compile nothing");
  command->add_flag("--all", a->all, "every operator, for every target or the ones named");
  command->add_option("--json", a->json, "write the result as JSON to this file (- for standard output)");
  command->callback([a, &exit_code] { report(run(*a, exit_code), exit_code); });
}

}  // namespace tokitai::cli
