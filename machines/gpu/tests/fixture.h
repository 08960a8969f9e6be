// A GPU machine on the fake driver, and calls with their operands there. Kernels are compiled for real; without NVRTC
// there is nothing to test.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "machines/gpu/machine.h"
#include "machines/gpu/tests/fake_driver.h"
#include "problems/instance.h"
#include "tokitai/tokitai.h"

namespace tokitai::gpu {

using problems::Instance;

// The driver's own functions too, as another library of the process would call them.
struct Fake {
  void* library;
  template <class F> F* find(const char* name) const { return reinterpret_cast<F*>(dlsym(library, name)); }

  decltype(&fake_runner) runner = find<decltype(fake_runner)>("fake_runner");
  decltype(&fake_memory) memory = find<decltype(fake_memory)>("fake_memory");
  decltype(&fake_schedule) schedule = find<decltype(fake_schedule)>("fake_schedule");
  decltype(&fake_recording) recording = find<decltype(fake_recording)>("fake_recording");
  fake::Counts counts() const {
    fake::Counts all;
    find<decltype(fake_counts)>("fake_counts")(&all);
    return all;
  }
};

inline const Fake& fake_driver() {
  static const Fake all = [] {
    setenv("TOKITAI_CUDA_DRIVER", TK_FAKE_DRIVER, 1);
    void* library = dlopen(TK_FAKE_DRIVER, RTLD_NOW);
    EXPECT_NE(library, nullptr) << dlerror();
    return Fake{library};
  }();
  return all;
}

class FakeGpuTest : public ::testing::Test {
 protected:
  explicit FakeGpuTest(fake::Runner runner) : runner_(runner) {}
  void SetUp() override {
    if (!compiler::toolchain(compiler::Vendor::nvidia).ok()) GTEST_SKIP() << "no NVRTC";
    fake_driver().runner(runner_);
  }
  static Device gpu(int index = 0) {
    const std::string name = "cuda:" + std::to_string(index);
    auto machine = make_machine(name, {});
    EXPECT_TRUE(machine.ok()) << machine.status().message();
    return {name, machine.value()};
  }
  static Instance made(const std::string& line) {
    auto problems = problems::parse_problems(line);
    EXPECT_TRUE(problems.ok()) << problems.status().message();
    auto instance = Instance::make(problems->front());
    EXPECT_TRUE(instance.ok());
    return std::move(instance).value();
  }
  // The same operands in the device's memory.
  static Call moved(Device& device, const Call& call, std::vector<Buffer>& buffers) {
    Call there = call;
    const auto move = [&](Operands& set) {
      for (View& view : set) {
        if (view.elements() == 0) continue;
        const std::int64_t bytes = problems::extent_of(view);
        buffers.push_back(device.allocate(bytes).value());
        EXPECT_TRUE(device.copy_in(buffers.back().data(), view.data, bytes).ok());
        view.data = buffers.back().data();
      }
    };
    if (call.contract->list)
      for (Operands& set : there.list) move(set);
    else
      move(there.operands);
    return there;
  }
  static std::vector<std::byte> bytes_of(const View& view) {
    const auto* p = static_cast<const std::byte*>(view.data);
    return {p, p + problems::extent_of(view)};
  }
  static std::vector<std::byte> fetched(Device& device, const View& view) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(problems::extent_of(view)));
    EXPECT_TRUE(device.copy_out(bytes.data(), view.data, problems::extent_of(view)).ok());
    return bytes;
  }

 private:
  fake::Runner runner_;
};

// The table of a list; of the operators here only AdamW takes one.
inline const device::Tensor<5>* table_of(const device::Arguments& a) {
  return static_cast<const device::Tensor<5>*>(a.tensors);
}

// What a check kernel leaves in its flag: the first label that is none, or the first gradient that is not finite.
inline void do_check(const Call& call, const device::Arguments& a) {
  for (std::size_t t = 0; t < call.list.size(); ++t)
    for (std::int64_t i = 0; i < table_of(a)[t].length; ++i)
      if ((static_cast<const std::uint16_t*>(table_of(a)[t].data[3])[i] & 0x7c00) == 0x7c00)
        *a.flag = std::min(*a.flag, t << 40 | static_cast<std::uint64_t>(i));
  for (std::int64_t i = 0; i < call.operand(1).rows() && call.list.empty(); ++i)
    if (const auto label = static_cast<const std::int64_t*>(a.operand[1].data)[i]; label < 0 || label >= a.extent[1])
      *a.flag = std::min(*a.flag, static_cast<std::uint64_t>(i));
}

// A kernel's work, by the reference, over the pointers it was given.
inline void do_by_reference(Call call, const device::Arguments& a) {
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    call.operands[i].data = a.operand[i].data;
    if (call.operands[i].rank == 2) call.operands[i].row_stride = a.operand[i].stride;
  }
  for (std::size_t t = 0; t < call.list.size(); ++t)
    for (std::size_t i = 0; i < call.list[t].size(); ++i)
      call.list[t][i].data = i < 5 ? table_of(a)[t].data[i] : nullptr;
  if (a.flag != nullptr && *a.flag != device::kUnflagged) return;
  const Status status = open("reference")->run(call);
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace tokitai::gpu
