// Gates count arrivals and bytes as the barrier objects of a GPU do, and order the threads of a cluster one by one:
// an arrival releases what its thread knows, whoever passes acquires what all that arrived knew. An arrival speaks for
// its group of 32, and for its block, only up to their last barrier.
#include <algorithm>

#include "machines/lockstep/pass.h"
#include "machines/lockstep/words.h"

namespace tokitai::lockstep {
namespace {

std::string place(std::int64_t at) { return "the gate at shared memory byte " + std::to_string(at); }

Block* first_of_cluster() {
  Block* mine = state->thread->block;
  return mine - mine->index % state->launch->cluster;
}
std::size_t index_in_cluster(std::uint32_t thread) { return thread - first_of_cluster()->first_id; }

Gate* find_gate(Block& block, std::int64_t at, const char* does) {
  const auto found_at = block.gates.find(at);
  if (found_at == block.gates.end()) {
    found(Finding::uninitialised, place(at), std::string("is not open where a thread ") + does);
    return nullptr;
  }
  Gate& gate = found_at->second;
  if (!state->ordered(gate.opened, nullptr) || !gate.told)
    found(Finding::race, place(at),
          std::string("may not be open yet where a thread ") + does + ": gates_opened and a barrier come first");
  return &gate;
}

std::size_t threads_of_cluster() { return static_cast<std::size_t>(state->launch->block * state->launch->cluster); }
// Where a clock has a gate.
std::size_t index_of_gate(std::uint32_t number) {
  return threads_of_cluster() + number - static_cast<std::size_t>(first_of_cluster()->index) * kMostGates;
}
std::vector<std::uint32_t> times_of(const Clock& known) {
  if (known) return *known;
  return std::vector<std::uint32_t>(threads_of_cluster() +
                                    static_cast<std::size_t>(state->launch->cluster * kMostGates));
}
void raise(std::vector<std::uint32_t>& times, std::size_t first, std::size_t count, std::uint32_t to) {
  for (std::size_t i = first; i < first + count; ++i) times[i] = std::max(times[i], to);
}

// What the current thread tells by an arrival.
Clock told() {
  const Thread& me = *state->thread;
  const auto threads = static_cast<std::size_t>(state->launch->block);
  std::vector<std::uint32_t> times = times_of(me.clock);
  const std::size_t self = index_in_cluster(me.id);
  raise(times, 0, threads_of_cluster(), me.block->cluster->barrier);
  raise(times, self / threads * threads, threads, me.block->barrier);
  raise(times, self / 32 * 32, 32, me.group->barrier);
  times[self] = state->tick();
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(times));
}

void settle(Gate& gate) {
  if (gate.pending != 0 || gate.missing != 0) return;
  ++gate.complete;
  gate.pending = gate.arrivals;
  gate.released = join(gate.released, gate.gathered);
  gate.from = gate.to = nullptr;
  for (Thread* thread : gate.waiting) state->wake(*thread);
  gate.waiting.clear();
}

void arrive(Gate& gate, std::int64_t at) {
  ++state->progress;
  if (gate.pending == 0) {
    found(Finding::race, place(at), "gets more than its " + std::to_string(gate.arrivals) + " arrivals in a phase");
    return;
  }
  gate.gathered = join(gate.gathered, told());
  --gate.pending;
  settle(gate);
}

}  // namespace

Clock join(const Clock& a, const Clock& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  std::vector<std::uint32_t> times = *a;
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::max(times[i], (*b)[i]);
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(times));
}

bool State::ordered_by_gates(Stamp earlier) const {
  if (!thread->clock) return false;
  const std::vector<std::uint32_t>& known = *thread->clock;
  const auto threads = static_cast<std::size_t>(launch->block);
  if ((earlier & kEngine) != 0) {
    const std::size_t gate = index_of_gate(thread_of(earlier));
    return gate < known.size() && time_of(earlier) < known[gate];
  }
  const std::size_t index = index_in_cluster(thread_of(earlier));
  if (index >= threads_of_cluster()) return false;
  std::size_t first = index, count = 1;
  switch (circle_of(earlier)) {
    case Circle::thread: break;
    case Circle::group: first = index / 32 * 32, count = 32; break;
    case Circle::block: first = index / threads * threads, count = threads; break;
    default: first = 0, count = threads_of_cluster();
  }
  return std::all_of(known.begin() + static_cast<std::ptrdiff_t>(first),
                     known.begin() + static_cast<std::ptrdiff_t>(first + count),
                     [&](std::uint32_t until) { return time_of(earlier) < until; });
}

bool State::ordered_readers(Stamp earlier) const {
  if (asked == std::pair{earlier, stamp()}) return answered;
  const Block& mine = *thread->block;
  const std::uint32_t own = thread->id / 32;
  const auto groups = static_cast<std::uint32_t>(launch->block / 32);
  const auto& all = readers[thread_of(earlier)];
  asked = {earlier, stamp()};
  answered = std::all_of(all.begin(), all.end(), [&](const auto& group) {
    const auto [number, time] = group;
    return (number == own && time < thread->group->barrier) ||
           (number / groups == own / groups && time < mine.barrier) || time < mine.cluster->barrier ||
           ordered_by_gates(make_stamp(time, number * 32) | static_cast<Stamp>(Circle::group));
  });
  return answered;
}

Stamp readers_with(Stamp touched, Stamp mine) {
  State& s = *state;
  const auto [known, fresh] = s.listed.try_emplace({touched, mine});
  if (!fresh) return known->second;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
  if (circle_of(touched) == Circle::listed)
    all = s.readers[thread_of(touched)];
  else
    all.emplace_back(thread_of(touched) / 32, time_of(touched));
  const std::uint32_t own = thread_of(mine) / 32;
  const auto group = std::find_if(all.begin(), all.end(), [&](const auto& g) { return g.first == own; });
  if (group == all.end())
    all.emplace_back(own, time_of(mine));
  else
    group->second = time_of(mine);
  s.readers.push_back(std::move(all));
  known->second =
      make_stamp(time_of(mine), static_cast<std::uint32_t>(s.readers.size() - 1)) | static_cast<Stamp>(Circle::listed);
  return known->second;
}

bool visit(Block& block, std::int64_t at, const char* does) {
  State& s = *state;
  Block& mine = *s.thread->block;
  if (&block == &mine) return true;
  if (block.ended == s.launch->block) {
    found(Finding::out_of_bounds, shared_place(at, block), std::string(does) + ", but that block has ended");
    return false;
  }
  if (!mine.cluster->met)
    found(Finding::race, shared_place(at, block),
          std::string(does) + " before any cluster_barrier: that block may not have started");
  block.visitors[s.thread->id] = s.now;
  return true;
}

void check_visitors() {
  State& s = *state;
  for (Block& block : s.live)
    for (const auto& [visitor, time] : block.visitors) {
      s.thread = &block.threads.front();
      const std::size_t index = index_in_cluster(visitor);
      if (time < block.cluster->barrier) continue;
      if (std::any_of(block.threads.begin(), block.threads.end(),
                      [&](const Thread& t) { return t.clock && time < (*t.clock)[index]; }))
        continue;
      found(Finding::race, "the block",
            "may end before thread " + std::to_string(visitor % static_cast<std::uint32_t>(s.launch->block)) +
                " of block " + std::to_string(visitor / static_cast<std::uint32_t>(s.launch->block)) +
                " comes to its shared memory: cluster_barrier comes first");
    }
}

Stamp brought_to(const Block& block, std::int64_t gate) {
  const auto at = block.gates.find(gate);
  return make_stamp(state->now, at == block.gates.end() ? kMaxThreads - 1 : at->second.number) | kEngine;
}

void bytes_arrive(Block& block, std::int64_t at, std::int64_t bytes) {
  Gate* gate = find_gate(block, at, "has a box brought");
  if (gate == nullptr) return;
  std::vector<std::uint32_t> times = times_of(nullptr);
  times[index_of_gate(gate->number)] = state->tick();
  gate->gathered = join(gate->gathered, std::make_shared<const std::vector<std::uint32_t>>(std::move(times)));
  gate->missing -= bytes;
  ++state->progress;
  settle(*gate);
}

void gate_open(std::int64_t at, int arrivals) {
  State& s = *state;
  Block& block = *s.thread->block;
  if (locate_shared(block, at, 8, 8) == nullptr) return;
  if (block.gates.contains(at)) found(Finding::race, place(at), "is opened twice");
  if (block.gates.size() == kMostGates) {
    found(Finding::out_of_bounds, place(at),
          "is one more than the " + std::to_string(kMostGates) + " that are counted");
    return;
  }
  s.gated = true;
  const auto number =
      static_cast<std::uint32_t>(block.index * kMostGates) + static_cast<std::uint32_t>(block.gates.size());
  Gate& gate = block.gates[at] = Gate{};
  gate.opened = s.stamp();
  gate.number = number;
  gate.arrivals = gate.pending = arrivals;
}
void gates_opened() {
  for (auto& [at, gate] : state->thread->block->gates) gate.told |= thread_of(gate.opened) == state->thread->id;
}

void gate_expect(std::int64_t at, int bytes) {
  count_access();
  Gate* gate = find_gate(*state->thread->block, at, "says what will come");
  if (gate == nullptr) return;
  gate->missing += bytes;
  arrive(*gate, at);
}

void gate_arrive(std::int64_t at, int rank) {
  State& s = *state;
  count_access();
  if (rank != kOwnRank && (rank < 0 || rank >= s.launch->cluster)) {
    found(Finding::out_of_bounds, "rank " + std::to_string(rank),
          "lies outside the cluster of " + std::to_string(s.launch->cluster));
    return;
  }
  Block& block = rank == kOwnRank ? *s.thread->block : first_of_cluster()[rank];
  if (!visit(block, at, "is where a thread arrives")) return;
  if (Gate* gate = find_gate(block, at, "arrives"); gate != nullptr) arrive(*gate, at);
}

void gate_await(std::int64_t at, std::uint32_t parity) {
  State& s = *state;
  count_access();
  Thread& me = *s.thread;
  Gate* gate = find_gate(*me.block, at, "waits");
  if (gate == nullptr) return;
  while (gate->complete % 2 == parity) {
    gate->waiting.push_back(&me);
    s.wait(At::gate);
  }
  s.tick();
  if (!gate->to || gate->from != me.clock) {
    gate->from = me.clock;
    gate->to = join(me.clock, gate->released);
  }
  me.clock = gate->to;
}

}  // namespace tokitai::lockstep
