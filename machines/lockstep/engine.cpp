// Runs the threads of a launch in turn.
#include "machines/lockstep/engine.h"

#include <algorithm>
#include <stdexcept>

#include "machines/lockstep/state.h"
#include "machines/lockstep/words.h"

namespace tokitai::lockstep {

thread_local State* state __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constexpr std::int64_t kChunk = 1 << 20;  // accesses between two looks at the step limit
constexpr int kPreemptEvery = 24;         // accesses, on average
constexpr int kIdleRounds = 256;          // of nothing but spinning before it counts as a deadlock

void check(const Launch& launch) {
  const auto refuse = [&](const char* why) { throw std::invalid_argument(launch.name + ": " + why); };
  if (launch.grid < 1 || launch.block < 32 || launch.block % 32 != 0 || launch.block > 1024)
    refuse("a block has 32 to 1024 threads, a multiple of 32; a grid has a block");
  if (launch.cluster < 1 || launch.grid % launch.cluster != 0) refuse("the grid is no multiple of the cluster");
  if (launch.warp != 32 && launch.warp != 64) refuse("a warp has 32 or 64 threads");
  if (launch.shared_bytes < 0) refuse("shared memory is negative");
  if (static_cast<std::int64_t>(launch.grid) * launch.block > kMaxThreads) refuse("more than 2^24 threads");
}

// The launch in progress, and its end however it comes: threads that still wait are unwound.
struct InProgress {
  explicit InProgress(State& s) { state = &s; }
  InProgress(const InProgress&) = delete;
  InProgress& operator=(const InProgress&) = delete;
  ~InProgress() {
    for (Block& block : state->live)
      for (Thread& thread : block.threads) {
        state->thread = &thread;
        thread.fiber.abandon();
      }
    state->memory->now = state->now;
    state = nullptr;
  }
};

void run_thread(void*) {
  (*state->kernel)();
  // It could end before the launch in front of it, and whoever waits for it would take that for done.
  if (!state->thread->awaited)
    found(Finding::race, "the thread", "ends without await_earlier in a launch that may overlap the one before");
  check_ended();
}

// Makes the blocks first, first + 1, ... of the grid alive.
void begin(State& s, int first) {
  const Launch& launch = *s.launch;
  const std::uint32_t start = s.tick();
  for (auto& cluster : s.clusters) cluster = Cluster{};
  s.gated = s.fenced = false;
  s.readers.clear();
  s.listed.clear();
  for (std::size_t i = 0; i < s.live.size(); ++i) {
    Block& block = s.live[i];
    block.index = first + static_cast<int>(i);
    block.first_id = static_cast<std::uint32_t>(block.index * launch.block);
    block.cluster = &s.clusters[i / static_cast<std::size_t>(launch.cluster)];
    block.arrived = block.ended = 0;
    block.start = block.barrier = block.settled_shared = start;
    block.settled_global = launch.follows ? 1 : s.launch_start;  // what nobody touched has time 0
    block.awaited = 0;
    block.mailboxes.clear();
    block.mailed.clear();
    block.gates.clear();
    block.visitors.clear();
    block.settled_mail = start;
    block.fenced = block.acquired = false;
    block.everyone = 0;
    block.sealed.reset();
    block.known.clear();
    block.pending.clear();
    std::fill(block.groups.begin(), block.groups.end(), Group{});
    std::fill(block.warps.begin(), block.warps.end(), Warp{});
    for (int t = 0; t < launch.block; ++t) {
      Thread& thread = block.threads[static_cast<std::size_t>(t)];
      thread.id = block.first_id + static_cast<std::uint32_t>(t);
      thread.index = t;
      thread.block = &block;
      thread.group = &block.groups[static_cast<std::size_t>(t / 32)];
      thread.copies.clear();
      thread.commits = 0;
      thread.awaited = !launch.follows;
      thread.fenced = thread.fenced_block = thread.fenced_group = 0;
      thread.known.clear();
      thread.fenced_known.clear();
      thread.pending.clear();
      thread.clock.reset();
      thread.boxes.clear();
      thread.boxes_fenced = thread.boxes_sealed = 0;
      thread.products.clear();
      thread.held.clear();
      thread.multiply_commits = 0;
      thread.multiply_fenced = false;
      thread.fiber.start(run_thread, nullptr);
      s.wake(thread);
    }
  }
}

void step(State& s, Thread& thread) {
  s.thread = &thread;
  thread.at = At::running;
  thread.fiber.resume();
  if (thread.fiber.alive()) return;
  thread.at = At::ended;
  ++thread.block->ended;
  ++s.progress;
  Warp& warp = thread.block->warps[static_cast<std::size_t>(thread.index / s.launch->warp)];
  warp.ready &= ~(std::uint64_t{1} << thread.index % s.launch->warp);
}

int pick(State& s, std::uint64_t ready) {
  switch (s.schedule) {
    case Schedule::ascending: return __builtin_ctzll(ready);
    case Schedule::descending: return 63 - __builtin_clzll(ready);
    default: break;
  }
  const int turn = static_cast<int>(s.next_random() % 64);
  const std::uint64_t turned = turn == 0 ? ready : ready >> turn | ready << (64 - turn);
  return (__builtin_ctzll(turned) + turn) % 64;
}

template <class List> void put_in_order(State& s, List& list) {
  if (s.schedule == Schedule::descending) std::reverse(list.begin(), list.end());
  if (s.schedule == Schedule::random || s.schedule == Schedule::preempt)
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[s.next_random() % i]);
}

// Runs the live blocks to their end. A round gives every warp a turn, as long as one of its threads can go on.
void run_live(State& s) {
  std::vector<std::pair<Block*, std::size_t>> warps;
  for (Block& block : s.live)
    for (std::size_t w = 0; w < block.warps.size(); ++w) warps.emplace_back(&block, w);
  put_in_order(s, warps);
  const int threads = static_cast<int>(s.live.size()) * s.launch->block;
  int idle = 0;
  for (;;) {
    const std::int64_t before = s.progress;
    bool any = false;
    for (auto& [block, w] : warps) {
      Warp& warp = block->warps[w];
      while (const std::uint64_t ready = warp.ready & ~warp.resting) {
        any = true;
        const int lane = pick(s, ready);
        step(s, block->threads[w * static_cast<std::size_t>(s.launch->warp) + static_cast<std::size_t>(lane)]);
        if (s.stop) return;
      }
    }
    int ended = 0;
    for (Block& block : s.live) {
      ended += block.ended;
      for (Warp& warp : block.warps) warp.resting = 0;
    }
    if (ended == threads) return;
    idle = s.progress == before ? idle + 1 : 0;
    if (!any || idle > kIdleRounds) {
      found_stall(any);
      s.stop = true;
      return;
    }
    if (s.schedule == Schedule::random || s.schedule == Schedule::preempt) put_in_order(s, warps);
  }
}

}  // namespace

std::uint64_t State::next_random() {  // splitmix64
  std::uint64_t z = random += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void State::wake(Thread& woken) {
  ++progress;
  Warp& warp = woken.block->warps[static_cast<std::size_t>(woken.index / launch->warp)];
  warp.ready |= std::uint64_t{1} << woken.index % launch->warp;
  woken.at = At::running;
}

void State::wait(At at) {
  Thread& me = *thread;
  me.at = at;
  Warp& warp = me.block->warps[static_cast<std::size_t>(me.index / launch->warp)];
  warp.ready &= ~(std::uint64_t{1} << me.index % launch->warp);
  me.fiber.suspend();
}

void State::rest() {
  Thread& me = *thread;
  Warp& warp = me.block->warps[static_cast<std::size_t>(me.index / launch->warp)];
  warp.resting |= std::uint64_t{1} << me.index % launch->warp;
  me.fiber.suspend();
}

void State::rewind_countdown() {
  report->accesses += countdown_from - std::max<std::int64_t>(countdown, 0);
  countdown_from =
      schedule == Schedule::preempt ? 1 + static_cast<std::int64_t>(next_random() % (2 * kPreemptEvery)) : kChunk;
  countdown = countdown_from;
}

void State::look_up() {
  rewind_countdown();
  if (report->accesses >= launch->step_limit || now > 0xf0000000u) {
    ++report->count;
    report->findings.push_back({Finding::deadlock, launch->name + ": no end after " + std::to_string(report->accesses) +
                                                       " accesses, block " + std::to_string(thread->block->index) +
                                                       ", thread " + std::to_string(thread->index)});
    stop = true;
    thread->fiber.suspend();
  }
  if (schedule == Schedule::preempt) {
    ++progress;
    rest();
  }
}

int thread_index() { return state->thread->index; }
int block_index() { return state->thread->block->index; }
int grid_size() { return state->launch->grid; }
int cluster_rank() { return state->thread->block->index % state->launch->cluster; }
void wait_a_little() { state->rest(); }

Report run(const Launch& launch, Memory& memory, Schedule schedule, std::uint64_t seed,
           const std::function<void()>& kernel_thread) {
  check(launch);
  if (state != nullptr) throw std::logic_error("a kernel cannot launch another");
  Report report;
  State s;
  s.launch = &launch;
  s.memory = &memory;
  s.report = &report;
  s.schedule = schedule;
  s.kernel = &kernel_thread;
  s.random = seed;
  s.now = memory.now;
  s.launch_start = s.tick();
  s.rewind_countdown();

  s.live = std::vector<Block>(static_cast<std::size_t>(launch.cooperative ? launch.grid : launch.cluster));
  s.clusters.resize(s.live.size() / static_cast<std::size_t>(launch.cluster));
  for (Block& block : s.live) {
    block.threads = std::vector<Thread>(static_cast<std::size_t>(launch.block));
    block.groups.resize(static_cast<std::size_t>(launch.block / 32));
    block.warps.resize(static_cast<std::size_t>((launch.block + launch.warp - 1) / launch.warp));
    const auto bytes = static_cast<std::size_t>(launch.shared_bytes);
    block.shared = std::make_unique<unsigned char[]>(bytes);
    block.cells = make_cells(bytes);
  }
  std::vector<int> firsts(static_cast<std::size_t>(launch.grid) / s.live.size());
  for (std::size_t i = 0; i < firsts.size(); ++i) firsts[i] = static_cast<int>(i * s.live.size());
  put_in_order(s, firsts);

  {
    const InProgress in_progress(s);
    for (const int first : firsts) {
      begin(s, first);
      run_live(s);
      if (s.stop) break;
      check_visitors();
    }
  }
  s.rewind_countdown();
  return report;
}

}  // namespace tokitai::lockstep
