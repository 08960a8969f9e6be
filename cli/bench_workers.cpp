#include "cli/bench_workers.h"

#include <fmt/format.h>

#include <filesystem>

#include "bench/workers.h"
#include "cli/commands.h"
#include "cli/progress_line.h"
#include "cli/table.h"

namespace tokitai::cli {
namespace {

void print_tables(const bench::WorkerFigures& f) {
  Table steps({"adamw.step, n", "in-process ms", "small pages", "worker ms", "ratio", "own memory ms", "ratio",
               "framed text ms", "ratio"});
  for (const bench::StepFigures& s : f.steps) {
    const auto ms = [](double seconds) { return seconds > 0 ? fmt::format("{:.2f}", seconds * 1e3) : "-"; };
    const auto ratio = [&](double seconds) {
      return seconds > 0 ? fmt::format("{:.2f}", seconds / s.in_process) : "-";
    };
    steps.add({fmt::format("{}", s.elements), ms(s.in_process), ms(s.small_pages), ms(s.in_buffers),
               ratio(s.in_buffers), ms(s.own_memory), ratio(s.own_memory), ms(s.framed_text), ratio(s.framed_text)});
  }
  fmt::print("{}\n", steps.text());
  Table small({"softmax.forward, 1 x 16", "us", "added us"});
  for (const auto& [name, seconds] : {std::pair{"in-process", f.small.in_process},
                                      {"worker:cpu", f.small.worker},
                                      {"unix: a server", f.small.server}})
    small.add(
        {name, fmt::format("{:.1f}", seconds * 1e6), fmt::format("{:.1f}", (seconds - f.small.in_process) * 1e6)});
  fmt::print("{}\n", small.text());
  Table clients({"clients of one server", "calls/s", "% of one client", "best p99 us", "worst p99 us", "ratio"});
  for (const bench::ClientFigures& c : f.clients)
    clients.add({fmt::format("{}", c.clients), fmt::format("{:.0f}", c.calls_per_second),
                 fmt::format("{:.0f}", 100 * c.calls_per_second / f.clients.front().calls_per_second),
                 fmt::format("{:.0f}", c.best_p99 * 1e6), fmt::format("{:.0f}", c.worst_p99 * 1e6),
                 fmt::format("{:.2f}", c.worst_p99 / c.best_p99)});
  fmt::print("{}", clients.text());
}

Json to_json(const bench::WorkerFigures& f) {
  Json document;
  for (const bench::StepFigures& s : f.steps)
    document["adamw_step"].push_back({{"elements", s.elements},
                                      {"in_process_seconds", s.in_process},
                                      {"in_process_small_pages_seconds", s.small_pages},
                                      {"worker_seconds", s.in_buffers},
                                      {"own_memory_seconds", s.own_memory},
                                      {"framed_text_seconds", s.framed_text}});
  document["smallest_call"] = {{"in_process_seconds", f.small.in_process},
                               {"worker_seconds", f.small.worker},
                               {"server_seconds", f.small.server}};
  for (const bench::ClientFigures& c : f.clients)
    document["clients"].push_back({{"clients", c.clients},
                                   {"calls_per_second", c.calls_per_second},
                                   {"best_p99_seconds", c.best_p99},
                                   {"worst_p99_seconds", c.worst_p99}});
  return document;
}

}  // namespace

Status bench_workers(const DeviceChoice& device, double budget, bool json) {
  if (device.device != "cpu")
    return Status::invalid(fmt::format("--workers times the cpu device, not '{}'", device.device));
  auto options = device.options();
  if (!options.ok()) return options.status();
  ProgressLine progress;
  bench::WorkerBench how;
  how.threads = options->threads;
  how.budget = budget;
  std::error_code error;
  how.command = std::filesystem::read_symlink("/proc/self/exe", error).string();
  how.say = [&](const std::string& what) { progress.say(what); };
  auto figures = bench::time_workers(how);
  if (!figures.ok()) return figures.status();
  progress.say("");
  if (json)
    print_json(to_json(figures.value()));
  else
    print_tables(figures.value());
  return {};
}

}  // namespace tokitai::cli
