// Gates, boxes and products on tensor cores: what they order and move, and what is found where a word is missing.
#include <gtest/gtest.h>

#include <cstring>

#include "machines/device/alias_tensor.h"
#include "machines/lockstep/box_map.h"
#include "machines/lockstep/engine.h"
#include "machines/lockstep/tests/kernels.h"

namespace tokitai::device {
namespace {

// Thread 0 fills 32 words again and again; a group of 32 threads, and where there is a cluster that of the block beside
// it, adds them up.
constexpr int kTurns = 6, kFull = 128, kFree = 136;
enum class Missing { nothing, full, free, meeting, opened, last_barrier };
struct HandOver {
  Buffer<u32> y;
  Problem problem;
  explicit HandOver(int cluster)
      : y(32 * cluster),
        problem{{.name = "hand over", .grid = cluster, .block = 64, .cluster = cluster, .shared_bytes = 256},
                {y.output("y")}} {}

  void operator()(Missing missing) {
    const int cluster = problem.launch.cluster, t = thread_index();
    const Gate full = shared<u64>(kFull), free = shared<u64>(kFree);
    const Shared<u32> words = shared<u32>(0);
    if (t == 0) {
      gate_open(full, 1);
      gate_open(free, cluster);
      if (missing != Missing::opened) gates_opened();
    }
    if (cluster > 1)
      cluster_barrier();
    else
      barrier();
    if (t == 0)
      for (u32 turn = 0; turn < kTurns; ++turn) {
        if (missing != Missing::free) gate_await(free, (turn & 1) ^ 1);
        for (u32 i = 0; i < 32; ++i) words[i] = turn * 32 + i;
        gate_arrive(full);
      }
    u32 sum = 0;
    if (t >= 32)
      for (u32 turn = 0; turn < kTurns; ++turn) {
        if (missing != Missing::full) gate_await(full, turn & 1);
        sum += words[63 - t];
        if (missing != Missing::meeting) warp_barrier();
        if (t - 32 < cluster) gate_arrive_at(free, t - 32);
      }
    if (t >= 32) y.at()[block_index() * 32 + t - 32] = sum;
    if (cluster > 1 && missing != Missing::last_barrier) cluster_barrier();
  }
};
TEST(Lockstep, AGateHandsMemoryOverAndBack) {
  for (const int cluster : {1, 2}) {
    HandOver s(cluster);
    expect_clean(s.problem, [&] { s(Missing::nothing); }, kNothing, [&] { return s.y.data[0] == 6 * 31 + 32 * 15; });
  }
}
TEST(Lockstep, AGateThatIsNotAwaitedOrdersNothing) {
  HandOver s(1);
  for (const Missing missing : {Missing::full, Missing::free})
    for (const Schedule schedule : kSchedules) {
      const Report report = run_once(s.problem, schedule, [&] { s(missing); });
      EXPECT_FALSE(report.clean());  // of which sort depends on who is first
    }
}
TEST(Lockstep, AnArrivalSpeaksForItsGroupOnlyAfterTheyMet) {
  HandOver s(1);
  expect_finding(s.problem, Finding::race, [&] { s(Missing::meeting); }, "in no order");
}
TEST(Lockstep, AGateIsToldOfBeforeOthersUseIt) {
  HandOver s(1);
  expect_finding(s.problem, Finding::race, [&] { s(Missing::opened); }, "may not be open yet");
}
TEST(Lockstep, ABlockStaysWhileAnotherMayArrive) {
  HandOver s(2);
  for (const Schedule schedule : kSchedules) {
    const Report report = run_once(s.problem, schedule, [&] { s(Missing::last_barrier); });
    EXPECT_FALSE(report.clean());
    EXPECT_NE(words(report).find("may end before") + words(report).find("has ended"), 2 * std::string::npos);
  }
}
TEST(Lockstep, AGateThatLacksBytesIsADeadlockThatNamesIt) {
  const Problem problem{{.name = "bytes", .block = 32, .shared_bytes = 16}, {}};
  expect_finding(
      problem, Finding::deadlock,
      [&] {
        const Gate gate = shared<u64>(8);
        if (thread_index() == 0) {
          gate_open(gate, 1);
          gates_opened();
          gate_expect(gate, 48);
        }
        barrier();
        gate_await(gate, 0);
      },
      "the gate at byte 8 in phase 0 lacks 0 of 1 arrivals and 48 bytes");
}

// A box of 16 lines by 64 halves through shared memory, from one matrix to another of 10 lines by 40.
constexpr int kLines = 10, kCols = 40;
enum class Left { nothing, gate, other_gate, fence, wait };
struct Copied {
  Buffer<u16> x{kLines * kCols}, y{kLines * kCols};
  Problem problem{{.name = "box", .block = 32, .shared_bytes = 4096 + 16}, {x.input("x"), y.output("y")}};
  static Map map_of(Buffer<u16>& m) {
    lockstep::BoxMap box;
    box.mark = lockstep::BoxMap::kMark;
    box.data = m.data.data();
    box.size[0] = kCols, box.size[1] = kLines, box.size[2] = 1;
    box.stride[0] = kCols * 2, box.stride[1] = kCols * kLines * 2;
    box.box[0] = 64, box.box[1] = 16;
    box.element = 2;
    box.swizzled = 1;
    Map map{};
    std::memcpy(map.word, &box, sizeof(box));
    return map;
  }
  Copied() {
    for (int i = 0; i < kLines * kCols; ++i) x.data[static_cast<std::size_t>(i)] = static_cast<u16>(1 + i);
  }
  // The copy has each line two further up and a column to the left.
  void operator()(Left left) {
    const int t = thread_index();
    const Gate gate = shared<u64>(4096), other = shared<u64>(4104);
    const Shared<u16> in = shared<u16>(0), out = shared<u16>(2048);
    const auto half = [](int line, int col) { return line * 64 + ((col / 8) ^ (line % 8)) * 8 + col % 8; };
    if (t == 0) {
      gate_open(gate, 1);
      gate_open(other, 1);
      gates_opened();
      gate_expect(gate, 2048);
      load_box(in, map_of(x), -1, 2, 0, gate);
      gate_arrive(other);
    }
    barrier();
    if (left == Left::other_gate) gate_await(other, 0);
    if (left != Left::gate && left != Left::other_gate) gate_await(gate, 0);
    for (int i = t; i < 16 * 64; i += 32) {
      const u16 v = in[half(i / 64, i % 64)];
      out[half(i / 64, i % 64)] = v;
    }
    if (left != Left::fence) boxes_fence();
    warp_barrier();
    if (t == 0) store_box(map_of(y), 0, 0, 0, cast<u32>(out));
    if (t == 0 && left != Left::wait) stored_boxes_written();
  }
};
TEST(Lockstep, ABoxIsZeroOutsideItsMatrixAndNotWrittenThere) {
  Copied s;
  expect_clean(
      s.problem, [&] { s(Left::nothing); }, [&] { std::fill(s.y.data.begin(), s.y.data.end(), u16{7}); },
      [&] {
        for (int line = 0; line < kLines; ++line)
          for (int col = 0; col < kCols; ++col) {
            const bool inside = line + 2 < kLines && col > 0;
            const u16 right = inside ? s.x.data[static_cast<std::size_t>((line + 2) * kCols + col - 1)] : u16{0};
            if (s.y.data[static_cast<std::size_t>(line * kCols + col)] != right) return false;
          }
        return true;
      });
}
TEST(Lockstep, ABoxIsThereForThoseThatPassedItsGate) {
  Copied s;
  expect_finding(s.problem, Finding::race, [&] { s(Left::gate); }, "copy engine");
}
TEST(Lockstep, ABoxIsToldByNoOtherGateThatItsThreadArrivesAtLater) {
  Copied s;
  expect_finding(s.problem, Finding::race, [&] { s(Left::other_gate); }, "copy engine");
}
TEST(Lockstep, WhatTheCopyEngineReadsIsFencedForIt) {
  Copied s;
  expect_finding(s.problem, Finding::race, [&] { s(Left::fence); }, "boxes_fence and a barrier come first");
}
TEST(Lockstep, ABoxIsWaitedFor) {
  Copied s;
  expect_finding(s.problem, Finding::race, [&] { s(Left::wait); }, "nobody waited for");
}

// Bytes 1 times bytes 2, 64 by 128 by 32.
TEST(Lockstep, SumsAreThereAfterTheWaitAndNotBefore) {
  Buffer<u32> y(128 * 2);
  const Problem problem{{.name = "multiply", .block = 128, .shared_bytes = 192 * 128}, {y.output("y")}};
  const auto kernel = [&](bool fenced) {
    const int t = thread_index();
    for (int i = t; i < 192 * 64; i += 128) shared<u16>(0)[i] = i < 64 * 64 ? u16{0x0101} : u16{0x0202};
    boxes_fence();
    barrier();
    int sums[64];
    for (int& sum : sums) sum = 5;
    if (fenced) multiply_fence();
    multiply(sums, factor_at(shared<u16>(0)), factor_at(shared<u16>(64 * 128)), true);
    multiply_commit();
    y.at()[t] = static_cast<u32>(sums[t % 64]);
    multiply_wait<0>();
    y.at()[128 + t] = static_cast<u32>(sums[t % 64]);
  };
  expect_clean(
      problem, [&] { kernel(true); }, kNothing,
      [&] {
        for (std::size_t i = 0; i < 128; ++i)
          if (y.data[i] == 5 || y.data[i] == 69 || y.data[128 + i] != 69) return false;
        return true;
      });
  expect_finding(problem, Finding::race, [&] { kernel(false); }, "multiply_fence comes first");
}

// On a GPU a product may have read all of its factors long before the wait.
TEST(Lockstep, FactorsAreThereBeforeTheirProductAndNotOnlyBeforeTheWait) {
  const Problem problem{{.name = "hasty", .block = 128, .shared_bytes = 192 * 128}, {}};
  const auto kernel = [](bool hasty) {
    for (int i = thread_index(); i < 192 * 64; i += 128) shared<u16>(0)[i] = 0x0101;
    boxes_fence();
    if (!hasty) barrier();
    int sums[64] = {};
    multiply_fence();
    multiply(sums, factor_at(shared<u16>(0)), factor_at(shared<u16>(64 * 128)), true);
    multiply_commit();
    if (hasty) barrier();
    multiply_wait<0>();
  };
  expect_clean(problem, [&] { kernel(false); }, kNothing, [] { return true; });
  for (const Schedule schedule : kSchedules) EXPECT_FALSE(run_once(problem, schedule, [&] { kernel(true); }).clean());
}

}  // namespace
}  // namespace tokitai::device
