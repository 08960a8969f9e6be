// tokitai bench: times operators beside the copy bandwidth of the same run, and beside peers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/printable.h"
#include "bench/copy.h"
#include "bench/gpu.h"
#include "bench/harness.h"
#include "bench/peers.h"
#include "cli/bench_workers.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "cli/problem_choice.h"
#include "cli/progress_line.h"
#include "cli/table.h"
#include "contract/registry.h"
#include "contract/ways.h"
#include "machines/gpu/driver.h"

namespace tokitai::cli {
namespace {

using problems::Problem;

struct Arguments {
  DeviceChoice device;
  ProblemChoice problems;
  std::vector<std::string> peers;
  std::string python;
  double budget = 1;
  bool json = false, workers = false;

  bool on_gpu() const { return device.on_gpu(); }
};

struct Row {
  const Problem* problem;
  bench::Timing timing;
  double copy;  // GB/s, the mean of just before and just after
};

Result<bench::Peer> timed_peer(const Arguments& a, const std::string& name, const std::vector<Problem>& problems,
                               int threads) {
  if (name == "torch" && a.on_gpu()) {
    auto device = gpu::parse_name(a.device.device);
    if (!device.ok()) return device.status();
    return bench::torch_gpu_peer(problems, device->index, a.python);
  }
  if (name == "torch") return bench::torch_peer(problems, threads, a.python);
  return bench::openblas_peer(problems, threads);
}

Status check_peers(const Arguments& a) {
  for (const std::string& name : a.peers)
    if (name != "torch" && (name != "openblas" || a.on_gpu()))
      return Status::invalid(fmt::format("no peer '{}'; {}", name,
                                         a.on_gpu() ? "on a GPU it is torch" : "the peers are torch and openblas"));
  return {};
}

Result<std::vector<bench::Peer>> timed_peers(const Arguments& a, const std::vector<Problem>& problems, int threads) {
  std::vector<bench::Peer> peers;
  for (const std::string& name : a.peers) {
    auto peer = timed_peer(a, name, problems, threads);
    if (!peer.ok()) return peer.status();
    peers.push_back(std::move(peer).value());
  }
  return peers;
}

// Sizes, and which of an operator's ways where it has several by name: "m 512, n 512, k 64, block15".
std::string sizes_text(const Problem& problem) {
  std::string text;
  for (const auto& [name, value] : problem.sizes) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  constexpr std::size_t kShown = 8;
  if (problem.list.size() > kShown)
    text = fmt::format("{} tensors, n {} in all", problem.list.size(),
                       std::accumulate(problem.list.begin(), problem.list.end(), std::int64_t{0}));
  else
    for (std::int64_t n : problem.list) text += fmt::format("{}{}", text.empty() ? "n " : " + ", n);
  for (const OperandSpec& spec : problem.contract->operands)
    if ((spec.type == TypeRule::index && spec.name == "index") || !spec.ascend_to.empty())
      text += problem.spread == problems::Spread::zipf    ? ", zipf"
              : problem.spread == problems::Spread::equal ? ", all equal"
                                                          : "";
  for (const auto& [name, value] : problem.options)
    for (const OptionSpec& spec : problem.contract->options)
      if (spec.name == name && spec.kind == OptionKind::choice) text += ", " + value;
  return text;
}

double bytes_of(const Row& row) {
  return static_cast<double>(row.timing.cost.bytes_read + row.timing.cost.bytes_written);
}
double flops_of(const Row& row) { return static_cast<double>(row.timing.cost.flops); }
bool compute_bound(const Row& row) { return pattern_of(*row.problem->contract) == Pattern::tile; }

// How many times as fast as the peer: in time, or in bytes per second where the peer moves others.
double ratio_to(const bench::Peer& peer, const Row& row, double seconds) {
  const auto moved = peer.bytes.find(row.problem->text());
  return seconds / row.timing.seconds * (moved == peer.bytes.end() ? 1.0 : bytes_of(row) / moved->second);
}

// What is different about the peers' work, where it is.
std::string note_of(const std::vector<bench::Peer>& peers, const Problem& problem) {
  std::vector<std::string> all;
  for (const bench::Peer& peer : peers)
    if (const auto found = peer.notes.find(problem.text()); found != peer.notes.end() && !found->second.empty())
      all.push_back(found->second);
  return fmt::format("{}", fmt::join(all, "; "));
}

// Times in ms beside the processor's, in us beside a GPU's; there also how long a call takes to return.
struct Unit {
  const char* name;
  double per_second;
  int digits;
};

void print_table(const std::vector<Row>& rows, const std::vector<bench::Peer>& peers, const Device& device,
                 bool on_gpu) {
  const Unit unit = on_gpu ? Unit{"us", 1e6, 1} : Unit{"ms", 1e3, 2};
  std::vector<std::string> header = {"operator", "sizes",     "type",      unit.name, "MB",
                                     "GB/s",     "copy GB/s", "% of copy", "GFLOP/s"};
  if (on_gpu) header.insert(header.end(), {"returns us", "compiled s"});
  for (const bench::Peer& peer : peers) {
    const std::string name = peer.name.substr(0, peer.name.find(' '));
    header.push_back(fmt::format("{} {}", name, unit.name));
    if (on_gpu) header.push_back(fmt::format("{} returns us", name));
    header.emplace_back("ratio");
  }
  const bool notes = std::any_of(peers.begin(), peers.end(), [](const bench::Peer& peer) {
    return std::any_of(peer.notes.begin(), peer.notes.end(), [](const auto& note) { return !note.second.empty(); });
  });
  if (notes) header.emplace_back("the peer");
  Table table(header);
  for (const Row& row : rows) {
    const double rate = bytes_of(row) / row.timing.seconds / 1e9;
    std::vector<std::string> cells = {
        std::string(row.problem->contract->name),
        sizes_text(*row.problem),
        std::string(name_of(row.problem->storage)),
        fmt::format("{:.{}f}", row.timing.seconds * unit.per_second, unit.digits),
        fmt::format("{:.0f}", bytes_of(row) / 1e6),
        fmt::format("{:.1f}", rate),
        fmt::format("{:.1f}", row.copy),
        fmt::format("{:.0f}", 100 * rate / row.copy),
        compute_bound(row) ? fmt::format("{:.1f}", flops_of(row) / row.timing.seconds / 1e9) : "-"};
    if (on_gpu) {
      cells.push_back(fmt::format("{:.1f}", row.timing.host_seconds * 1e6));
      cells.push_back(fmt::format("{:.2f}", row.timing.compile_seconds));
    }
    for (const bench::Peer& peer : peers) {
      const auto found = peer.seconds.find(row.problem->text());
      const bool timed = found != peer.seconds.end();
      cells.push_back(timed ? fmt::format("{:.{}f}", found->second * unit.per_second, unit.digits) : "-");
      if (on_gpu) {
        const auto host = peer.host_seconds.find(row.problem->text());
        cells.push_back(host != peer.host_seconds.end() ? fmt::format("{:.1f}", host->second * 1e6) : "-");
      }
      cells.push_back(timed ? fmt::format("{:.2f}", ratio_to(peer, row, found->second)) : "-");
    }
    if (notes) cells.push_back(note_of(peers, *row.problem));
    table.add(cells);
  }
  fmt::print("{} ({}); the copy is read plus written{}\n\n{}\n", base::one_line(device.name()),
             base::one_line(device.description()),
             on_gpu ? "" : "; with the same threads, the mean of before and after each operator", table.text());
  for (const bench::Peer& peer : peers)
    fmt::print("peer: {}; ratio above 1: Tokitai is that many times as fast\n", peer.name);
}

Json to_json(const std::vector<Row>& rows, const std::vector<bench::Peer>& peers, const Device& device) {
  Json document = {{"device", device.name()}, {"description", device.description()}};
  for (const Row& row : rows) {
    Json j = {{"operator", row.problem->contract->name},
              {"problem", row.problem->text()},
              {"seconds", row.timing.seconds},
              {"repetitions", row.timing.repetitions},
              {"bytes", row.timing.cost.bytes_read + row.timing.cost.bytes_written},
              {"copy_gb_per_s", row.copy},
              {"percent_of_copy", bytes_of(row) / row.timing.seconds / 1e7 / row.copy},
              {"gflop_per_s", flops_of(row) / row.timing.seconds / 1e9},
              {"outputs_checked", row.timing.checked}};
    if (row.timing.host_seconds > 0) {
      j["returns_seconds"] = row.timing.host_seconds;
      j["compile_seconds"] = row.timing.compile_seconds;
    }
    for (const bench::Peer& peer : peers) {
      const auto found = peer.seconds.find(row.problem->text());
      if (found == peer.seconds.end()) continue;
      Json& there = j["peers"][peer.name];
      there = {{"seconds", found->second}, {"ratio", ratio_to(peer, row, found->second)}};
      if (const auto note = peer.notes.find(row.problem->text()); note != peer.notes.end() && !note->second.empty())
        there["note"] = note->second;
      if (const auto host = peer.host_seconds.find(row.problem->text()); host != peer.host_seconds.end())
        there["returns_seconds"] = host->second;
    }
    document["results"].push_back(j);
  }
  return document;
}

Result<std::vector<Row>> timed(const Arguments& a, const std::vector<Problem>& problems, Device& device,
                               ProgressLine& progress) {
  progress.say("measuring the copy bandwidth");
  const auto copy = bench::Copy::on(device);
  if (!copy.ok()) return copy.status();
  std::vector<Row> rows;
  double before = copy->bandwidth();
  for (const Problem& problem : problems) {
    progress.say(problem.text());
    auto timing =
        a.on_gpu() ? bench::time_on_gpu(problem, device, a.budget) : bench::time_problem(problem, device, a.budget);
    if (!timing.ok()) return timing.status();
    const double after = copy->bandwidth();
    rows.push_back({&problem, timing.value(), (before + after) / 2});
    before = after;
  }
  return rows;
}

Status run(const Arguments& a) {
  if (Status s = check_range("--seconds", a.budget, kMostSeconds); !s.ok()) return s;
  if (a.workers) return bench_workers(a.device, a.budget, a.json);
  if (a.device.device.starts_with("lockstep"))
    return Status::invalid("lockstep checks what a GPU would do, on the CPU; its times say nothing");
  if (Status s = check_peers(a); !s.ok()) return s;
  auto problems = a.problems.chosen({a.on_gpu() ? problems::Use::bench_gpu : problems::Use::bench});
  if (!problems.ok()) return problems.status();
  auto device = a.device.open();
  if (!device.ok()) return device.status();
  ProgressLine progress;
  auto rows = timed(a, problems.value(), device.value(), progress);
  if (!rows.ok()) return rows.status();
  if (Status s = device->trim(); !s.ok()) return s;  // the peers need the memory
  if (!a.peers.empty()) progress.say("timing the peers");
  auto peers = timed_peers(a, problems.value(), device->threads());
  if (!peers.ok()) return peers.status();
  progress.say("");
  if (a.json)
    print_json(to_json(rows.value(), peers.value(), device.value()));
  else
    print_table(rows.value(), peers.value(), device.value(), a.on_gpu());
  return {};
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("bench", "time operators beside the copy bandwidth and beside peers");
  a->device.add_to(*command);
  a->problems.add_to(*command);
  command->add_option("--peer", a->peers, "torch, openblas: time the same work there")->delimiter(',');
  command->add_option("--python", a->python, "the Python that has torch");
  command->add_option("--seconds", a->budget, "time to spend on each problem")->capture_default_str();
  command->add_flag("--workers", a->workers, "time worker devices and a server beside in-process calls instead");
  command->add_flag("--json", a->json, "print the result as JSON");
  command->footer(
      "Examples:\n  tokitai bench --op softmax.forward --seconds 0.1\n"
      "  tokitai bench --problem \"gemm.forward m=500 n=500 k=500 type=f32\" --peer openblas --threads 1");
  command->callback([a, &exit_code] { report(run(*a), exit_code); });
}

}  // namespace tokitai::cli
