// What the GPU machine promises its caller, on a driver that is not there: the fake one does queued work as late as it
// may, and each kernel's work by the reference.
#include <cstring>
#include <set>
#include <thread>

#include "base/files.h"
#include "compiler/cache.h"
#include "machines/device/product_shape.h"
#include "machines/gpu/memo.h"
#include "machines/gpu/tests/fixture.h"
#include "tokitai/report.h"

namespace tokitai::gpu {
namespace {

const Call* planned = nullptr;  // shapes, types and options of the call a kernel works for

void work(const char* kernel, const device::Arguments& a, bool ends) {
  const std::string_view name = kernel;
  if (!ends || name.ends_with("_columns") || name.ends_with("_pack")) return;
  if (!name.ends_with("_check")) return do_by_reference(*planned, a);
  ASSERT_EQ(*a.flag, device::kUnflagged);
  do_check(*planned, a);
}

class GpuMachineTest : public FakeGpuTest {
 protected:
  GpuMachineTest() : FakeGpuTest(work) {}
  // Runs and keeps the call for the kernels, which may do their work later.
  Status run(Device& device, const Call& call, Outcome* outcome = nullptr) {
    keep(call);
    Call again = call;
    return device.run(again, outcome);
  }
  void keep(const Call& call) {
    call_ = call;
    planned = &call_;
  }

 private:
  Call call_;
};

TEST_F(GpuMachineTest, HostOperandsAreCopiedAndPaddingStays) {
  const Instance expected = made("layernorm.forward rows=37 cols=300 type=f16 pad=5");
  Instance found = made("layernorm.forward rows=37 cols=300 type=f16 pad=5");
  Device reference = open("reference").value();
  Call on_reference = expected.call();
  ASSERT_TRUE(reference.run(on_reference).ok());
  Device device = gpu();
  Outcome outcome;
  const Status status = run(device, found.call(), &outcome);
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t i = 0; i < 6; ++i)  // both were poisoned alike, so the padding is compared too
    EXPECT_EQ(bytes_of(expected.call().operands[i]), bytes_of(found.call().operands[i])) << i;
  EXPECT_EQ(outcome.host_bytes_copied, 2 * (37 * 300 + 2 * 300 + 37 * 300) + 4 * 2 * 37);
  EXPECT_EQ(device.memory()->in_use, 0);
}

// An empty cache has what the calls need when compiling ahead returns, and running them compiles nothing more.
TEST_F(GpuMachineTest, WhatWasCompiledAheadIsFoundInTheCache) {
  const auto folder = base::TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const char* named = std::getenv("TOKITAI_CACHE");
  const std::string outer = named == nullptr ? "" : named;
  setenv("TOKITAI_CACHE", folder->path().c_str(), 1);
  Device device = gpu();
  const Instance rows = made("cross_entropy.forward_backward rows=37 cols=300 type=f16");
  const Instance more = made("cross_entropy.forward_backward rows=99 cols=300 type=f16");
  std::size_t done = 0, all = 0;
  const Status status = device.compile_ahead({rows.call(), more.call()}, [&](std::size_t d, std::size_t a) {
    done = d;
    all = a;
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(done, 2U);  // the check and the rows; how many rows there are is no part of a kernel
  EXPECT_EQ(all, 2U);
  const auto kernels = [] { return compiler::Cache::open()->list().size(); };
  EXPECT_EQ(kernels(), 2U);
  EXPECT_TRUE(run(device, rows.call()).ok());
  EXPECT_TRUE(run(device, more.call()).ok());
  EXPECT_EQ(kernels(), 2U);
  if (outer.empty())
    unsetenv("TOKITAI_CACHE");
  else
    setenv("TOKITAI_CACHE", outer.c_str(), 1);
}

TEST_F(GpuMachineTest, RowsFarApartAreNotAllocatedWhole) {
  std::vector<float> wide(3 * 1000000, 7.0f), y(3 * 4);
  Device device = gpu();
  fake_driver().memory(4 << 20);
  const SoftmaxForward a{.x = matrix<const float>(wide.data(), 3, 4, 1000000), .y = matrix(y.data(), 3, 4)};
  const Status status = run(device, bind(a));
  fake_driver().memory(std::size_t{512} << 20);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(y, std::vector<float>(12, 0.25f));
}

TEST_F(GpuMachineTest, DeviceOperandsAreQueuedWithoutWaiting) {
  const Instance instance = made("softmax.forward rows=20 cols=100 type=f16");
  Device device = gpu();
  std::vector<Buffer> buffers;
  const Call there = moved(device, instance.call(), buffers);
  ASSERT_TRUE(run(device, there).ok());  // compiles
  ASSERT_TRUE(device.wait().ok());
  const auto before = fake_driver().counts();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(run(device, there).ok());
  const auto after = fake_driver().counts();
  EXPECT_EQ(after.waits, before.waits);
  EXPECT_EQ(after.launches, before.launches + 10);
  EXPECT_EQ(after.modules, before.modules);
  EXPECT_EQ(after.fills + after.copies_in + after.copies_out + after.allocations,
            before.fills + before.copies_in + before.copies_out + before.allocations);
  Call here = instance.call();
  ASSERT_TRUE(open("reference").value().run(here).ok());
  EXPECT_EQ(fetched(device, there.operands[1]), bytes_of(here.operands[1]));
}

TEST_F(GpuMachineTest, AnOutputOverAnInputStaysOneMemory) {
  const char* line = "cross_entropy.forward_backward rows=9 cols=300 type=f16 in_place=yes";
  const Instance expected = made(line), found = made(line);
  Call here = expected.call();
  ASSERT_TRUE(open("reference").value().run(here).ok());
  Device device = gpu();
  const Status status = run(device, found.call());
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(bytes_of(here.operands[i]), bytes_of(found.call().operands[i])) << i;
}

// Maps are remembered with their launch: a call with other memory, of an operand or of the workspace, has its own.
TEST_F(GpuMachineTest, MapsAreOfTheMemoryOfTheirCall) {
  Device device = gpu();
  std::vector<Buffer> buffers;
  const auto check = [&](const Call& there, bool integers) {
    ASSERT_TRUE(run(device, there).ok());
    ASSERT_TRUE(device.wait().ok());
    const fake::Counts counts = fake_driver().counts();
    const auto* workspace = static_cast<const std::byte*>(counts.workspace);
    const auto& a = there.operand(0);
    EXPECT_EQ(counts.mapped[device::kLeftMap], integers ? workspace : a.data);
    EXPECT_EQ(counts.mapped[device::kRightMap],
              integers ? workspace + device::planes_bytes(a.rows(), a.cols()) : there.operand(1).data);
    EXPECT_EQ(counts.mapped[device::kOutMap], there.operand(2).data);
  };
  for (const std::string arithmetic : {"hopper", "block15"}) {
    const bool integers = arithmetic == "block15";
    const Instance instance = made("gemm.forward m=140 n=136 k=72 type=f16 arithmetic=" + arithmetic);
    const Instance larger = made("gemm.forward m=1400 n=136 k=720 type=f16 arithmetic=" + arithmetic);
    const Call first = moved(device, instance.call(), buffers), second = moved(device, instance.call(), buffers),
               other = moved(device, larger.call(), buffers);
    check(first, integers);
    const int maps = fake_driver().counts().maps;
    check(first, integers);
    EXPECT_EQ(fake_driver().counts().maps, maps);
    check(second, integers);
    EXPECT_GT(fake_driver().counts().maps, maps);
    check(other, integers);
    check(first, integers);
    Call here = instance.call();
    ASSERT_TRUE(open("reference").value().run(here).ok());
    EXPECT_EQ(fetched(device, first.operands[2]), bytes_of(here.operands[2]));
  }
}

TEST_F(GpuMachineTest, ARefusedCallCopiesNothingBack) {
  const Instance instance = made("cross_entropy.forward_backward rows=9 cols=30 type=f16");
  const Call call = instance.call();
  static_cast<std::int64_t*>(call.operands[1].data)[4] = 77;
  const auto loss = bytes_of(call.operands[2]), grad = bytes_of(call.operands[3]);
  Device device = gpu();
  const Status status = run(device, call);
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("labels[4] = 77; it must be in [0, 30)"), std::string::npos) << status.message();
  EXPECT_EQ(bytes_of(call.operands[2]), loss);
  EXPECT_EQ(bytes_of(call.operands[3]), grad);
  EXPECT_TRUE(device.wait().ok());
}

TEST_F(GpuMachineTest, ARefusalOnTheDeviceComesFromWaitOnce) {
  const Instance instance = made("cross_entropy.forward_backward rows=9 cols=30 type=f16");
  static_cast<std::int64_t*>(instance.call().operands[1].data)[4] = -3;
  Device device = gpu();
  std::vector<Buffer> buffers;
  const Call there = moved(device, instance.call(), buffers);
  ASSERT_TRUE(run(device, there).ok());
  ASSERT_TRUE(run(device, there).ok());
  const Status status = device.wait();
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("labels[4] = -3; it must be in [0, 30)"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("1 more calls failed"), std::string::npos) << status.message();
  EXPECT_TRUE(device.wait().ok());
  Outcome outcome;
  EXPECT_EQ(run(device, there, &outcome).code(), Code::invalid);
  EXPECT_TRUE(device.wait().ok());

  ASSERT_TRUE(run(device, there).ok());
  buffers.clear();
  ASSERT_TRUE(device.trim().ok());
  EXPECT_NE(device.wait().message().find("position 4 was refused; its memory is gone"), std::string::npos);
}

TEST_F(GpuMachineTest, ManyQueuedCallsLoseNoAnswer) {
  const Instance instance = made("cross_entropy.forward_backward rows=2 cols=3 type=f16");
  Device device = gpu();
  std::vector<Buffer> buffers;
  const Call there = moved(device, instance.call(), buffers);
  const std::int64_t bad[] = {0, 9};
  ASSERT_TRUE(device.copy_in(there.operands[1].data, bad, sizeof(bad)).ok());
  ASSERT_TRUE(run(device, there).ok());
  const std::int64_t good[] = {0, 1};
  ASSERT_TRUE(device.copy_in(there.operands[1].data, good, sizeof(good)).ok());
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(run(device, there).ok());
  const Status status = device.wait();
  EXPECT_EQ(status.code(), Code::invalid) << status.message();
  EXPECT_EQ(status.message().find("more calls"), std::string::npos) << status.message();
}

TEST_F(GpuMachineTest, CallsFromSeveralThreadsDoNotMixUp) {
  const char* line = "softmax.forward rows=50 cols=300 type=f16";
  const Instance expected = made(line);
  Call here = expected.call();
  ASSERT_TRUE(open("reference").value().run(here).ok());
  Device device = gpu();
  ASSERT_TRUE(run(device, made(line).call()).ok());
  std::vector<std::thread> crew;
  for (int t = 0; t < 4; ++t)
    crew.emplace_back([&, t] {
      const Instance found = made(line);
      std::vector<Buffer> buffers;
      const Call on_device = moved(device, found.call(), buffers);
      for (int i = 0; i < 20; ++i) {
        Call call = t % 2 == 0 ? found.call() : on_device;
        EXPECT_TRUE(device.run(call).ok());
      }
      EXPECT_TRUE(device.wait().ok());
      EXPECT_EQ(t % 2 == 0 ? bytes_of(found.call().operands[1]) : fetched(device, on_device.operands[1]),
                bytes_of(here.operands[1]));
    });
  for (std::thread& thread : crew) thread.join();
}

TEST_F(GpuMachineTest, MemoryOfAnotherDeviceIsRefused) {
  const Instance instance = made("softmax.forward rows=2 cols=8 type=f16");
  Device device = gpu(), other = gpu(1);
  std::vector<Buffer> buffers;
  const Call there = moved(other, instance.call(), buffers);
  const Status status = run(device, there);
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("x lies in the memory of cuda:1; the call runs on cuda:0"), std::string::npos)
      << status.message();
  EXPECT_EQ(device.copy_out(&buffers, buffers[0].data(), 8).code(), Code::invalid);
}

TEST_F(GpuMachineTest, AReportReadsTheDevicesMemoryAndNamesTheKernels) {
  const Instance instance = made("softmax.forward rows=20 cols=100 type=f16 pad=3");
  Device device = gpu(), other = gpu(1);
  std::vector<Buffer> buffers;
  const Call there = moved(device, instance.call(), buffers);
  EXPECT_TRUE(device.holds(there.operands[0].data).value());
  EXPECT_FALSE(device.holds(instance.call().operands[0].data).value());
  EXPECT_EQ(other.holds(there.operands[0].data).status().code(), Code::invalid);
  EXPECT_TRUE(device.kernels().empty());
  for (const Call& call : {there, instance.call()}) {
    keep(call);
    const auto report = run_with_report(device, call);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->equal()) << report->first_difference;
    EXPECT_EQ(report->compared, 2000);
    ASSERT_EQ(report->kernels.size(), 1u);
    EXPECT_EQ(report->kernels[0].label.find("softmax.forward "), 0u);
    EXPECT_EQ(report->kernels[0].audit, "nothing forbidden was found");
    EXPECT_EQ(report->kernels[0].artifact_digest.size(), 64u);
  }
  EXPECT_EQ(run_with_report(other, there).status().code(), Code::invalid);
}

TEST_F(GpuMachineTest, AnOperandPastTheEndOfItsMemoryIsRefused) {
  Device device = gpu();
  const Buffer buffer = device.allocate(65536).value();
  auto* y = static_cast<f16*>(buffer.data());
  const f16* x = y + (65536 - 512) / 2;
  const Status status = run(device, bind(SoftmaxForward{.x = matrix(x, 2000, 8), .y = matrix(y, 2000, 8)}));
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("x takes 32000 bytes, but its memory on cuda:0 ends after 512"), std::string::npos)
      << status.message();
}

TEST_F(GpuMachineTest, AListsTableIsCopiedOnce) {
  const Instance instance = made("adamw.step n=5+0+300+1+7000 t=3 type=f16 skip_nonfinite=1");
  Device device = gpu();
  std::vector<Buffer> buffers;
  Call there = moved(device, instance.call(), buffers);
  Call here = instance.call();
  const int t = there.contract->option_index("t");
  for (int step = 3; step < 6; ++step) {
    there.options[static_cast<std::size_t>(t)] = here.options[static_cast<std::size_t>(t)] = option_integer(step);
    const auto before = fake_driver().counts();
    Outcome outcome;
    ASSERT_TRUE(run(device, there, &outcome).ok());
    EXPECT_FALSE(outcome.skipped);
    Call again = here;
    ASSERT_TRUE(open("reference").value().run(again).ok());
    if (step > 3) {
      EXPECT_EQ(fake_driver().counts().copies_in, before.copies_in);
      EXPECT_EQ(fake_driver().counts().modules, before.modules);
    }
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(fetched(device, there.list[4][i]), bytes_of(here.list[4][i])) << i;
  const std::uint16_t infinite = 0x7c00;
  ASSERT_TRUE(device.copy_in(static_cast<std::byte*>(there.list[2][3].data) + 20, &infinite, 2).ok());
  Outcome outcome;
  ASSERT_TRUE(run(device, there, &outcome).ok());
  EXPECT_TRUE(outcome.skipped);
  EXPECT_EQ(outcome.skipped_tensor, 2);
  EXPECT_EQ(outcome.skipped_position, 10);
  EXPECT_TRUE(run(device, there).ok());
  EXPECT_TRUE(device.wait().ok());
}

// A step that may be called off drains the stream only where somebody asks whether it was.
TEST_F(GpuMachineTest, NobodyWaitsForAnOutcomeThatNobodyAsksFor) {
  const Instance instance = made("adamw.step n=300 t=1 type=f16 skip_nonfinite=1");
  Device device = gpu();
  std::vector<Buffer> buffers;
  const Call there = moved(device, instance.call(), buffers);
  keep(there);
  const Operands& set = there.list[0];
  const AdamwTensor tensor{set[0], set[1], set[2], set[3]};
  bool skipped = true;
  AdamwStep step{.tensors = {&tensor, 1}, .t = 1, .skip_nonfinite = true};
  ASSERT_TRUE(adamw_step(device, step).ok());  // compiled, and the table is there
  ASSERT_TRUE(device.wait().ok());
  const auto before = fake_driver().counts();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(adamw_step(device, step).ok());
  EXPECT_EQ(fake_driver().counts().waits, before.waits);
  EXPECT_EQ(fake_driver().counts().copies_out, before.copies_out);
  EXPECT_EQ(fake_driver().counts().launches, before.launches + 10);
  step.skipped = &skipped;
  ASSERT_TRUE(adamw_step(device, step).ok());
  EXPECT_FALSE(skipped);
  EXPECT_GT(fake_driver().counts().waits, before.waits);
}

TEST_F(GpuMachineTest, ListsOnTheHostAreCopiedInAndOut) {
  const char* line = "adamw.step n=5+300+7001 t=3 type=f16 master=no+yes shift=0+1";
  const Instance expected = made(line), found = made(line);
  Call here = expected.call();
  ASSERT_TRUE(open("reference").value().run(here).ok());
  Device device = gpu();
  const Status status = run(device, found.call());
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t t = 0; t < 3; ++t)
    for (std::size_t i = 0; i < 5; ++i)
      if (here.list[t][i].present()) {
        EXPECT_EQ(bytes_of(here.list[t][i]), bytes_of(found.call().list[t][i]));
      }
  EXPECT_LT(device.memory()->in_use, 100000);  // the table, and the ring of flags
}

TEST_F(GpuMachineTest, RunningOutOfMemoryIsSaidAndChangesNothing) {
  const Instance instance = made("softmax.forward rows=300 cols=4096 type=f16");
  const Call call = instance.call();
  const auto y = bytes_of(call.operands[1]);
  Device device = gpu();
  fake_driver().memory(3 << 20);
  const Status status = run(device, call);
  fake_driver().memory(std::size_t{512} << 20);
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("out of memory"), std::string::npos) << status.message();
  EXPECT_EQ(bytes_of(call.operands[1]), y);
  EXPECT_EQ(device.memory()->in_use, 0);
  EXPECT_TRUE(run(device, call).ok());
}

TEST_F(GpuMachineTest, CopiesAreCheckedAndMarksTell) {
  Device device = gpu();
  Buffer buffer = device.allocate(1 << 20).value(), pinned = device.allocate_pinned(1 << 20).value();
  std::vector<std::byte> host(1 << 20, std::byte{3});
  EXPECT_EQ(device.allocate(-1).status().code(), Code::invalid);
  EXPECT_EQ(device.copy_in(nullptr, host.data(), 5).code(), Code::invalid);
  EXPECT_EQ(device.copy_in(host.data(), host.data(), 5).code(), Code::invalid);
  EXPECT_EQ(device.copy_out(buffer.data(), buffer.data(), 5).code(), Code::invalid);
  EXPECT_EQ(device.copy_in(buffer.data(), host.data(), (1 << 20) + 1).code(), Code::invalid);
  EXPECT_TRUE(device.copy_in(nullptr, nullptr, 0).ok());
  const Mark begin = device.mark().value();
  ASSERT_TRUE(device.copy_in(buffer.data(), host.data(), 1 << 20).ok());
  std::memset(host.data(), 0, host.size());
  ASSERT_TRUE(device.copy_out(pinned.data(), buffer.data(), 1 << 20).ok());
  const Mark end = device.mark().value();
  EXPECT_GE(device.seconds_between(begin, end).value(), 0);
  EXPECT_EQ(static_cast<std::byte*>(pinned.data())[12345], std::byte{3});
  EXPECT_EQ(device.memory()->in_use, 1 << 20);
  Buffer taken = std::move(buffer);
  taken.reset();
  EXPECT_EQ(device.memory()->in_use, 0);
  EXPECT_EQ(device.memory()->cached, 1 << 20);
  ASSERT_TRUE(device.trim().ok());
  EXPECT_EQ(device.memory()->cached, 0);
}

TEST(DeviceMemoryTest, HostDevicesWorkInTheHostsMemory) {
  for (const char* name : {"cpu", "reference"}) {
    Device device = open(name).value();
    Buffer buffer = device.allocate(1000).value();
    const int given = 42;
    int found = 0;
    ASSERT_TRUE(device.copy_in(buffer.data(), &given, sizeof(given)).ok());
    ASSERT_TRUE(device.copy_out(&found, buffer.data(), sizeof(found)).ok());
    EXPECT_EQ(found, 42);
    EXPECT_EQ(device.memory()->in_use, 1000);
    buffer.reset();
    EXPECT_EQ(device.memory()->in_use, 0);
    EXPECT_TRUE(device.wait().ok());
    EXPECT_TRUE(device.trim().ok());
    const Mark a = device.mark().value(), b = device.mark().value();
    EXPECT_GE(device.seconds_between(a, b).value(), 0);
  }
}

// A choice of three values: a plan may depend on each of them, so the third is not the second's.
TEST(MemoTest, CallsThatDifferInWhatAPlanMayAskAreKeptApart) {
  const Contract* contract = find_contract("cross_entropy.forward_backward");
  Contract three = *contract;
  const int reduction = three.option_index("reduction");
  three.options[static_cast<std::size_t>(reduction)].choices = {"none", "mean", "sum"};
  Memo memo;
  std::set<std::string> keys;
  for (const std::int64_t value : {0, 1, 2}) {
    Call call;
    call.contract = &three;
    call.options[static_cast<std::size_t>(reduction)] = option_integer(value);
    keys.insert(memo.key_of(call));
  }
  EXPECT_EQ(keys.size(), 3u);
}

// As many scalars and options as there may be: the last ones are in the key too.
TEST(MemoTest, TheLastScalarAndOptionAreInTheKey) {
  Contract full = *find_contract("softmax.forward");
  full.options.resize(kMaxOptions, {"o", OptionKind::f32, {}, "", nullptr, ""});
  Memo memo;
  Call call;
  call.contract = &full;
  const std::string plain = memo.key_of(call);
  for (std::size_t i = 0; i < kMaxScalars; ++i) {
    Call other = call;
    other.scalars[i] = 1;
    EXPECT_NE(memo.key_of(other), plain) << "scalar " << i;
  }
  for (std::size_t i = 0; i < kMaxOptions; ++i) {
    Call other = call;
    other.options[i] = option_f32(1);
    EXPECT_NE(memo.key_of(other), plain) << "option " << i;
  }
}

}  // namespace
}  // namespace tokitai::gpu
