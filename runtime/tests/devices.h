// One device of every kind that runs without a GPU: the driver of `cuda:N` here only pretends.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "compiler/compiler.h"
#include "machines/gpu/tests/fake_driver.h"
#include "tokitai/tokitai.h"

namespace tokitai {

inline Device opened(const std::string& name, const DeviceOptions& options = {}) {
  setenv("TOKITAI_WORKER", TK_WORKER, 1);
  setenv("TOKITAI_CUDA_DRIVER", TK_FAKE_DRIVER, 1);
  auto device = open(name, options);
  EXPECT_TRUE(device.ok()) << device.status().message();
  return std::move(device).value();
}

// What the driver that pretends has open.
inline gpu::fake::Counts driver_counts() {
  static const auto ask =
      reinterpret_cast<decltype(&fake_counts)>(dlsym(dlopen(TK_FAKE_DRIVER, RTLD_NOW), "fake_counts"));
  gpu::fake::Counts counts;
  ask(&counts);
  return counts;
}

// Softmax of a few rows on that device, over the host's memory.
struct Softmax {
  static constexpr std::int64_t kRows = 64, kCols = 300;
  std::vector<float> x = std::vector<float>(kRows * kCols), y = x;

  Softmax() {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1000) * 0.01f;
  }
  SoftmaxForward call() { return {.x = matrix(x.data(), kRows, kCols), .y = matrix(y.data(), kRows, kCols)}; }
  Status run(Device& device) { return softmax_forward(device, call()); }
};

class EveryDevice : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (name() == "lockstep" && !compiler::toolchain(compiler::Vendor::host).ok()) GTEST_SKIP() << "no host compiler";
  }
  static std::string name() { return GetParam(); }
  static bool works_in_forks() { return name() == "cpu" || name() == "reference"; }
  // Kernels for GPUs need NVIDIA's compiler; all else of them can be asked for.
  static bool calls() { return !name().starts_with("cuda"); }
};
inline constexpr const char* kDevices[] = {"cpu", "reference", "lockstep", "worker:cpu", "cuda:0"};
inline std::string device_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase(name, ':');
  return name;
}

}  // namespace tokitai
