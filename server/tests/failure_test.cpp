// What a worker device promises when everything goes wrong: a right result or a clear status, tensors as before or as
// after, nothing left behind.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "patterns/journal.h"
#include "runtime/machine.h"
#include "server/arena.h"
#include "server/machine.h"
#include "server/tests/model.h"
#include "server/tests/processes.h"
#include "tokitai/tokitai.h"

namespace tokitai::server {
namespace {

using namespace std::chrono_literals;

Result<Device> open_with(const char* program, const char* mode, const DeviceOptions& options = {}) {
  setenv("TOKITAI_WORKER", program, 1);
  setenv("TK_BAD_WORKER", mode, 1);
  return open("worker:cpu", options);
}
Device good(const DeviceOptions& options = {.threads = 2}) { return open_with(TK_WORKER, "", options).value(); }

enum class Tensors { in_own_memory, in_buffers, in_both };
constexpr const char* name_of(Tensors tensors) {
  constexpr const char* kNames[] = {"InOwnMemory", "InBuffers", "InBoth"};
  return kNames[static_cast<int>(tensors)];
}
class KilledAtRandomMoments : public ::testing::TestWithParam<Tensors> {};

// TOKITAI_SOAK has it take 10,000 steps and 500 kills.
TEST_P(KilledAtRandomMoments, StepsEndInTheBitsOfAnUndisturbedRun) {
  const bool soak = std::getenv("TOKITAI_SOAK") != nullptr;
  const int least_kills = soak ? 500 : 50, least_steps = soak ? 10000 : 1000;
  const Held before = Held::now();
  int steps = 0, refused = 0, kills = 0;
  std::string found;
  {
    Device device = good();
    Model model(GetParam() == Tensors::in_own_memory ? nullptr : &device, GetParam() == Tensors::in_both);
    const Killer killer(11 + static_cast<unsigned>(GetParam()), least_kills, soak ? 40000 : 20000);
    while (killer.kills() < least_kills || steps < least_steps) {
      const std::string earlier = model.bytes();
      const Status status = model.step(device, steps + 1);
      if (status.ok()) {
        ++steps;
        continue;
      }
      ++refused;  // killed twice before anything was written: it says so and nothing has changed
      ASSERT_EQ(status.code(), Code::unavailable) << status.message();
      ASSERT_EQ(model.bytes(), earlier);
    }
    kills = killer.kills();
    found = model.bytes();
  }
  EXPECT_EQ(Held::after(before), before);
  Device undisturbed = open("cpu", {.threads = 2}).value();
  Model expected(nullptr);
  for (int t = 1; t <= steps; ++t) ASSERT_TRUE(expected.step(undisturbed, t).ok());
  EXPECT_EQ(found, expected.bytes());
  EXPECT_GE(kills, least_kills);
  RecordProperty("steps", steps);
  RecordProperty("kills", kills);
  RecordProperty("refused", refused);
}
INSTANTIATE_TEST_SUITE_P(Worker, KilledAtRandomMoments,
                         ::testing::Values(Tensors::in_own_memory, Tensors::in_buffers, Tensors::in_both),
                         [](const auto& p) { return std::string(name_of(p.param)); });

// Two workers each do a part of the step and are gone: the caller does the rest.
TEST(Worker, AStepThatTwoWorkersLeftHalfWayIsFinishedByTheCaller) {
  const Held before = Held::now();
  for (const bool own_parameters : {false, true}) {
    Device device = open_with(TK_BAD_WORKER, "leaves half way").value(), inner = open("cpu").value();
    Model model(&device, own_parameters), expected(nullptr);
    for (int t = 1; t < 4; ++t) {
      const Status status = model.step(device, t);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(expected.step(inner, t).ok());
      ASSERT_EQ(model.bytes(), expected.bytes()) << t;
    }
  }
  EXPECT_EQ(Held::after(before), before);
}

// The comparison above must be able to fail: a worker that writes what its journal does not say is caught by it.
TEST(Worker, OneThatWritesOverItsInputsIsSeen) {
  Device device = open_with(TK_BAD_WORKER, "writes over inputs").value();
  Model model(&device);
  const std::string earlier = model.bytes();
  EXPECT_EQ(model.step(device, 1).code(), Code::unavailable);
  EXPECT_NE(model.bytes(), earlier);
}

TEST(Worker, OneThatMisbehavesIsReplacedOnceAndThenTold) {
  const struct {
    const char* mode;
    const char* words;
  } cases[] = {{"garbage", "it begins with"},
               {"wrong sequence", "an answer of kind 4 to message"},
               {"wrong kind", "an answer of kind 2 to message"},
               {"leaves", "ended with exit code 7"},
               {"crashes", "was ended by signal 6"},
               {"huge length", "a body of 4294967295 bytes"},
               {"short body", "not an answer"},
               {"next version", "version 4; this is version 3"},
               {"half a header", "the connection ended"}};
  const Held before = Held::now();
  for (const auto& one : cases) {
    Device device = open_with(TK_BAD_WORKER, one.mode).value();
    for (const bool in_buffers : {false, true}) {
      Model model(in_buffers ? &device : nullptr);
      const std::string earlier = model.bytes();
      const Status status = model.step(device, 1);
      EXPECT_EQ(status.code(), Code::unavailable) << one.mode;
      EXPECT_NE(status.message().find(one.words), std::string::npos) << one.mode << ": " << status.message();
      EXPECT_NE(status.message().find("; tried again, "), std::string::npos) << status.message();
      EXPECT_TRUE(status.message().ends_with("; nothing was changed")) << status.message();
      EXPECT_EQ(model.bytes(), earlier) << one.mode;
    }
  }
  EXPECT_EQ(Held::after(before), before);
}

// One that takes a call, perhaps begins to update in place, and is lost without an end: it may still write.
class Endless : public Supervisor {
 public:
  Endless(const Arena& arena, bool begins) : Supervisor(Hello{"", {}, arena.size()}), arena_(arena), begins_(begins) {}
  ~Endless() override {
    if (thread_.joinable()) thread_.join();
  }
  void abandon() override {}

 protected:
  Status connect() override {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {Code::unavailable, "socketpair"};
    channel_ = Channel(Descriptor(ends[0]));
    thread_ = std::thread([this, worker = Channel(Descriptor(ends[1]))]() mutable {
      const auto hello = worker.receive(kNoDeadline);
      ASSERT_TRUE(worker.send(Kind::welcome, 1, encode(Welcome{{}, 1, "endless", true}), kNoDeadline).ok());
      const auto call = worker.receive(kNoDeadline);
      if (!call.ok() || !begins_) return;
      Journal(arena_.at(decode_call(call->body, arena_.size())->journal)).begin();
    });
    return {};
  }
  bool running() const override { return channel_.open(); }
  Channel& channel() override { return channel_; }
  std::vector<int> descriptors() const override { return {}; }
  Result<std::string> end(std::chrono::milliseconds) override {
    channel_.close();
    return Status(Code::unavailable, "it does not end");
  }
  std::string name() const override { return "one without an end"; }

 private:
  const Arena& arena_;
  const bool begins_;
  Channel channel_;
  std::thread thread_;
};

// What a status says of the caller's tensors is what it sees of them, and "nothing was changed" is never said where
// somebody may still update them.
TEST(Worker, WhatMayBeHalfUpdatedIsToldSo) {
  for (const bool begins : {false, true}) {
    auto arena = Arena::make(16 << 20).value();
    auto endless = std::make_unique<Endless>(*arena, begins);
    auto machine = make_machine(std::move(arena), std::move(endless), 5s, "here").value();
    std::vector<std::vector<float>> own(4, std::vector<float>(100, 1));
    std::vector<float*> there;
    for (int i = 0; i < 4; ++i) {
      there.push_back(static_cast<float*>(machine->allocate(400).value()));
      std::fill_n(there.back(), 100, 1.0f);
    }
    const auto step = [&](const auto& at) {
      AdamwTensor tensor{vector(at(0), 100), vector(at(1), 100), vector(at(2), 100), vector(at(3), 100)};
      Call call = bind(AdamwStep{.tensors = {&tensor, 1}, .t = 1});
      Outcome outcome;
      EXPECT_TRUE(check(call).ok());
      return machine->run(call, outcome);
    };
    const Status first = step([&](std::size_t i) { return there[i]; });
    EXPECT_EQ(first.code(), Code::unavailable);
    EXPECT_EQ(first.message(), "adamw.step: it does not end; what the call updates may be half updated") << begins;
    // The caller's own memory nobody else writes; nor is anything asked any more.
    const Status second = step([&](std::size_t i) { return own[i].data(); });
    EXPECT_EQ(second.message(), "adamw.step: it does not end; nothing was changed");
    EXPECT_EQ(own, std::vector(4, std::vector<float>(100, 1)));
    for (float* one : there) machine->release(one, 400);
  }
}

TEST(Worker, OneThatSaysNothingMeetsItsDeadline) {
  const Held before = Held::now();
  {
    Device device = open_with(TK_BAD_WORKER, "says nothing", {.call_seconds = 0.1}).value();
    Model model(nullptr);
    const auto start = std::chrono::steady_clock::now();
    const Status status = model.step(device, 1);
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(status.code(), Code::unavailable);
    EXPECT_NE(status.message().find("no answer in time"), std::string::npos) << status.message();
    EXPECT_GE(took, 200ms);  // two attempts
    EXPECT_LT(took, 5s);
  }
  EXPECT_EQ(Held::after(before), before);
}

TEST(Worker, OneThatIsStoppedIsReplacedAndTheCallSucceeds) {
  Device device = good({.threads = 2, .call_seconds = 0.5});
  Model model(&device), expected(nullptr);
  Device inner = open("cpu").value();
  const auto mine = children();
  ASSERT_EQ(mine.size(), 1u);
  ASSERT_EQ(::kill(mine[0], SIGSTOP), 0);
  const Status status = model.step(device, 1);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(state_of(mine[0]), 0);  // killed and reaped
  EXPECT_EQ(children().size(), 1u);
  ASSERT_TRUE(expected.step(inner, 1).ok());
  EXPECT_EQ(model.bytes(), expected.bytes());
}

TEST(Worker, OneThatDoesNotStartIsTold) {
  const Held before = Held::now();
  EXPECT_EQ(open_with("/nonexistent/tokitai-worker", "").status().code(), Code::unavailable);
  EXPECT_EQ(open_with("/nonexistent/tokitai-worker", "").status().message(),
            "TOKITAI_WORKER names /nonexistent/tokitai-worker, which is no program");
  const Status early = open_with(TK_BAD_WORKER, "refuses to start").status();
  EXPECT_EQ(early.code(), Code::unavailable);
  EXPECT_NE(early.message().find("ended with exit code 5"), std::string::npos) << early.message();
  EXPECT_EQ(open_with("/bin/true", "").status().code(), Code::unavailable);
  EXPECT_EQ(Held::after(before), before);
}

TEST(Worker, OneThatDiesWhileItStartsHasFailedOnce) {
  const Held before = Held::now();
  {
    Device device = open_with(TK_BAD_WORKER, "leaves").value();
    setenv("TK_BAD_WORKER", "refuses to start", 1);
    Model model(nullptr);
    const std::string earlier = model.bytes();
    // First one that works and dies, then nobody: each call starts two.
    for (const char* first : {"ended with exit code 7", "ended with exit code 5"}) {
      const std::string told = model.step(device, 1).message();
      const std::size_t again = told.find("; tried again, ");
      ASSERT_NE(again, std::string::npos) << told;
      EXPECT_NE(told.substr(0, again).find(first), std::string::npos) << told;
      EXPECT_NE(told.substr(again).find("ended with exit code 5"), std::string::npos) << told;
      EXPECT_TRUE(told.ends_with("; nothing was changed")) << told;
      EXPECT_EQ(model.bytes(), earlier);
    }
  }
  EXPECT_EQ(Held::after(before), before);
}

TEST(Worker, FullSharedMemoryIsAStatusAndChangesNothing) {
  Device device = good({.shared_bytes = 1 << 20});
  EXPECT_EQ(device.allocate(2 << 20).status().code(), Code::unavailable);
  Model own(nullptr);  // 110334 elements: 1.3 MB have to be staged
  const std::string earlier = own.bytes();
  const Status status = own.step(device, 1);
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("adamw.step: shared memory is full: "), std::string::npos) << status.message();
  EXPECT_EQ(own.bytes(), earlier);

  // A back half that does not fit.
  Buffer out = device.allocate(600 << 10).value();
  auto* y = static_cast<float*>(out.data());
  std::fill_n(y, 150 << 10, 5.0f);
  const auto view = matrix(y, 150, 1 << 10);
  EXPECT_EQ(softmax_forward(device, {.x = view, .y = view}).code(), Code::invalid);  // not allowed to alias
  std::vector<float> x(150 << 10, 1);
  EXPECT_EQ(softmax_forward(device, {.x = matrix(x.data(), 150, 1 << 10), .y = view}).code(), Code::unavailable);
  EXPECT_TRUE(std::all_of(y, y + (150 << 10), [](float one) { return one == 5.0f; }));
  out.reset();
  std::vector<float> z(16);
  EXPECT_TRUE(softmax_forward(device, {.x = matrix(x.data(), 1, 16), .y = matrix(z.data(), 1, 16)}).ok());
}

// The caller dies by SIGKILL, and cannot clean up: its worker goes all the same, even a stopped one.
TEST(Worker, EndsWithItsCaller) {
  for (const bool stopped : {false, true}) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t caller = ::fork();
    if (caller == 0) {
      Device device = good();
      const pid_t mine = children().at(0);
      if (::write(ends[1], &mine, sizeof mine) < 0) _exit(1);
      for (;;) ::pause();
    }
    pid_t worker = 0;
    ASSERT_EQ(::read(ends[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
    ASSERT_NE(state_of(worker), 0);
    if (stopped) ::kill(worker, SIGSTOP);
    ::kill(caller, SIGKILL);
    ::waitpid(caller, nullptr, 0);
    char state = '?';
    for (int i = 0; i < 200 && state != 0 && state != 'Z'; ++i) {
      std::this_thread::sleep_for(20ms);
      state = state_of(worker);
    }
    EXPECT_TRUE(state == 0 || state == 'Z') << state;
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

}  // namespace
}  // namespace tokitai::server
