// Findings in words.
#include <algorithm>

#include "machines/lockstep/state.h"

namespace tokitai::lockstep {
namespace {

constexpr std::size_t kKept = 20;
constexpr int kKeptAlike = 4;  // of one sort in one kernel and operand

// Numbers as ranges: "0-31, 40".
std::string list(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (!text.empty()) text += ", ";
    if (text.size() > 60) return text + "...";
    text += std::to_string(numbers[i]);
    if (j > i) text.append("-").append(std::to_string(numbers[j]));
    i = j + 1;
  }
  return text;
}

// What each thread of a block waits for; empty if none waits.
std::string waiting(const Block& block) {
  std::string text;
  int sorts = 0;
  for (int at = 0; at <= static_cast<int>(At::ended); ++at) {
    std::vector<int> threads;
    for (const Thread& thread : block.threads)
      if (thread.at == static_cast<At>(at)) threads.push_back(thread.index);
    if (threads.empty()) continue;
    ++sorts;
    if (!text.empty()) text += "; ";
    text += (threads.size() > 1 ? "threads " : "thread ") + list(threads) + " " + name_of(static_cast<At>(at));
  }
  return sorts > 1 ? text : "";
}

void keep(Finding::Kind kind, std::string text) {
  if (state->report->findings.size() < kKept) state->report->findings.push_back({kind, std::move(text)});
}

}  // namespace

bool Report::has(Finding::Kind kind) const {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.kind == kind; });
}

const char* name_of(At at) {
  switch (at) {
    case At::running: return "running or spinning";
    case At::barrier: return "at barrier";
    case At::cluster_barrier: return "at cluster_barrier";
    case At::mail: return "at mailbox_await";
    case At::gate: return "at gate_await";
    case At::multiply_wait: return "at multiply_wait";
    case At::load_matrices: return "at ldmatrix";
    case At::multiply_bytes: return "at multiply_bytes";
    case At::warp_barrier: return "at warp_barrier";
    case At::shuffle: return "at shuffle";
    case At::shuffle_xor: return "at shuffle_xor";
    case At::shuffle_up: return "at shuffle_up";
    case At::ballot: return "at ballot";
    case At::ended: return "ended";
  }
  return "";
}

std::string place(const Allocation& range, std::int64_t offset) {
  const auto row = static_cast<std::int64_t>(range.named_row);
  if (row == static_cast<std::int64_t>(range.span) || offset < 0)
    return range.name + " byte " + std::to_string(offset) + " of " + std::to_string(range.span);
  return range.name + " row " + std::to_string(offset / row) + ", byte " + std::to_string(offset % row);
}

void found(Finding::Kind kind, const std::string& where, const std::string& what) {
  const State& s = *state;
  ++s.report->count;
  // One fault mostly repeats in every thread; leave room for the others.
  const std::string operand = where.substr(0, where.find(" byte"));
  const auto alike = std::count_if(s.report->findings.begin(), s.report->findings.end(), [&](const Finding& f) {
    return f.kind == kind && f.text.find(": " + operand) != std::string::npos;
  });
  if (alike >= kKeptAlike) return;
  keep(kind, s.launch->name + ", block " + std::to_string(s.thread->block->index) + ", thread " +
                 std::to_string(s.thread->index) + ": " + where + " " + what);
}

void as_proved(bool same) {
  if (!same) found(Finding::unproved, "an index", "is written out otherwise than the proved function says");
}

void found_race(const std::string& where, const char* does, Stamp other, const char* did) {
  if (time_of(other) < state->launch_start)
    return found(Finding::race, where,
                 std::string("is where it ") + does + " what an earlier launch " + did + ": await_earlier comes first");
  const auto block = static_cast<std::uint32_t>(state->launch->block);
  const bool listed = circle_of(other) == Circle::listed;
  const std::uint32_t first = listed ? state->readers[thread_of(other)].front().first * 32 : thread_of(other);
  std::string who = "thread " + std::to_string(first % block);
  if (first / block != static_cast<std::uint32_t>(state->thread->block->index))
    who += " of block " + std::to_string(first / block);
  if (circle_of(other) != Circle::thread) who += " (with others)";
  if ((other & kEngine) != 0)
    who = "the copy engine, for gate " + std::to_string(thread_of(other) % kMostGates) + " of block " +
          std::to_string(thread_of(other) / kMostGates) + ",";
  found(Finding::race, where, std::string("is where it ") + does + " what " + who + " " + did + ", in no order");
}

// The gates that threads wait at.
static std::string awaited_gates(const Block& block) {
  std::string text;
  for (const auto& [at, gate] : block.gates) {
    if (gate.waiting.empty() || text.size() > 200) continue;
    text += "; the gate at byte " + std::to_string(at) + " in phase " + std::to_string(gate.complete) + " lacks " +
            std::to_string(gate.pending) + " of " + std::to_string(gate.arrivals) + " arrivals and " +
            std::to_string(gate.missing) + " bytes";
  }
  return text;
}

void found_stall(bool idle) {
  State& s = *state;
  const bool at_gates = std::any_of(s.live.begin(), s.live.end(), [](const Block& block) {
    return std::any_of(block.threads.begin(), block.threads.end(), [](const Thread& t) { return t.at == At::gate; });
  });
  for (const Block& block : s.live) {
    const std::string text = waiting(block);
    const bool barrier = std::any_of(block.threads.begin(), block.threads.end(),
                                     [](const Thread& t) { return t.at != At::running && t.at != At::ended; });
    // A spinning thread keeps its own block at the next barrier: that is the deadlock, not divergence.
    const bool spins = idle && std::any_of(block.threads.begin(), block.threads.end(),
                                           [](const Thread& t) { return t.at == At::running; });
    if (text.empty() || !barrier || spins || at_gates) continue;
    ++s.report->count;
    keep(Finding::divergent_barrier, s.launch->name + ", block " + std::to_string(block.index) + ": " + text);
    return;
  }
  std::string text;
  for (const Block& block : s.live) {
    if (block.ended == s.launch->block || text.size() > 200) continue;
    std::string one = waiting(block);
    if (one.empty()) one = std::string("all threads ") + name_of(block.threads[0].at);
    text += (text.empty() ? "" : " | ") + std::string("block ") + std::to_string(block.index) + ": " + one +
            awaited_gates(block);
  }
  if (!s.launch->cooperative && s.launch->grid > static_cast<int>(s.live.size()))
    text += " | the launch is not cooperative: other blocks need not run meanwhile";
  ++s.report->count;
  keep(Finding::deadlock, s.launch->name + ": nobody can go on: " + text);
}

}  // namespace tokitai::lockstep
