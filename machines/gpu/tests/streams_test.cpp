// What several streams of one GPU promise, on a driver whose streams run in every order that events allow: each kernel
// finds its call by its first operand, begins by marking its workspace and ends by finding the mark.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "machines/gpu/tests/fixture.h"

namespace tokitai::gpu {
namespace {

constexpr unsigned kSchedules = 40;

// What kernels work for, and what they found that was not theirs.
struct Board {
  std::mutex mutex;
  std::map<const void*, Call> calls;
  std::atomic<int> violations = 0;
  std::atomic<const void*> stuck = nullptr;  // the kernel of this operand ends when `go_on` is
  std::atomic<bool> began = false;
  std::mutex waiting;
  std::condition_variable changed;
  bool go_on = false;
};
Board& board() {
  static Board all;
  return all;
}

void expect(bool held) { board().violations += held ? 0 : 1; }

void work(const char* kernel, const device::Arguments& a, bool ends) {
  const std::string_view name = kernel;
  const void* first = a.tensors != nullptr ? table_of(a)[0].data[0] : a.operand[0].data;
  Call call;
  {
    const std::lock_guard lock(board().mutex);
    const auto found = board().calls.find(first);
    if (found == board().calls.end()) return expect(false);  // a table that another call has written to
    call = found->second;
  }
  const bool later = name.ends_with("_columns"), check = name.ends_with("_check");
  if (a.workspace != nullptr && !ends && !later) std::memcpy(a.workspace, &first, sizeof(first));
  if (a.workspace != nullptr && (ends || later)) expect(std::memcmp(a.workspace, &first, sizeof(first)) == 0);
  if (first == board().stuck && !ends) {
    board().began = true;
    std::unique_lock lock(board().waiting);
    expect(board().changed.wait_for(lock, std::chrono::seconds(60), [] { return board().go_on; }));
  }
  if (check && !ends) expect(*a.flag == device::kUnflagged);
  if (!ends || later) return;
  if (check) return do_check(call, a);
  if (a.counter != nullptr) {
    expect(a.counter[0] == 0);
    a.counter[0] = 1;
  }
  do_by_reference(call, a);
}

class StreamsTest : public FakeGpuTest {
 protected:
  StreamsTest() : FakeGpuTest(work) {}
  void SetUp() override {
    FakeGpuTest::SetUp();
    board().violations = 0;
  }
  void TearDown() override {
    fake_driver().schedule(0);
    EXPECT_EQ(board().violations, 0);
    const std::lock_guard lock(board().mutex);
    board().calls.clear();
  }

  static Status run(Device& device, const Call& call, Outcome* outcome = nullptr) {
    {
      const std::lock_guard lock(board().mutex);
      board().calls[call.contract->list ? call.list[0][0].data : call.operands[0].data] = call;
    }
    Call again = call;
    return device.run(again, outcome);
  }
  // A problem's operands on a device, and what its outputs must be.
  struct Problem {
    Instance here;
    Call call;
    std::vector<Buffer> buffers = {};
    Call there = {};

    Problem(const std::string& line, Device& device) : here(made(line)), call(here.call()) {
      there = moved(device, call, buffers);
      EXPECT_TRUE(open("reference")->run(call).ok());
    }
    void expect_right(Device& device) {
      const auto compare = [&](const Operands& found, const Operands& right) {
        for (std::size_t i = 0; i < call.contract->operands.size(); ++i)
          if (right[i].elements() > 0) {
            EXPECT_EQ(fetched(device, found[i]), bytes_of(right[i])) << call.contract->operands[i].name;
          }
      };
      if (!call.contract->list) compare(there.operands, call.operands);
      for (std::size_t t = 0; t < call.list.size(); ++t) compare(there.list[t], call.list[t]);
    }
  };

  // As another library would: streams and memory straight from the driver, in the device's primary context.
  struct Library {
    void* context = nullptr;
    void* stream = nullptr;
    Library() {
      fake_driver().find<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0);
      const Inside inside(context);
      EXPECT_EQ(fake_driver().find<int(void**, unsigned)>("cuStreamCreate")(&stream, 1), 0);
    }
    ~Library() {
      const Inside inside(context);
      destroy();
      fake_driver().find<int(int)>("cuDevicePrimaryCtxRelease_v2")(0);
    }
    void destroy() {
      if (stream != nullptr) {
        EXPECT_EQ(fake_driver().find<int(void*)>("cuStreamDestroy_v2")(stream), 0);
      }
      stream = nullptr;
    }
    unsigned long long allocate(std::size_t bytes) const {
      const Inside inside(context);
      unsigned long long memory = 0;
      EXPECT_EQ(fake_driver().find<int(unsigned long long*, std::size_t)>("cuMemAlloc_v2")(&memory, bytes), 0);
      return memory;
    }
    void free(unsigned long long memory) const {
      const Inside inside(context);
      EXPECT_EQ(fake_driver().find<int(unsigned long long)>("cuMemFree_v2")(memory), 0);
    }
    void copy(unsigned long long to, const void* from, std::size_t bytes) const {
      const Inside inside(context);
      EXPECT_EQ((fake_driver().find<int(unsigned long long, unsigned long long, std::size_t, void*)>(
                    "cuMemcpyDtoDAsync_v2")(to, reinterpret_cast<unsigned long long>(from), bytes, stream)),
                0);
    }
    void wait() const { EXPECT_EQ(fake_driver().find<int(void*)>("cuStreamSynchronize")(stream), 0); }

    struct Inside {
      void* before = nullptr;
      explicit Inside(void* context) {
        fake_driver().find<int(void**)>("cuCtxGetCurrent")(&before);
        fake_driver().find<int(void*)>("cuCtxSetCurrent")(context);
      }
      ~Inside() { fake_driver().find<int(void*)>("cuCtxSetCurrent")(before); }
    };
  };
};

TEST_F(StreamsTest, ACallersStreamAndMemoryAreUsedAsTheyAre) {
  const fake::Counts before = fake_driver().counts();
  {
    Library library;
    Device device = gpu();
    Problem problem("softmax.forward rows=20 cols=100 type=f16", device);
    const std::size_t bytes = 20 * 100 * 2;
    const unsigned long long x = library.allocate(bytes), y = library.allocate(bytes), z = library.allocate(bytes);
    ASSERT_TRUE(device.wait().ok());
    for (unsigned seed = 0; seed < kSchedules; ++seed) {
      fake_driver().schedule(seed);
      library.copy(x, problem.there.operands[0].data, bytes);  // the library's own work, before and after
      Call call = problem.there;
      call.operands[0].data = reinterpret_cast<void*>(x);
      call.operands[1].data = reinterpret_cast<void*>(y);
      Device there = device.on(library.stream).value();
      const fake::Counts queued = fake_driver().counts();
      ASSERT_TRUE(run(there, call).ok());
      EXPECT_EQ(fake_driver().counts().waits, queued.waits);
      if (seed > 0) {
        EXPECT_EQ(fake_driver().counts().allocations, queued.allocations);
        EXPECT_EQ(fake_driver().counts().modules, queued.modules);
        EXPECT_EQ(fake_driver().counts().events, queued.events);
      }
      library.copy(z, call.operands[1].data, bytes);
      library.wait();
      EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(z), problem.call.operands[1].data, bytes), 0) << seed;
    }
    for (const unsigned long long memory : {x, y, z}) library.free(memory);
  }
  EXPECT_EQ(fake_driver().counts().contexts, before.contexts);
  EXPECT_EQ(fake_driver().counts().streams, before.streams);
  EXPECT_EQ(fake_driver().counts().events, before.events);
}

TEST_F(StreamsTest, AStreamThatCannotBeUsedIsRefusedInASentence) {
  Library library;
  Device device = gpu(), other = gpu(1);
  Problem problem("softmax.forward rows=2 cols=8 type=f16", device);
  const auto says = [](const Status& status, std::string_view words) {
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  says(other.on(library.stream).status(), "cuda:1: the stream is of another device");
  says(device.on(reinterpret_cast<void*>(2)).status(), "the per-thread default stream is another one in each thread");
  says(open("cpu")->on(nullptr).status(), "the device cpu has no streams");

  Device there = device.on(library.stream).value();
  fake_driver().recording(library.stream, true);
  says(run(there, problem.there), "records a graph");
  says(there.copy_in(problem.there.operands[0].data, problem.call.operands[0].data, 8), "records a graph");
  fake_driver().recording(library.stream, false);
  EXPECT_TRUE(run(there, problem.there).ok());
  void* gone = library.stream;
  library.destroy();
  says(device.on(gone).status(), "cuda:0: no stream");
  says(run(there, problem.there), "the caller's stream cannot be used");
  EXPECT_TRUE(run(device, problem.there).ok());  // it alone is lost
  EXPECT_TRUE(device.wait().ok());
  EXPECT_TRUE(device.trim().ok());
}

// Null and 1 are the same stream, and so are two handles of it: what calls need there is made once.
TEST_F(StreamsTest, TheDefaultStreamIsOneStream) {
  Device device = gpu();
  Problem problem("cross_entropy.forward_backward rows=9 cols=30 type=f16", device);
  ASSERT_TRUE(device.wait().ok());
  const std::int64_t wrong = 77;
  ASSERT_TRUE(device.copy_in(static_cast<std::int64_t*>(problem.there.operands[1].data) + 4, &wrong, 8).ok());
  ASSERT_TRUE(device.wait().ok());
  {
    Device null = device.on(nullptr).value();
    ASSERT_TRUE(run(null, problem.there).ok());
  }
  EXPECT_EQ(device.on(reinterpret_cast<void*>(1))->wait().code(), Code::invalid);
}

TEST_F(StreamsTest, AMarkOrdersStreams) {
  Device one = gpu(), two = one.on_new_stream().value();
  Problem problem("softmax.forward rows=20 cols=100 type=f16", one);
  const View x = problem.there.operands[0];
  const std::int64_t bytes = problems::extent_of(x);
  const Buffer source = one.allocate(bytes).value(), zeros = one.allocate(bytes).value();
  ASSERT_TRUE(one.copy(source.data(), x.data, bytes).ok());
  const std::vector<std::byte> none(static_cast<std::size_t>(bytes));
  ASSERT_TRUE(one.copy_in(zeros.data(), none.data(), bytes).ok());
  int wrong = 0;
  for (const bool ordered : {false, true})
    for (unsigned seed = 0; seed < kSchedules; ++seed) {
      ASSERT_TRUE(one.copy(x.data, zeros.data(), bytes).ok());
      ASSERT_TRUE(one.wait().ok());
      fake_driver().schedule(seed);
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(one.copy(zeros.data(), zeros.data(), bytes).ok());
      ASSERT_TRUE(one.copy(x.data, source.data(), bytes).ok());
      if (ordered) {
        ASSERT_TRUE(two.wait(one.mark().value()).ok());
      }
      ASSERT_TRUE(run(two, problem.there).ok());
      ASSERT_TRUE(two.wait().ok());
      fake_driver().schedule(0);
      ASSERT_TRUE(one.wait().ok());
      if (ordered)
        problem.expect_right(two);
      else
        wrong += fetched(two, problem.there.operands[1]) != bytes_of(problem.call.operands[1]) ? 1 : 0;
    }
  EXPECT_GT(wrong, 0) << "without a mark some order must show";
}

TEST_F(StreamsTest, WorkspaceTablesAndFlagsAreAStreamsOwn) {
  Device one = gpu(), two = one.on_new_stream().value();
  Device* devices[] = {&one, &two};
  const char* lines[] = {"layernorm.backward rows=70 cols=300 type=f16 data=",
                         "cross_entropy.forward_backward rows=9 cols=30 type=f16 reduction=mean data=",
                         "adamw.step n=5+0+300 t=3 type=f16 skip_nonfinite=1 data="};
  for (const char* line : lines)
    for (unsigned seed = 0; seed < kSchedules; ++seed) {
      fake_driver().schedule(seed);
      std::vector<Problem> problems;
      for (int i = 0; i < 4; ++i)
        problems.emplace_back(line + std::string(i < 2 ? "normal" : "cancelling"), *devices[i % 2]);
      for (std::size_t i = 0; i < problems.size(); ++i) {
        const Status status = run(*devices[i % 2], problems[i].there);
        ASSERT_TRUE(status.ok()) << status.message();
      }
      for (Device* device : devices) ASSERT_TRUE(device->wait().ok());
      for (std::size_t i = 0; i < problems.size(); ++i) problems[i].expect_right(*devices[i % 2]);
      if (HasFailure()) return;
    }
}

TEST_F(StreamsTest, ARefusalBelongsToItsStream) {
  Device one = gpu(), two = one.on_new_stream().value(), three = one.on_new_stream().value();
  Problem good("cross_entropy.forward_backward rows=2 cols=3 type=f16", one),
      bad("cross_entropy.forward_backward rows=2 cols=3 type=f16", two);
  const std::int64_t labels[] = {0, 9};
  ASSERT_TRUE(two.copy_in(bad.there.operands[1].data, labels, sizeof(labels)).ok());
  fake_driver().schedule(7);
  ASSERT_TRUE(run(one, good.there).ok());
  for (int i = 0; i < 1500; ++i) {  // more than flags are kept for
    ASSERT_TRUE(run(two, bad.there).ok());
    ASSERT_TRUE(run(one, good.there).ok());
  }
  EXPECT_TRUE(one.wait().ok());
  EXPECT_TRUE(three.wait().ok());
  const Status status = two.wait();
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("1499 more calls failed"), std::string::npos) << status.message();
  EXPECT_TRUE(two.wait().ok());
}

// A stream that is behind is waited for only where it is half a ring of flags behind.
TEST_F(StreamsTest, ManyCheckedCallsDrainNoStream) {
  Device device = gpu();
  Problem problem("cross_entropy.forward_backward rows=2 cols=3 type=f16", device);
  ASSERT_TRUE(run(device, problem.there).ok());
  ASSERT_TRUE(device.wait().ok());
  const fake::Counts before = fake_driver().counts();
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(run(device, problem.there).ok());
  EXPECT_EQ(fake_driver().counts().waits, before.waits);
  ASSERT_TRUE(device.wait().ok());
  problem.expect_right(device);
}

TEST_F(StreamsTest, MemoryIsHandedOutAgainWhenEveryStreamIsDoneWithIt) {
  Device one = gpu(), two = one.on_new_stream().value();
  const std::vector<std::byte> other(20 * 100 * 2, std::byte{0x3c});
  const auto bytes = static_cast<std::int64_t>(other.size());
  for (unsigned seed = 0; seed < kSchedules; ++seed) {
    Problem problem("softmax.forward rows=20 cols=100 type=f16", one);
    ASSERT_TRUE(one.wait().ok());
    fake_driver().schedule(seed);
    ASSERT_TRUE(run(two, problem.there).ok());
    void* x = problem.there.operands[0].data;
    problem.buffers[0].reset();
    // Its own stream alone gets it again, and then after the other's work.
    const Buffer elsewhere = two.allocate(bytes).value(), again = one.allocate(bytes).value();
    EXPECT_NE(elsewhere.data(), x);
    ASSERT_EQ(again.data(), x);
    ASSERT_TRUE(one.copy_in(again.data(), other.data(), bytes).ok());
    ASSERT_TRUE(one.wait().ok());
    ASSERT_TRUE(two.wait().ok());
    fake_driver().schedule(0);
    EXPECT_EQ(fetched(two, problem.there.operands[1]), bytes_of(problem.call.operands[1])) << seed;
  }
}

TEST_F(StreamsTest, PinnedMemoryOutlastsTheCopiesOfEveryStream) {
  Device one = gpu(), two = one.on_new_stream().value();
  const Buffer source = one.allocate(4096).value();
  Buffer pinned = one.allocate_pinned(4096).value();
  ASSERT_TRUE(two.copy_out(pinned.data(), source.data(), 4096).ok());
  ASSERT_TRUE(two.copy(source.data(), source.data(), 4096).ok());
  pinned.reset();
  EXPECT_TRUE(two.wait().ok());
}

TEST_F(StreamsTest, MemoryIsCountedOverAllStreamsAndTrimmed) {
  Device device = gpu();
  {
    Device other = device.on_new_stream().value();
    Buffer a = device.allocate(1 << 20).value(), b = other.allocate(1 << 20).value();
    EXPECT_EQ(device.memory()->in_use, 2 << 20);
    b.reset();
    EXPECT_EQ(other.memory()->in_use, 1 << 20);
    EXPECT_EQ(device.memory()->cached, 1 << 20);
    ASSERT_TRUE(device.trim().ok());
    EXPECT_EQ(device.memory()->cached, 0);
  }
  EXPECT_EQ(device.memory()->in_use, 0);
  // Out of memory: what another stream has cached is given back first.
  Device other = device.on_new_stream().value();
  other.allocate(8 << 20)->reset();
  fake_driver().memory(12 << 20);
  const auto made = device.allocate(9 << 20);
  fake_driver().memory(std::size_t{512} << 20);
  EXPECT_TRUE(made.ok()) << made.status().message();
}

TEST_F(StreamsTest, WhatIsKeptForACallersStreamGoesWithTrim) {
  Library library;
  Device device = gpu();
  {
    Device there = device.on(library.stream).value();
    Problem problem("cross_entropy.forward_backward rows=2 cols=3 type=f16", there);
    ASSERT_TRUE(run(there, problem.there).ok());
    ASSERT_TRUE(there.wait().ok());
  }
  EXPECT_GT(device.memory()->in_use, 0);
  ASSERT_TRUE(device.trim().ok());
  EXPECT_EQ(device.memory()->in_use, 0);
}

TEST_F(StreamsTest, ThreadsOnTheirOwnStreamsDoNotMixUp) {
  Device device = gpu();
  fake_driver().schedule(11);
  const char* lines[] = {"softmax.forward rows=50 cols=300 type=f16", "layernorm.backward rows=70 cols=300 type=f16",
                         "adamw.step n=5+0+300 t=3 type=f16", "cross_entropy.forward_backward rows=9 cols=30 type=f16"};
  std::vector<std::thread> crew;
  for (int t = 0; t < 8; ++t)
    crew.emplace_back([&, t] {
      Device mine = device.on_new_stream().value();
      for (int i = 0; i < 5; ++i) {
        Problem problem(lines[t % 4], mine);
        EXPECT_TRUE(run(mine, problem.there).ok());
        EXPECT_TRUE(mine.wait().ok());
        problem.expect_right(mine);
      }
    });
  for (std::thread& thread : crew) thread.join();
}

// One thread waits for a kernel that does not end; meanwhile another plans, queues and waits on a stream of its own.
TEST_F(StreamsTest, ACallDoesNotWaitForAnotherStream) {
  Device one = gpu(), two = one.on_new_stream().value();
  Problem slow("softmax.forward rows=20 cols=100 type=f16", one), quick("softmax.forward rows=7 cols=64 type=f16", two);
  board().go_on = false;
  board().began = false;
  board().stuck = slow.there.operands[0].data;
  std::thread waits([&] {
    EXPECT_TRUE(run(one, slow.there).ok());
    EXPECT_TRUE(one.wait().ok());
  });
  while (!board().began) std::this_thread::yield();
  EXPECT_TRUE(run(two, quick.there).ok());
  EXPECT_TRUE(two.wait().ok());
  quick.expect_right(two);
  {
    const std::lock_guard lock(board().waiting);
    board().go_on = true;
  }
  board().changed.notify_all();
  waits.join();
  board().stuck = nullptr;
  slow.expect_right(one);
}

}  // namespace
}  // namespace tokitai::gpu
