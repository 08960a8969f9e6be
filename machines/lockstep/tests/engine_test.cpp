// Small kernels in the words of the device, each right or wrong in one way. The engine must be silent about the
// right ones under every schedule and name the fault of the others. Here: what happens within a block.
#include "machines/lockstep/engine.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <stdexcept>

#include "machines/lockstep/tests/kernels.h"

namespace tokitai::device {
namespace {

// --- A block's sum by shuffles and a box in shared memory.
void block_sum(Global<const float> x, Global<float> y, bool with_barrier) {
  const int t = thread_index();
  float v = x[block_index() * 256 + t];
  for (int mask = 1; mask < 32; mask *= 2) v += shuffle_xor(v, mask);
  const Shared<float> box = shared<float>(0);
  if (t % 32 == 0) box[t / 32] = v;
  if (with_barrier) barrier();
  if (t == 0) {
    float total = 0.0f;
    for (int g = 0; g < 8; ++g) total += box[g];
    y[block_index()] = total;
  }
}

struct Sum {
  Buffer<float> x{1024}, y{4};
  Problem problem{{.name = "sum", .grid = 4, .block = 256, .shared_bytes = 32}, {x.input("x"), y.output("y")}};
  Sum() { std::iota(x.data.begin(), x.data.end(), 0.0f); }
};

TEST(Lockstep, ReductionIsSilentAndRight) {
  Sum s;
  expect_clean(
      s.problem, [&] { block_sum(s.x.at(), s.y.at(), true); }, [&] { s.y.data.assign(4, -1.0f); },
      [&] { return s.y.data == std::vector<float>{32640, 98176, 163712, 229248}; });
}
TEST(Lockstep, MissingBarrierIsARace) {
  Sum s;
  for (const Schedule schedule : kSchedules) {
    // Read too early it was never written, written too late it was read: the schedule decides which is seen.
    const Report report = run_once(s.problem, schedule, [&] { block_sum(s.x.at(), s.y.at(), false); });
    EXPECT_TRUE(report.has(Finding::race)) << words(report);
    EXPECT_NE(words(report).find("shared memory byte"), std::string::npos) << words(report);
  }
}
TEST(Lockstep, BarrierOfAGroupOrdersOnlyTheGroup) {
  Buffer<u32> y(64);
  const auto kernel = [&](int partner) {
    const Shared<u32> box = shared<u32>(0);
    box[thread_index()] = static_cast<u32>(thread_index());
    warp_barrier();
    y.at()[thread_index()] = box[thread_index() ^ partner];
  };
  const Problem problem{{.name = "mates", .block = 64, .shared_bytes = 256}, {y.output("y")}};
  expect_clean(problem, [&] { kernel(1); }, kNothing, [&] { return y.data[0] == 1 && y.data[63] == 62; });
  for (const Schedule schedule : kSchedules)
    EXPECT_TRUE(run_once(problem, schedule, [&] { kernel(32); }).has(Finding::race));
}
TEST(Lockstep, ShuffleOrdersNoMemory) {
  Buffer<u32> y(32);
  expect_finding({{.name = "shuffled", .shared_bytes = 128}, {y.output("y")}}, Finding::race, [&] {
    const Shared<u32> box = shared<u32>(0);
    box[thread_index()] = 1;
    shuffle(0u, 0);
    y.at()[thread_index()] = box[thread_index() ^ 1];
  });
}
TEST(Lockstep, ExchangesGiveWhatADeviceGives) {
  Buffer<u32> y(64 * 4);
  const Problem problem{{.name = "exchange", .block = 64}, {y.output("y")}};
  expect_clean(
      problem,
      [&] {
        const auto t = static_cast<u32>(thread_index());
        y.at()[4 * t] = shuffle(t, 5);
        y.at()[4 * t + 1] = shuffle_up(t, 3);
        y.at()[4 * t + 2] = shuffle_xor(t, 17);
        y.at()[4 * t + 3] = ballot(t % 3 == 0);
      },
      kNothing,
      [&] {
        u32 third[2] = {0, 0};
        for (u32 t = 0; t < 64; ++t) third[t / 32] |= static_cast<u32>(t % 3 == 0) << t % 32;
        for (u32 t = 0; t < 64; ++t) {
          const u32* got = &y.data[4 * t];
          if (got[0] != t / 32 * 32 + 5 || got[1] != (t % 32 < 3 ? t : t - 3)) return false;
          if (got[2] != (t ^ 17u) || got[3] != third[t / 32]) return false;
        }
        return true;
      });
}

// --- Bounds.
TEST(Lockstep, WrongIndexIsOutOfBounds) {
  Buffer<float> x(64), y(64, 5.0f);
  expect_finding(
      {{.name = "shift", .block = 64}, {x.input("x"), y.output("y")}}, Finding::out_of_bounds,
      [&] { y.at()[thread_index()] = x.at()[thread_index() + 1]; }, "block 0, thread 63: x byte 256");
  EXPECT_EQ(y.data[63], 0.0f) << "a read out of bounds gives zero";
}
TEST(Lockstep, UnguardedTailIsOutOfBoundsAndWritesNothing) {
  Buffer<float> y(64, 5.0f);
  lockstep::Range range = y.output("y");
  range.row_bytes = 60 * 4;
  expect_finding(
      {{.name = "tail", .block = 64}, {range}}, Finding::out_of_bounds, [&] { y.at()[thread_index()] = 1.0f; },
      "y byte 240");
  EXPECT_EQ(y.data[59], 1.0f);
  EXPECT_EQ(y.data[60], 5.0f);
}
TEST(Lockstep, PaddingBetweenRowsIsOutOfBounds) {
  Buffer<u16> x(4 * 40);
  const lockstep::Range rows{x.data.data(), 4, 64, 80, true, true, "x"};
  const auto kernel = [&](int cols) {
    for (int row = 0; row < 4; ++row)
      if (thread_index() < cols) x.at()[row * 40 + thread_index()] = 1;
  };
  expect_clean({{.name = "rows", .block = 64}, {rows}}, [&] { kernel(32); }, kNothing, [] { return true; });
  expect_finding(
      {{.name = "rows", .block = 64}, {rows}}, Finding::out_of_bounds, [&] { kernel(33); }, "row 2, byte 64");
}
TEST(Lockstep, APointerMayNotReachItsNeighbour) {
  Buffer<u32> both(64);
  const lockstep::Range first{both.data.data(), 1, 128, 128, true, false, "first"};
  const lockstep::Range second{both.data.data() + 32, 1, 128, 128, true, false, "second"};
  expect_finding(
      {{.name = "neighbour"}, {first, second}}, Finding::out_of_bounds,
      [&] { static_cast<void>(static_cast<u32>(both.at()[thread_index() + 1])); }, "first byte 128");
}
TEST(Lockstep, SharedMemoryEndsWhereItWasDeclared) {
  expect_finding(
      {{.name = "box", .shared_bytes = 124}, {}}, Finding::out_of_bounds, [] { shared<u32>(0)[thread_index()] = 1; },
      "shared memory byte 124");
}
TEST(Lockstep, MisalignedVectorIsFound) {
  Buffer<Words<4>> x(9);
  Buffer<Words<4>> y(8);
  expect_finding({{.name = "vectors"}, {x.input("x"), y.output("y")}}, Finding::misaligned, [&] {
    if (thread_index() >= 8) return;
    const Words<4> w = *cast<const Words<4>>(cast<const u32>(x.at()) + (4 * thread_index() + 1));
    y.at()[thread_index()] = w;
  });
}
TEST(Lockstep, InputsMayNotBeWritten) {
  Buffer<float> x(32, 2.0f);
  expect_finding(
      {{.name = "scribble"}, {x.input("x")}}, Finding::read_only, [&] { x.at()[thread_index()] = 1.0f; }, "x byte");
  EXPECT_EQ(x.data[0], 2.0f);
}

// --- What was never written.
TEST(Lockstep, SharedMemoryStartsUnwrittenInEveryBlock) {
  Buffer<float> y(64);
  expect_finding(
      {{.name = "unwritten", .grid = 2, .shared_bytes = 128}, {y.output("y")}}, Finding::uninitialised,
      [&] {
        const Shared<float> box = shared<float>(0);
        if (block_index() == 0) box[thread_index()] = 1.0f;
        barrier();
        y.at()[block_index() * 32 + thread_index()] = box[thread_index()];
      },
      "block 1");
}
TEST(Lockstep, OutputsMayBeReadOnlyOnceWritten) {
  Buffer<float> y(32);
  const Problem problem{{.name = "late"}, {y.output("y")}};
  expect_clean(
      problem,
      [&] {
        y.at()[thread_index()] = 1.0f;
        y.at()[thread_index()] += 1.0f;
      },
      kNothing, [&] { return y.data[31] == 2.0f; });
  expect_finding(problem, Finding::uninitialised, [&] { y.at()[thread_index()] += 1.0f; });
}
TEST(Lockstep, ALaterLaunchSeesWhatAnEarlierOneWrote) {
  Buffer<float> space(64), y(64);
  for (const Schedule schedule : kSchedules) {
    Memory memory;
    memory.add(space.output("workspace"));
    memory.add(y.output("y"));
    const Launch launch{.name = "part", .grid = 2};
    const Report first = lockstep::run(launch, memory, schedule, 1, [&] {
      const int i = block_index() * 32 + thread_index();
      space.at()[i] = static_cast<float>(i);
    });
    const Report second = lockstep::run(launch, memory, schedule, 1, [&] {
      const int i = block_index() * 32 + thread_index();
      y.at()[i] = space.at()[63 - i];
    });
    EXPECT_TRUE(first.clean() && second.clean()) << words(first) << words(second);
    EXPECT_EQ(y.data[0], 63.0f);
    EXPECT_EQ(second.accesses, 128);
  }
}

// --- Barriers that not everybody reaches.
TEST(Lockstep, BarrierInDivergentCodeIsFound) {
  expect_finding(
      {{.name = "half", .block = 64}, {}}, Finding::divergent_barrier,
      [] {
        if (thread_index() < 40) barrier();
      },
      "block 0: threads 0-39 at barrier; threads 40-63 ended");
}
TEST(Lockstep, BarriersOfDifferentPlacesMeet) {
  expect_clean(
      {{.name = "places", .block = 64}, {}},
      [] {
        if (thread_index() < 40)
          barrier();
        else
          barrier();
      },
      kNothing, [] { return true; });
}
TEST(Lockstep, ExchangeByPartOfAGroupIsFound) {
  expect_finding(
      {{.name = "some"}, {}}, Finding::divergent_barrier,
      [] {
        if (thread_index() != 7) shuffle(1u, 0);
      },
      "thread 7 ended");
  expect_finding(
      {{.name = "mixed"}, {}}, Finding::divergent_barrier,
      [] {
        if (thread_index() < 16)
          shuffle(1u, 0);
        else
          ballot(true);
      },
      "threads 16-31 at ballot");
  expect_finding({{.name = "kinds", .block = 64}, {}}, Finding::divergent_barrier, [] {
    if (thread_index() < 32)
      barrier();
    else
      cluster_barrier();
  });
}
TEST(Lockstep, LanesEndAt31) {
  expect_finding({{.name = "lane"}, {}}, Finding::out_of_bounds, [] { shuffle_xor(1u, 32); }, "lane 32");
}

// --- Schedules.
TEST(Lockstep, ResultsThatDependOnTheOrderAreSeen) {
  Buffer<u32> order(128), count(1);
  std::set<std::vector<u32>> results;
  for (const Schedule schedule : kSchedules) {
    count.data[0] = 0;
    const Problem problem{{.name = "order", .grid = 2, .block = 64}, {order.output("order"), count.both("count")}};
    const Report report = run_once(problem, schedule, [&] {
      order.at()[atomic_add(count.at(), 1)] = static_cast<u32>(block_index() * 64 + thread_index());
    });
    EXPECT_TRUE(report.clean()) << words(report);
    results.insert(order.data);
  }
  EXPECT_EQ(results.size(), 4u);
}
TEST(Lockstep, PreemptionInterleavesAccesses) {
  // Clean in every schedule that runs a thread until it waits, but for the race that is reported.
  Buffer<u32> x(1);
  const Problem problem{{.name = "lost", .block = 64}, {x.both("x")}};
  std::set<u32> results;
  for (const Schedule schedule : {Schedule::ascending, Schedule::preempt}) {
    x.data[0] = 0;
    EXPECT_TRUE(run_once(problem, schedule, [&] {
                  for (int i = 0; i < 100; ++i) x.at()[0] += 1;
                }).has(Finding::race));
    results.insert(x.data[0]);
  }
  EXPECT_TRUE(results.count(6400) == 1 && results.size() == 2) << "additions must get lost under preemption";
}
TEST(Lockstep, OneSeedOneResult) {
  Buffer<u32> order(64), count(1);
  std::set<std::vector<u32>> results;
  for (const std::uint64_t seed : {1u, 1u, 2u}) {
    count.data[0] = 0;
    Memory memory;
    memory.add(order.output("order"));
    memory.add(count.both("count"));
    lockstep::run({.name = "seed", .block = 64}, memory, Schedule::random, seed,
                  [&] { order.at()[atomic_add(count.at(), 1)] = static_cast<u32>(thread_index()); });
    results.insert(order.data);
  }
  EXPECT_EQ(results.size(), 2u);
}

// --- The memory a call has.
TEST(Lockstep, OperandsOverTheSameBytesAreOne) {
  Buffer<float> x(32, 1.0f);
  expect_clean(
      {{.name = "in place"}, {x.input("x"), x.output("y")}}, [&] { x.at()[thread_index()] += 1.0f; },
      [&] { x.data.assign(32, 1.0f); }, [&] { return x.data[31] == 2.0f; });
  Memory memory;
  memory.add(x.input("x"));
  EXPECT_THROW(memory.add({x.data.data() + 1, 1, 8, 8, true, false, "part"}), std::invalid_argument);
}
TEST(Lockstep, ImpossibleLaunchesAreRefused) {
  Memory memory;
  for (const Launch& launch : {Launch{.name = "ragged", .block = 48}, Launch{.name = "torn", .grid = 3, .cluster = 2},
                               Launch{.name = "thin", .warp = 16}})
    EXPECT_THROW(lockstep::run(launch, memory, Schedule::ascending, 0, [] {}), std::invalid_argument);
}

}  // namespace
}  // namespace tokitai::device
