// The cpu machine's crew: every unit exactly once, scratch that is aligned and grows, many callers of one device.
#include "machines/cpu/pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "numerics/half.h"
#include "numerics/philox.h"
#include "tokitai/tokitai.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tokitai {
namespace {

using cpu::Pool;
using cpu::Scratch;

TEST(Pool, RunsEveryUnitExactlyOnce) {
  for (int threads : {1, 2, 3, 5, 8}) {
    Pool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (std::int64_t units : {0, 1, 2, 3, 7, 8, 9, 64, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(units));
      std::atomic<int> strange_workers{0};
      pool.run(units, [&](std::int64_t unit, int worker) {
        runs[static_cast<std::size_t>(unit)].fetch_add(1);
        if (worker < 0 || worker >= threads) strange_workers.fetch_add(1);
      });
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1) << threads << " threads, " << units << " units";
      EXPECT_EQ(strange_workers.load(), 0);
    }
  }
}

TEST(Pool, RunsRoundAfterRoundUnderOneHold) {
  Pool pool(3);
  const auto held = pool.acquire();
  std::atomic<std::int64_t> total{0};
  for (int round = 0; round < 2000; ++round)  // what one round wrote, the next may read without further ado
    pool.run(5, [&](std::int64_t unit, int) { total.fetch_add(unit + 1, std::memory_order_relaxed); });
  EXPECT_EQ(total.load(), 2000 * 15);
}

TEST(Pool, ShowsTheCallerEverythingItsUnitsWrote) {
  Pool pool(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> plain(50, -1);  // not atomic: the crew's writes are visible once run returns
    pool.run(50, [&](std::int64_t unit, int) { plain[static_cast<std::size_t>(unit)] = unit + round; });
    for (std::int64_t i = 0; i < 50; ++i) ASSERT_EQ(plain[static_cast<std::size_t>(i)], i + round);
  }
}

TEST(Pool, WorksOnSeveralUnitsAtOnce) {
  Pool pool(2);
  std::atomic<int> arrived{0};
  int workers[2] = {-1, -1};
  pool.run(2, [&](std::int64_t unit, int worker) {  // each unit waits until the other one has begun
    workers[unit] = worker;
    arrived.fetch_add(1);
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_NE(workers[0], workers[1]);
}

#if defined(__x86_64__)
TEST(Pool, GivesItsThreadsTheDefaultFloatingPointMode) {
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(0x1F80 | 0x8000 | 0x0040 | 0x4000);  // a thread inherits its creator's: flush, no denormals, round up
  Pool pool(2);
  unsigned mode[2] = {0, 0};
  std::atomic<int> arrived{0};
  pool.run(2, [&](std::int64_t, int worker) {
    mode[worker] = _mm_getcsr() & ~0x3fu;
    arrived.fetch_add(1);
    while (arrived.load() < 2) std::this_thread::yield();
  });
  _mm_setcsr(saved);
  EXPECT_EQ(mode[1], 0x1F80u);
}
#endif

TEST(Scratch, IsAlignedAndGrowsAndIsKept) {
  Scratch scratch;
  EXPECT_EQ(scratch.bytes(), 0);
  void* small = scratch.reserve(1);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small) % 64, 0u);
  EXPECT_EQ(scratch.bytes(), 64);
  EXPECT_EQ(scratch.reserve(64), small);
  for (std::size_t bytes : {65, 1000, 100000, 5000000}) {
    void* p = scratch.reserve(bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
    EXPECT_GE(scratch.bytes(), static_cast<std::int64_t>(bytes));
    EXPECT_LT(scratch.bytes(), static_cast<std::int64_t>(bytes) + 64);
    std::memset(p, 1, bytes);
    EXPECT_EQ(scratch.data(), p);
  }
  const std::int64_t most = scratch.bytes();
  scratch.reserve(10);
  EXPECT_EQ(scratch.bytes(), most);
}

TEST(Scratch, OfEachWorkerIsItsOwn) {
  Pool pool(3);
  EXPECT_EQ(pool.scratch_bytes(), 0);
  void* shared = pool.shared_scratch().reserve(100);
  for (int worker = 0; worker < 3; ++worker) {
    void* own = pool.scratch(worker).reserve(200);
    EXPECT_NE(own, shared);
    for (int other = 0; other < worker; ++other) EXPECT_NE(own, pool.scratch(other).data());
  }
  EXPECT_EQ(pool.scratch_bytes(), 128 + 3 * 256);
}

// One device, many callers: each with data, sizes and an operator of its own.
struct Caller {
  std::int64_t rows, cols;
  std::vector<float> x, y, sums;

  explicit Caller(std::uint64_t number)
      : rows(40 + static_cast<std::int64_t>(number) * 7), cols(300 + static_cast<std::int64_t>(number)) {
    const auto n = static_cast<std::size_t>(rows * cols);
    const Philox random{.seed = 7, .stream = number};
    x.resize(n);
    y.resize(n);
    sums.resize(static_cast<std::size_t>(rows + 2 * cols));
    for (std::size_t i = 0; i < n; ++i) x[i] = random.normal(i);
  }
  Status call(Device& device, bool backward) {
    const ConstView in = matrix(x.data(), rows, cols);
    const View out = matrix(y.data(), rows, cols);
    if (!backward) return softmax_forward(device, {.x = in, .y = out});
    const ConstView ones = vector(x.data(), cols), per_row = vector(x.data(), rows);
    return layernorm_backward(device, {.dy = in,
                                       .x = in,
                                       .gamma = ones,
                                       .mean = per_row,
                                       .rstd = per_row,
                                       .dx = out,
                                       .dgamma = vector(sums.data(), cols),
                                       .dbeta = vector(sums.data() + cols, cols)});
  }
};

TEST(Device, ServesSeveralThreadsAtOnce) {
  Device device = open("cpu", {.threads = 3}).value();
  Device reference = open("reference").value();
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (std::uint64_t number = 0; number < 6; ++number)
    users.emplace_back([&, number] {
      const bool backward = number % 2 == 1;
      Caller expected(number), found(number);
      if (!expected.call(reference, backward).ok()) ++wrong;
      for (int round = 0; round < 20; ++round) {
        std::fill(found.y.begin(), found.y.end(), -1.0f);
        std::fill(found.sums.begin(), found.sums.end(), 0.0f);
        if (!found.call(device, backward).ok() || found.y != expected.y || found.sums != expected.sums) ++wrong;
      }
    });
  for (std::thread& user : users) user.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace tokitai
