// Other threads of the caller store beside a call's operands, as they may in-process: to the neighbouring bytes,
// between the rows, to other pages of the same buffer. No store is lost, and the operands are as before the call or as
// after it, while workers are killed, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "contract/roles.h"
#include "problems/instance.h"
#include "server/buffers.h"
#include "server/tests/model.h"
#include "server/tests/serving.h"

namespace tokitai::server {
namespace {

using problems::Instance;

constexpr std::string_view kLines[] = {
    "adamw.step n=5+33001+64+70003 t=2 master=no,yes",
    "softmax.forward rows=64 cols=513 type=f16 pad=0,3",
    "softmax.forward rows=1 cols=40001 type=f32",
    "layernorm.backward rows=70 cols=501 type=f16 pad=5",
    "cross_entropy.forward_backward rows=40 cols=3001 in_place=no,yes reduction=sum master=yes pad=0,7",
    "embedding.backward vocab=301 queries=300 dim=129 single=yes accumulate=0,1 pad=1",
};

// The problems of those operators that are built here.
std::vector<problems::Problem> all_problems() {
  std::vector<problems::Problem> all;
  for (const std::string_view line : kLines) {
    const auto is_of = [&](const Contract* contract) { return line.starts_with(contract->name); };
    if (std::ranges::none_of(contracts(), is_of)) continue;
    const auto problems = problems::parse_problems(line).value();
    all.insert(all.end(), problems.begin(), problems.end());
  }
  return all;
}

// One problem whose operands lie close together in one buffer of a device, or inputs in one and what is written in
// another.
class Packed {
 public:
  Packed(Device& device, const problems::Problem& problem, bool together)
      : instance_(Instance::make(problem).value()),
        expected_(Instance::make(problem).value()),
        call_(instance_.call()) {
    instance_.reset(std::byte{0x5a});
    expected_.reset(std::byte{0x5a});
    static Device reference = open("reference").value();
    Call call = expected_.call();
    EXPECT_TRUE(reference.run(call).ok());
    std::set<const void*> written;  // operands that share memory go on doing so
    const auto each_operand = [&](const auto& visit) {
      for (std::size_t t = 0; t < instance_.sets().size(); ++t)
        for (std::size_t i = 0; i < call_.contract->operands.size(); ++i)
          if (const View& own = instance_.sets()[t][i]; own.elements() > 0) {
            if (instance_.written(i)) written.insert(own.data);
            visit(together || !written.contains(own.data) ? 0u : 1u, own, expected_.sets()[t][i],
                  (call_.contract->list ? call_.list[t] : call_.operands)[i]);
          }
    };
    each_operand([](std::size_t, const View&, const View&, const View&) {});
    // Where each lies: some bytes of others before it, now and then a page of them.
    std::map<const void*, std::int64_t> offsets;
    std::int64_t ends[2] = {0, 0};
    each_operand([&](std::size_t which, const View& own, const View&, const View&) {
      if (offsets.contains(own.data)) return;
      const std::int64_t gap = offsets.size() % 3 == 2 ? 2 * kPage + 6 : 6;
      offsets[own.data] = (ends[which] + gap + 7) / 8 * 8;
      ends[which] = offsets[own.data] + problems::extent_of(own);
    });
    for (const std::int64_t end : ends) {
      buffers_.push_back(device.allocate(end + 7).value());
      std::memset(buffers_.back().data(), 0, static_cast<std::size_t>(end) + 7);
    }
    std::vector<bool> ours[2] = {std::vector<bool>(static_cast<std::size_t>(ends[0]) + 7),
                                 std::vector<bool>(static_cast<std::size_t>(ends[1]) + 7)};
    each_operand([&](std::size_t which, const View& own, const View& expected, View& there) {
      there.data = static_cast<std::byte*>(buffers_[which].data()) + offsets[own.data];
      operands_.push_back({own, expected, there});
      for (const Buffers::Rows& rows : rows_of(own, offsets[own.data]))
        for (std::int64_t row = 0; row < rows.count; ++row)
          for (std::int64_t i = 0; i < rows.bytes; ++i)
            ours[which][static_cast<std::size_t>(rows.begin + row * rows.pitch + i)] = true;
    });
    for (std::size_t which = 0; which < 2; ++which)
      for (std::size_t i = 0; i < ours[which].size(); ++i)
        if (!ours[which][i]) beside_.push_back(static_cast<unsigned char*>(buffers_[which].data()) + i);
  }

  Status run(Device& device) {
    for (const Operand& one : operands_)
      each_row(one.there, one.before, [](auto* there, auto* own, std::size_t bytes) {
        std::memcpy(there, own, bytes);
        return true;
      });
    return device.run(call_);
  }
  // Whether every operand is as it was before the call, or as it must be after it.
  bool is(bool after) const {
    return std::all_of(operands_.begin(), operands_.end(), [&](const Operand& one) {
      return each_row(one.there, after ? one.after : one.before,
                      [](auto* there, auto* own, std::size_t bytes) { return std::memcmp(there, own, bytes) == 0; });
    });
  }
  // Every byte of the buffers that is no operand's.
  const std::vector<unsigned char*>& beside() const { return beside_; }

 private:
  struct Operand {
    View before, after, there;
  };
  template <class F> static bool each_row(const View& there, const View& own, F visit) {
    for (const Buffers::Rows& rows : rows_of(own, 0))
      for (std::int64_t row = 0; row < rows.count; ++row)
        if (const std::int64_t at = rows.begin + row * rows.pitch;
            !visit(static_cast<std::byte*>(there.data) + at, static_cast<std::byte*>(own.data) + at,
                   static_cast<std::size_t>(rows.bytes)))
          return false;
    return true;
  }

  Instance instance_, expected_;
  Call call_;
  std::vector<Buffer> buffers_;
  std::vector<Operand> operands_;
  std::vector<unsigned char*> beside_;
};

// Threads that store to bytes of their own, a byte's neighbours mostly another's, and see whether each still holds what
// they stored last.
class Storers {
 public:
  explicit Storers(const std::vector<unsigned char*>& bytes) {
    for (std::size_t t = 0; t < kThreads; ++t) threads_.emplace_back([this, &bytes, t] { work(bytes, t); });
  }
  ~Storers() { stop(); }
  void stop() {
    stop_ = true;
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }
  std::int64_t lost() const { return lost_; }
  std::int64_t stores() const { return stores_; }

 private:
  static constexpr std::size_t kThreads = 2;

  void work(const std::vector<unsigned char*>& bytes, std::size_t first) {
    unsigned char last = 0;
    bool ends = false;
    while (!ends) {
      ends = stop_;  // once more: what was stored during the last call is looked at, too
      for (std::size_t i = first; i < bytes.size(); i += kThreads) {
        const std::atomic_ref<unsigned char> byte(*bytes[i]);
        if (byte.load(std::memory_order_relaxed) != last) ++lost_;
        byte.store(static_cast<unsigned char>(last + 1), std::memory_order_relaxed);
        ++stores_;
      }
      ++last;
    }
  }
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> lost_ = 0, stores_ = 0;
  std::vector<std::thread> threads_;
};

class StoresBesideOperands : public ::testing::TestWithParam<std::string> {
 protected:
  StoresBesideOperands() {
    setenv("TOKITAI_WORKER", TK_WORKER, 1);
    if (GetParam() == "server") serving_.emplace();
    device = open(serving_ ? serving_->device() : GetParam(), {.threads = serving_ ? 0 : 2}).value();
  }

 private:
  std::optional<Serving> serving_;

 protected:
  std::optional<Device> device;
};

TEST_P(StoresBesideOperands, AreNotLost) {
  for (const problems::Problem& problem : all_problems())
    for (const bool together : {false, true}) {
      Packed packed(*device, problem, together);
      Storers storers(packed.beside());
      for (int i = 0; i < 5; ++i) {
        const Status status = packed.run(*device);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_TRUE(packed.is(true)) << problem.text();
      }
      storers.stop();
      EXPECT_EQ(storers.lost(), 0) << problem.text() << ", of " << storers.stores() << (together ? ", together" : "");
    }
}
INSTANTIATE_TEST_SUITE_P(OfAnotherThread, StoresBesideOperands,
                         ::testing::Values("cpu", "worker:cpu", "worker:reference", "server"), [](const auto& p) {
                           std::string name = p.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

// Two threads call, one with most of a buffer and one with a few rows of it, and others store between them.
TEST(StoresOfAnotherThread, AreNotLostWhileTwoThreadsCall) {
  setenv("TOKITAI_WORKER", TK_WORKER, 1);
  Device device = open("worker:cpu", {.threads = 2}).value();
  constexpr std::int64_t kRows[] = {60, 3}, kCols = 1001, kBetween = 5;  // columns, and floats that are others'
  Buffer buffer = device.allocate(((kRows[0] + kRows[1]) * kCols + 2 * kBetween) * 4).value();
  std::memset(buffer.data(), 0, static_cast<std::size_t>(buffer.size()));
  auto* const floats = static_cast<float*>(buffer.data());
  float* const results[] = {floats, floats + kRows[0] * kCols + kBetween};
  std::vector<unsigned char*> beside;
  for (const std::size_t caller : {0, 1}) {
    auto* end = reinterpret_cast<unsigned char*>(results[caller] + kRows[caller] * kCols);
    for (std::int64_t i = 0; i < kBetween * 4; ++i) beside.push_back(end + i);
  }
  Storers storers(beside);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (const std::size_t caller : {0, 1})
    callers.emplace_back([&, caller, y = results[caller], rows = kRows[caller]] {
      const std::vector<float> x(static_cast<std::size_t>(rows * kCols), 1);
      for (int i = 0; i < 200; ++i) {
        std::fill_n(y, rows * kCols, -1.0f);
        const Status status =
            softmax_forward(device, {.x = matrix(x.data(), rows, kCols), .y = matrix(y, rows, kCols)});
        if (!status.ok() || !std::all_of(y, y + rows * kCols, [&](float one) { return one == 1.0f / kCols; })) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  storers.stop();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(storers.lost(), 0) << "of " << storers.stores();
}

TEST(StoresOfAnotherThread, AreNotLostWhileWorkersAreKilled) {
  setenv("TOKITAI_WORKER", TK_WORKER, 1);
  Device device = open("worker:cpu", {.threads = 2}).value();
  const std::vector<problems::Problem> problems = all_problems();
  constexpr int kKills = 25, kGood = 50;
  const Killer killer(17, kKills, 50000);
  int good = 0;
  for (std::size_t p = 0; killer.kills() < kKills || good < kGood; ++p) {
    Packed packed(device, problems[p % problems.size()], p % 2 == 0);
    Storers storers(packed.beside());
    for (int i = 0; i < 5; ++i) {
      const Status status = packed.run(device);
      good += status.ok();
      ASSERT_TRUE(status.ok() || status.code() == Code::unavailable) << status.message();
      ASSERT_TRUE(packed.is(status.ok())) << problems[p % problems.size()].text() << ": " << status.message();
    }
    storers.stop();
    ASSERT_EQ(storers.lost(), 0) << problems[p % problems.size()].text() << ", of " << storers.stores();
  }
  RecordProperty("good", good);
}

}  // namespace
}  // namespace tokitai::server
