// Kernels of several blocks: what orders the memory of one before another's, and what does not.
#include <gtest/gtest.h>

#include "machines/device/grid.h"
#include "machines/lockstep/engine.h"
#include "machines/lockstep/tests/kernels.h"

namespace tokitai::device {
namespace {

// --- Several blocks.
TEST(Lockstep, TwoBlocksWritingOneElementRace) {
  Buffer<float> y(1);
  expect_finding(
      {{.name = "twice", .grid = 2}, {y.output("y")}}, Finding::race,
      [&] {
        if (thread_index() == 0) y.at()[0] = 1.0f;
      },
      "of block");
}
TEST(Lockstep, OneBlocksThreadsAreOrderedByItsBarrierInGlobalMemoryToo) {
  Buffer<float> y(64);
  const auto kernel = [&](bool with_barrier) {
    const int first = block_index() * 32;
    y.at()[first + thread_index()] = 1.0f;
    if (with_barrier) barrier();
    y.at()[first + (thread_index() ^ 1)] = 2.0f;
  };
  const Problem problem{{.name = "swap", .grid = 2}, {y.output("y")}};
  expect_clean(problem, [&] { kernel(true); }, kNothing, [&] { return y.data[9] == 2.0f; });
  expect_finding(problem, Finding::race, [&] { kernel(false); });
}

struct Rounds {
  Buffer<float> x{4 * 64}, y{4 * 64};
  Buffer<u32> counter{1};
  Problem problem{{.name = "rounds", .grid = 4, .block = 64, .cooperative = true},
                  {x.output("x"), y.output("y"), counter.both("counter")}};
  void kernel(bool with_barrier, bool with_second) {
    const int i = block_index() * 64 + thread_index();
    x.at()[i] = static_cast<float>(i);
    if (with_barrier) grid_barrier(counter.at(), 1);
    y.at()[i] = x.at()[255 - i];
    if (with_second) grid_barrier(counter.at(), 2);
    x.at()[i] = 0.0f;
  }
  void reset() { counter.data[0] = 0; }
  bool right() const { return y.data[0] == 255.0f && y.data[255] == 0.0f && x.data[3] == 0.0f; }
};
TEST(Lockstep, GridBarrierOrdersAllBlocks) {
  Rounds s;
  expect_clean(s.problem, [&] { s.kernel(true, true); }, [&] { s.reset(); }, [&] { return s.right(); });
}
// Some blocks lower a flag, some after others are at the barrier already; behind it every thread may read it.
TEST(Lockstep, GridBarrierOrdersWhatSomeBlocksChangedAtomically) {
  Buffer<u64> flag(1);
  Buffer<u32> counter(1);
  const Problem problem{{.name = "lowered", .grid = 5, .block = 64, .cooperative = true},
                        {flag.both("flag"), counter.both("counter")}};
  const auto reset = [&] {
    flag.data[0] = ~u64{0};
    counter.data[0] = 0;
  };
  const auto kernel = [&](bool with_barrier) {
    if (block_index() % 2 == 0 && thread_index() % 40 == 7)
      atomic_min(flag.at(), static_cast<u64>(block_index() * 64 + thread_index()));
    if (with_barrier) grid_barrier(counter.at(), 1);
    if (flag.at()[0] != 7) wait_a_little();
  };
  expect_clean(problem, [&] { kernel(true); }, reset, [&] { return flag.data[0] == 7; });
  expect_finding(problem, Finding::race, [&] { kernel(false); }, "flag byte 0", reset);
}
TEST(Lockstep, MissingGridBarrierIsARace) {
  Rounds s;
  expect_finding(s.problem, Finding::race, [&] { s.kernel(true, false); }, "x byte", [&] { s.reset(); });
  s.reset();
  EXPECT_TRUE(run_once(s.problem, Schedule::ascending, [&] { s.kernel(false, false); }).has(Finding::race));
}
// Every block reads what every other wrote, round after round: sets of readers that a barrier of all must order.
struct Exchange {
  Buffer<u32> x{4 * 64}, y{4 * 64};
  Buffer<u32> counter{1};
  Problem problem{{.name = "exchange", .grid = 4, .block = 64, .cooperative = true},
                  {x.both("x"), y.output("y"), counter.both("counter")}};
  void kernel(u32 skipped) {
    const int i = block_index() * 64 + thread_index();
    u32 round = 0, barriers = 0;
    const auto meet = [&] {
      if (++round != skipped) grid_barrier(counter.at(), ++barriers);
    };
    for (u32 turn = 0; turn < 3; ++turn) {
      x.at()[i] = turn + static_cast<u32>(i);
      meet();
      u32 sum = 0;
      for (int b = 0; b < 4; ++b) sum += x.at()[b * 64 + 63 - thread_index()];
      y.at()[i] = sum;
      meet();
    }
  }
  void reset() { counter.data[0] = 0; }
};
TEST(Lockstep, RoundsOfGridBarriersAreSilent) {
  Exchange s;
  expect_clean(
      s.problem, [&] { s.kernel(0); }, [&] { s.reset(); },
      [&] { return s.y.data[0] == 4 * 65 + 64 * (0 + 1 + 2 + 3); });
}
TEST(Lockstep, ASkippedRoundIsARace) {
  Exchange s;
  for (u32 skipped = 1; skipped < 6; ++skipped)
    expect_finding(s.problem, Finding::race, [&] { s.kernel(skipped); }, "x byte", [&] { s.reset(); });
}
TEST(Lockstep, GridBarrierThatABlockSkipsIsADeadlock) {
  Rounds s;
  expect_finding(
      s.problem, Finding::deadlock,
      [&] {
        if (block_index() != 2) grid_barrier(s.counter.at(), 1);
      },
      "block 0: thread 0 running or spinning", [&] { s.reset(); });
}
TEST(Lockstep, GridBarrierNeedsACooperativeLaunch) {
  Rounds s;
  s.problem.launch.cooperative = false;
  expect_finding(
      s.problem, Finding::deadlock, [&] { grid_barrier(s.counter.at(), 1); }, "not cooperative", [&] { s.reset(); });
}
TEST(Lockstep, EndlessLoopEnds) {
  Buffer<u32> x(1);
  Problem problem{{.name = "endless"}, {x.input("x")}};
  problem.launch.step_limit = 100000;
  expect_finding(
      problem, Finding::deadlock,
      [&] {
        while (static_cast<u32>(x.at()[0]) == 0) {}
      },
      "no end");
}

// --- Atomics and tickets.
TEST(Lockstep, AtomicsOfAllThreadsAreSilent) {
  Buffer<u64> flag(1);
  Buffer<u32> count(1);
  expect_clean(
      {{.name = "flag", .grid = 3, .block = 64}, {flag.both("flag"), count.both("count")}},
      [&] {
        atomic_min(flag.at(), 100 + static_cast<u64>(block_index()) * 64 + static_cast<u64>(thread_index()));
        atomic_add(count.at(), 1);
      },
      [&] {
        flag.data[0] = ~u64{0};
        count.data[0] = 0;
      },
      [&] { return flag.data[0] == 100 && count.data[0] == 192; });
}
TEST(Lockstep, APlainReadRacesWithAtomics) {
  Buffer<u64> flag(1);
  Buffer<u64> y(64);
  expect_finding({{.name = "peek", .grid = 2}, {flag.both("flag"), y.output("y")}}, Finding::race, [&] {
    atomic_min(flag.at(), 5);
    y.at()[block_index() * 32 + thread_index()] = flag.at()[0];
  });
}

// The last block to arrive adds up what all have written.
struct Ticket {
  Buffer<float> parts{4 * 64}, y{1};
  Buffer<u32> counter{1};
  Problem problem{{.name = "ticket", .grid = 4, .block = 64, .shared_bytes = 4},
                  {parts.output("parts"), y.output("y"), counter.both("counter")}};
  enum Fences { everybody, one, none, no_acquire };
  void kernel(Fences fences) {
    parts.at()[block_index() * 64 + thread_index()] = 1.0f;
    if (fences == everybody || fences == no_acquire) fence();
    barrier();
    const Shared<u32> last = shared<u32>(0);
    if (thread_index() == 0) {
      if (fences == one) fence();
      last[0] = atomic_add(counter.at(), 1) == 3;
      if (fences == one) fence();
    }
    barrier();
    if (last[0] == 0) return;
    if (fences == everybody) fence();
    float v = 0.0f;
    for (int b = 0; b < 4; ++b) v += parts.at()[b * 64 + thread_index()];
    for (int mask = 1; mask < 32; mask *= 2) v += shuffle_xor(v, mask);
    if (thread_index() == 0) y.at()[0] = v;
  }
};
TEST(Lockstep, LastBlockMayReadWhatWasFencedAndCounted) {
  for (const bool cooperative : {false, true})
    for (const auto fences : {Ticket::everybody, Ticket::one}) {
      Ticket s;
      s.problem.launch.cooperative = cooperative;
      expect_clean(
          s.problem, [&] { s.kernel(fences); }, [&] { s.counter.data[0] = 0; }, [&] { return s.y.data[0] == 128.0f; });
    }
}
TEST(Lockstep, TicketWithoutFenceIsARace) {
  Ticket s;
  for (const auto fences : {Ticket::none, Ticket::no_acquire})
    expect_finding(s.problem, Finding::race, [&] { s.kernel(fences); }, "parts byte", [&] { s.counter.data[0] = 0; });
}
TEST(Lockstep, WhatFollowsTheFenceIsNotAnnounced) {
  Ticket s;
  expect_finding(
      s.problem, Finding::race,
      [&] {
        if (thread_index() != 0) return;
        fence();
        s.parts.at()[block_index()] = 1.0f;
        if (atomic_add(s.counter.at(), 1) != 3) return;
        fence();
        for (int b = 0; b < 4; ++b) s.y.at()[0] = s.parts.at()[b];
      },
      "parts byte", [&] { s.counter.data[0] = 0; });
}
TEST(Lockstep, ConstantsMayNotChangeDuringTheLaunch) {
  Buffer<u32> x(32), y(32);
  expect_finding({{.name = "constant"}, {x.both("x"), y.output("y")}}, Finding::race, [&] {
    y.at()[thread_index()] = load_constant(x.at(), thread_index());
    x.at()[thread_index()] = 1;
  });
}

// --- Launches that may overlap the one before.
TEST(Lockstep, AwaitEarlierOrdersTheLaunchBefore) {
  for (const bool waits : {true, false}) {
    Buffer<float> x(32), y(32);
    Memory memory;
    memory.add(x.output("x"));
    memory.add(y.output("y"));
    const Launch first{.name = "first"}, second{.name = "second", .follows = true};
    EXPECT_TRUE(lockstep::run(first, memory, Schedule::random, 1, [&] { x.at()[thread_index()] = 1.0f; }).clean());
    const Report report = lockstep::run(second, memory, Schedule::random, 1, [&] {
      if (waits) await_earlier();
      y.at()[thread_index()] = x.at()[31 - thread_index()];
      await_earlier();
    });
    EXPECT_EQ(report.clean(), waits) << words(report);
    EXPECT_EQ(words(report).find("an earlier launch wrote") == std::string::npos, waits) << words(report);
  }
}
TEST(Lockstep, OneThreadAwaitsForItsBlockBeforeABarrier) {
  Buffer<float> x(64), y(64);
  Memory memory;
  memory.add(x.output("x"));
  memory.add(y.output("y"));
  const Launch first{.name = "first", .block = 64}, second{.name = "second", .block = 64, .follows = true};
  EXPECT_TRUE(lockstep::run(first, memory, Schedule::random, 1, [&] { x.at()[thread_index()] = 1.0f; }).clean());
  const Report report = lockstep::run(second, memory, Schedule::random, 1, [&] {
    if (thread_index() == 0) await_earlier();
    barrier();
    y.at()[thread_index()] = x.at()[63 - thread_index()];
  });
  EXPECT_TRUE(report.clean()) << words(report);
}
TEST(Lockstep, ALaunchThatMayOverlapAwaitsBeforeItEnds) {
  expect_finding({{.name = "hasty", .follows = true}, {}}, Finding::race, [] {}, "ends without await_earlier");
}

// --- Clusters.
struct Spread {
  Buffer<float> y{4 * 2};
  Problem problem{{.name = "cluster", .grid = 4, .block = 32, .cluster = 2, .shared_bytes = 8}, {y.output("y")}};
  void kernel(bool begins, bool ends) {
    const Shared<float> box = shared<float>(0);
    if (begins) cluster_barrier();
    if (thread_index() < 2) cluster_store(box + cluster_rank(), thread_index(), static_cast<float>(block_index()));
    if (ends)
      cluster_barrier();
    else
      barrier();
    if (thread_index() < 2) y.at()[block_index() * 2 + thread_index()] = box[thread_index()];
  }
};
TEST(Lockstep, ClusterBarrierOrdersStoresToOtherBlocks) {
  for (const bool cooperative : {false, true}) {
    Spread s;
    s.problem.launch.cooperative = cooperative;
    expect_clean(
        s.problem, [&] { s.kernel(true, true); }, kNothing,
        [&] { return s.y.data == std::vector<float>{0, 1, 0, 1, 2, 3, 2, 3}; });
  }
}
// A row that the blocks of a cluster share is read by all of them, and then written over.
TEST(Lockstep, ClusterBarrierOrdersWhatSeveralBlocksReadBeforeAWrite) {
  Buffer<u32> x(2);
  const Problem problem{{.name = "shared row", .grid = 4, .block = 64, .cluster = 2}, {x.both("x")}};
  const auto kernel = [&](bool meets) {
    const int place = block_index() / 2;
    const u32 v = x.at()[place];
    if (meets)
      cluster_barrier();
    else
      barrier();
    if (cluster_rank() == 1 && thread_index() == 0) x.at()[place] = v + 1;
  };
  expect_clean(
      problem, [&] { kernel(true); }, [&] { x.data = {5, 6}; }, [&] { return x.data == std::vector<u32>{6, 7}; });
  expect_finding(problem, Finding::race, [&] { kernel(false); }, "x byte");
}
struct Mail {
  Buffer<float> y{4 * 2};
  Problem problem{{.name = "mail", .grid = 4, .block = 32, .cluster = 2, .shared_bytes = 32}, {y.output("y")}};
  void kernel(bool opens, int bytes, u32 parity) {
    if (opens && thread_index() < 2) mailbox_open(shared<u64>(thread_index() * 8));
    cluster_barrier();
    exchange(0, bytes, parity);
  }
  void exchange(int which, int bytes, u32 parity) {
    const Mailbox mailbox = shared<u64>(which * 8);
    const Shared<float> box = shared<float>(16 + which * 8);
    const float v = static_cast<float>(block_index());
    if (thread_index() < 2) mailbox_send(mailbox, box + cluster_rank(), thread_index(), v);
    if (thread_index() == 0) mailbox_expect(mailbox, bytes);
    mailbox_await(mailbox, parity);
    if (thread_index() < 2) y.at()[block_index() * 2 + thread_index()] = box[thread_index()];
  }
};
TEST(Lockstep, MailboxOrdersWhatIsSentToIt) {
  Mail s;
  expect_clean(
      s.problem, [&] { s.kernel(true, 8, 0); }, kNothing,
      [&] { return s.y.data == std::vector<float>{0, 1, 0, 1, 2, 3, 2, 3}; });
}
TEST(Lockstep, MailboxThatCountsWronglyIsFound) {
  Mail s;
  expect_finding(s.problem, Finding::deadlock, [&] { s.kernel(true, 12, 0); }, "4 bytes that nobody sends");
  expect_finding(s.problem, Finding::deadlock, [&] { s.kernel(true, 8, 1); }, "the wrong phase");
  expect_finding(s.problem, Finding::uninitialised, [&] { s.kernel(false, 8, 0); }, "is not open");
  for (const Schedule schedule : kSchedules)
    EXPECT_FALSE(run_once(s.problem, schedule, [&] { s.kernel(true, 4, 0); }).clean());
}
// What a block reads of global memory before it sends is not ordered before what another writes after it has waited.
TEST(Lockstep, MailboxOrdersNoOtherMemory) {
  Buffer<u32> x(2);
  Mail s;
  const Problem problem{{.name = "mail", .grid = 4, .block = 32, .cluster = 2, .shared_bytes = 32},
                        {x.both("x"), s.y.output("y")}};
  const auto kernel = [&](bool meets) {
    s.kernel(true, 8, 0);
    const u32 v = x.at()[block_index() / 2];
    s.exchange(1, 8, 0);
    if (meets) cluster_barrier();
    if (cluster_rank() == 1 && thread_index() == 0) x.at()[block_index() / 2] = v + 1;
  };
  expect_clean(
      problem, [&] { kernel(true); }, [&] { x.data = {5, 6}; }, [&] { return x.data == std::vector<u32>{6, 7}; });
  expect_finding(problem, Finding::race, [&] { kernel(false); }, "x byte");
}
TEST(Lockstep, MissingClusterBarrierIsFound) {
  Spread s;
  for (const Schedule schedule : kSchedules) {
    const Report report = run_once(s.problem, schedule, [&] { s.kernel(true, false); });
    EXPECT_FALSE(report.clean());
  }
  expect_finding(s.problem, Finding::race, [&] { s.kernel(false, true); }, "may not have started");
}

}  // namespace
}  // namespace tokitai::device
