// What a worker device promises when nothing goes wrong: the inner device's bits, statuses and outcomes, wherever the
// operands lie, and nothing left behind.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "problems/instance.h"
#include "reports/compare.h"
#include "runtime/journal_keeper.h"
#include "server/message.h"
#include "server/tests/processes.h"
#include "server/tests/refused.h"
#include "server/tests/serving.h"
#include "tokitai/tokitai.h"

namespace tokitai::server {
namespace {

using problems::Instance;

Device worker(std::string_view name = "worker:cpu", const DeviceOptions& options = {.threads = 2}) {
  setenv("TOKITAI_WORKER", TK_WORKER, 1);
  auto device = open(name, options);
  EXPECT_TRUE(device.ok()) << device.status().message();
  return std::move(device).value();
}

// The call with every operand in buffers of the device but those whose bits are set, alternately at a buffer's begin
// and behind it.
class InBuffers {
 public:
  InBuffers(Device& device, const Call& own, unsigned kept_at_home = 0) : call(own) {
    std::map<const void*, void*> moved;  // operands that share memory go on doing so
    const auto move = [&](Operands& set) {
      for (std::size_t i = 0; i < own.contract->operands.size(); ++i) {
        View& view = set[i];
        if (view.elements() == 0 || (kept_at_home >> i & 1) != 0) continue;
        views_.push_back(view);
        if (const auto known = moved.find(view.data); known != moved.end()) {
          view.data = known->second;
          continue;
        }
        const std::int64_t offset = i % 2 == 0 ? 0 : 4096 + 64;
        buffers_.push_back(device.allocate(extent_of(view) + offset).value());
        void* there = static_cast<std::byte*>(buffers_.back().data()) + offset;
        std::memset(buffers_.back().data(), 0x77, static_cast<std::size_t>(buffers_.back().size()));
        std::memcpy(there, view.data, static_cast<std::size_t>(extent_of(view)));
        moved[view.data] = there;
        view.data = there;
      }
    };
    if (!own.contract->list) move(call.operands);
    for (Operands& set : call.list) move(set);
    for (const View& view : views_) moved_.push_back({view, moved[view.data]});
  }
  void copy_back() const {
    for (const auto& [view, there] : moved_) std::memcpy(view.data, there, static_cast<std::size_t>(extent_of(view)));
  }

  Call call;

 private:
  std::vector<Buffer> buffers_;
  std::vector<View> views_;
  std::vector<std::pair<View, void*>> moved_;
};

constexpr const char* kLines[] = {
    "adamw.step n=5+0+70000 type=f16,f32 data=normal,special t=3 master=no,yes",
    "adamw.step n=0+5+70000+3 type=f16 t=3 master=no+yes,yes+no shift=0+1",
    "layernorm.forward rows=33 cols=1031 type=f16,bf16 pad=0,3",
    "layernorm.backward rows=70 cols=300 type=f16 pad=5",
    "softmax.forward rows=1,64 cols=16,1000 type=f32",
    "softmax.backward rows=64 cols=1000 type=f16",
    "cross_entropy.forward_backward rows=40 cols=3000 in_place=no,yes reduction=sum master=yes pad=0,7",
    "embedding.forward vocab=50 queries=300 dim=129",
    "embedding.backward vocab=50 queries=300 dim=129 single=yes accumulate=0,1",
    "gemm.forward m=17 n=65 k=33",
};

class Inner : public ::testing::TestWithParam<std::string> {};

TEST_P(Inner, DevicesBitsComeOutWhereverOperandsLie) {
  // "server": the cpu device of a server; else a worker of that device.
  const bool served = GetParam() == "server";
  std::optional<Serving> serving;
  if (served) serving.emplace();
  Device inner = open(served ? "cpu" : GetParam(), {.threads = 2}).value();
  Device outer = served ? open(serving->device()).value() : worker("worker:" + GetParam());
  std::int64_t compared = 0;
  for (const char* line : kLines) {
    auto problems = problems::parse_problems(line);
    ASSERT_TRUE(problems.ok()) << problems.status().message();
    for (const problems::Problem& problem : problems.value())
      for (const bool in_buffers : {false, true}) {
        auto expected = Instance::make(problem).value(), found = Instance::make(problem).value();
        expected.reset(std::byte{0xa5});
        found.reset(std::byte{0x5a});
        Call call = expected.call();
        ASSERT_TRUE(inner.run(call).ok());
        if (in_buffers) {
          InBuffers moved(outer, found.call());
          ASSERT_TRUE(outer.run(moved.call).ok());
          moved.copy_back();
        } else {
          call = found.call();
          Outcome outcome;
          ASSERT_TRUE(outer.run(call, &outcome).ok());
          EXPECT_GT(outcome.host_bytes_copied, 0);
        }
        for (std::size_t t = 0; t < expected.sets().size(); ++t)
          for (std::size_t i = 0; i < problem.contract->operands.size(); ++i) {
            const View &a = expected.sets()[t][i], &b = found.sets()[t][i];
            if (!a.present()) continue;
            const evidence::Difference d = evidence::compare(a, b);
            EXPECT_EQ(d.differing, 0) << problem.text() << " " << problem.contract->operands[i].name << in_buffers;
            compared += d.compared;
            if (expected.written(i) && !expected.read(i)) {
              EXPECT_EQ(evidence::touched_padding(b, std::byte{0x5a}), 0) << problem.text();
            }
          }
      }
  }
  EXPECT_GT(compared, 1000000);
}
INSTANTIATE_TEST_SUITE_P(Worker, Inner, ::testing::Values("cpu", "reference", "server"),
                         [](const auto& p) { return p.param; });

// Several units of work for each thread, with borders inside a register.
TEST(Worker, LargeListsUpdatedInPlaceHaveTheSameBits) {
  const auto problem = problems::parse_problems("adamw.step n=3+1500001+0+2800005 t=2 master=no+yes").value().front();
  auto expected = Instance::make(problem).value(), found = Instance::make(problem).value();
  Device inner = open("cpu", {.threads = 2}).value(), outer = worker();
  Call call = expected.call();
  ASSERT_TRUE(inner.run(call).ok());
  // All in buffers, or some of each set in the caller's own memory.
  for (const unsigned kept_at_home : {0u, 1u << 1 | 1u << 4}) {
    found.reset(std::byte{0x5a});
    InBuffers moved(outer, found.call(), kept_at_home);
    ASSERT_TRUE(outer.run(moved.call).ok());
    moved.copy_back();
    for (std::size_t t = 0; t < 4; ++t)
      for (std::size_t i = 0; i < 5; ++i)
        if (expected.sets()[t][i].present()) {
          EXPECT_EQ(evidence::compare(expected.sets()[t][i], found.sets()[t][i]).differing, 0) << t << " " << i;
        }
  }
}

TEST(Worker, WrapsAMachineThatKeepsNoJournal) {
  // Lockstep runs GPU text over the host's memory: its worker copies to the back half first.
  auto problem = problems::parse_problems("adamw.step n=300+7 t=2 master=no+yes").value().front();
  setenv("TOKITAI_WORKER", TK_WORKER, 1);
  auto outer = open("worker:lockstep");
  ASSERT_TRUE(outer.ok()) << outer.status().message();
  auto expected = Instance::make(problem).value(), found = Instance::make(problem).value();
  Device reference = open("reference").value();
  EXPECT_TRUE(keeps_journal(reference));
  EXPECT_FALSE(keeps_journal(open("lockstep").value()));
  Call call = expected.call();
  ASSERT_TRUE(reference.run(call).ok());
  InBuffers moved(outer.value(), found.call());
  const Status status = outer->run(moved.call);
  if (status.code() == Code::unavailable) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status.message();
  moved.copy_back();
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t i = 0; i < 4 + t; ++i)
      EXPECT_EQ(evidence::compare(expected.sets()[t][i], found.sets()[t][i]).differing, 0) << t << " " << i;
}

TEST(Worker, StatusesAndOutcomesAreTheInnerDevices) {
  Device inner = open("cpu").value(), outer = worker();
  expect_the_same_refusal(inner, outer);
  std::vector<float> theta(300, 1), m(300, 0), v(300, 0), g(300, 1);
  g[123] = INFINITY;
  for (const bool in_buffers : {false, true}) {
    AdamwTensor tensor{vector(theta.data(), 300), vector(m.data(), 300), vector(v.data(), 300), vector(g.data(), 300)};
    Call call = bind(AdamwStep{.tensors = {&tensor, 1}, .t = 1, .skip_nonfinite = true});
    InBuffers moved(outer, call);
    Outcome outcome;
    ASSERT_TRUE(outer.run(in_buffers ? moved.call : call, &outcome).ok());
    EXPECT_TRUE(outcome.skipped);
    EXPECT_EQ(outcome.skipped_position, 123);
    moved.copy_back();
    EXPECT_EQ(theta, std::vector<float>(300, 1));
  }
}

TEST(Worker, TellsWorkspaceThreadsAndDescriptionOfTheInnerDevice) {
  Device inner = open("cpu", {.threads = 2}).value(), outer = worker();
  std::vector<float> x(300 * 50), y(300 * 50);
  const SoftmaxForward call{.x = matrix(x.data(), 50, 300), .y = matrix(y.data(), 50, 300)};
  EXPECT_EQ(workspace(outer, call).value(), workspace(inner, call).value());
  EXPECT_EQ(outer.threads(), 2);
  EXPECT_EQ(outer.description(), inner.description() + ", in a worker process");
  EXPECT_EQ(outer.name(), "worker:cpu");
}

TEST(Worker, LeavesNothingBehind) {
  const Held before = Held::now();
  for (int i = 0; i < 3; ++i) {
    Device device = worker();
    Buffer buffer = device.allocate(1 << 20).value();
    std::vector<float> x(16, 1), y(16);
    ASSERT_TRUE(softmax_forward(device, {.x = matrix(x.data(), 1, 16), .y = matrix(y.data(), 1, 16)}).ok());
    const Held during = Held::now();
    EXPECT_EQ(during.children, before.children + 1);
    EXPECT_GT(during.descriptors, before.descriptors);
    EXPECT_GT(during.shared_mappings, 0u);
  }
  EXPECT_EQ(Held::after(before), before);
}

TEST(Worker, MemoryIsCountedAndTrimmed) {
  Device device = worker("worker:cpu", {.shared_bytes = 64 << 20});
  EXPECT_EQ(device.memory()->total, 64 << 20);
  EXPECT_EQ(device.memory()->in_use, 0);
  Buffer buffer = device.allocate(1 << 20).value();
  EXPECT_EQ(device.memory()->in_use, 1 << 20);
  std::vector<float> x(5000, 1), y(5000);
  ASSERT_TRUE(softmax_forward(device, {.x = matrix(x.data(), 5, 1000), .y = matrix(y.data(), 5, 1000)}).ok());
  EXPECT_GE(device.memory()->cached, 40000);
  ASSERT_TRUE(device.trim().ok());
  EXPECT_EQ(device.memory()->cached, 0);
  buffer.reset();
  EXPECT_EQ(device.memory()->free, 64 << 20);
}

// A journal takes 0.3 % of what it protects; two halves took as much again.
TEST(Worker, AListUpdatedInPlaceTakesNoSecondHalf) {
  Device device = worker("worker:cpu", {.shared_bytes = 64 << 20});
  constexpr std::int64_t n = 1 << 20;
  std::vector<Buffer> buffers;
  for (const std::int64_t bytes : {2 * n, 4 * n, 4 * n, 2 * n}) {
    buffers.push_back(device.allocate(bytes).value());
    std::memset(buffers.back().data(), 0, static_cast<std::size_t>(bytes));
  }
  AdamwTensor tensor{vector(static_cast<f16*>(buffers[0].data()), n), vector(static_cast<float*>(buffers[1].data()), n),
                     vector(static_cast<float*>(buffers[2].data()), n),
                     vector(static_cast<f16*>(buffers[3].data()), n)};
  const std::int64_t held = device.memory()->in_use;
  ASSERT_TRUE(adamw_step(device, {.tensors = {&tensor, 1}, .t = 1}).ok());
  EXPECT_EQ(device.memory()->in_use, held);
  EXPECT_GT(device.memory()->cached, 0);
  EXPECT_LT(device.memory()->cached, held / 200);
  ASSERT_TRUE(device.trim().ok());
  EXPECT_EQ(device.memory()->cached, 0);
  EXPECT_TRUE(adamw_step(device, {.tensors = {&tensor, 1}, .t = 2}).ok());
}

TEST(Worker, OutlivesTheThreadThatOpenedIt) {
  std::optional<Device> device;
  std::thread([&] { device = worker(); }).join();
  const auto mine = children();
  ASSERT_EQ(mine.size(), 1u);
  std::vector<float> x(16, 1), y(16);
  ASSERT_TRUE(softmax_forward(*device, {.x = matrix(x.data(), 1, 16), .y = matrix(y.data(), 1, 16)}).ok());
  EXPECT_EQ(children(), mine);  // the same process answered
}

TEST(Worker, CallsFromSeveralThreadsAreAllRight) {
  Device device = worker();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        Buffer out = device.allocate(4000).value();
        std::vector<float> x(1000, static_cast<float>(t * i)), expected(1000, 1.0f / 1000);
        auto* y = static_cast<float*>(out.data());
        if (softmax_forward(device, {.x = matrix(x.data(), 1, 1000), .y = matrix(y, 1, 1000)}).ok())
          right += std::equal(expected.begin(), expected.end(), y);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

TEST(Worker, AForkOfTheCallerIsRefusedAndDoesNoHarm) {
  auto device = std::make_unique<Device>(worker());
  auto buffer = std::make_unique<Buffer>(device->allocate(4096).value());
  std::memset(buffer->data(), 0x42, 4096);
  std::vector<float> x(16, 1), y(16);
  const SoftmaxForward call{.x = matrix(x.data(), 1, 16), .y = matrix(y.data(), 1, 16)};
  if (const pid_t fork = ::fork(); fork == 0) {
    const bool refused = softmax_forward(*device, call).code() == Code::unavailable && !device->allocate(1).ok();
    buffer.reset();
    device.reset();
    _exit(refused ? 0 : 1);
  } else {
    int how = -1;
    ASSERT_EQ(::waitpid(fork, &how, 0), fork);
    EXPECT_EQ(how, 0);
  }
  EXPECT_EQ(static_cast<unsigned char*>(buffer->data())[4095], 0x42);
  EXPECT_TRUE(softmax_forward(*device, call).ok());
}

TEST(Worker, NamesAndOptionsThatMakeNoSenseAreRefused) {
  setenv("TOKITAI_WORKER", TK_WORKER, 1);
  EXPECT_EQ(open("worker:").status().code(), Code::invalid);
  EXPECT_EQ(open("worker:worker:cpu").status().code(), Code::invalid);
  EXPECT_EQ(open("worker:cpu", {.call_seconds = -1}).status().code(), Code::invalid);
  EXPECT_EQ(open("worker:cpu", {.call_seconds = NAN}).status().code(), Code::invalid);
  EXPECT_EQ(open("worker:cpu", {.shared_bytes = -1}).status().code(), Code::invalid);
  EXPECT_EQ(open("worker:cpu", {.shared_bytes = INT64_MAX}).status().code(), Code::invalid);
  const Status inner = open("cpu", {.isa = "mmx"}).status(), outer = open("worker:cpu", {.isa = "mmx"}).status();
  EXPECT_EQ(outer.code(), inner.code());
  EXPECT_EQ(outer.message(), inner.message());
}

}  // namespace
}  // namespace tokitai::server
