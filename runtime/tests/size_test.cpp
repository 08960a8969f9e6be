// Sizes that no memory has are refused with the size and the limit, whatever the device; none is rounded past the end
// of its integer on the way.
#include <fmt/format.h>

#include <limits>

#include "runtime/tests/devices.h"

namespace tokitai {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHostRefuses = false;  // a sanitizer's allocator ends the program instead
#else
constexpr bool kHostRefuses = true;
#endif
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

class Sizes : public EveryDevice {};
INSTANTIATE_TEST_SUITE_P(Runtime, Sizes, ::testing::ValuesIn(kDevices), device_name);

TEST_P(Sizes, OfBuffersBeyondTheLimitAreRefusedByNumber) {
  Device device = opened(name());
  for (const std::int64_t bytes : {kHuge, kHuge - 255, kHuge - 4095, kMostBytes + 1})
    for (const bool pinned : {false, true}) {
      const Status status = (pinned ? device.allocate_pinned(bytes) : device.allocate(bytes)).status();
      EXPECT_EQ(status.code(), Code::invalid);
      EXPECT_EQ(status.message(),
                "a buffer of " + std::to_string(bytes) + " bytes; the most is " + std::to_string(kMostBytes));
    }
}

TEST_P(Sizes, OfBuffersThatNoMachineHasAreRefusedByNumber) {
  Device device = opened(name());
  for (const std::int64_t bytes : {kMostBytes, kMostBytes - 1, kMostBytes / 2 + 12345})
    for (const bool pinned : {false, true}) {
      const bool of_host = pinned || (name() != "worker:cpu" && name() != "cuda:0");
      if (of_host && !kHostRefuses) continue;
      const Status status = (pinned ? device.allocate_pinned(bytes) : device.allocate(bytes)).status();
      EXPECT_EQ(status.code(), Code::unavailable);
      EXPECT_NE(status.message().find(std::to_string(bytes)), std::string::npos) << status.message();
    }
  EXPECT_EQ(device.memory()->in_use, 0);
  EXPECT_TRUE(device.allocate(0).ok());
}

TEST_P(Sizes, OfCopiesAreRefusedByNumber) {
  Device device = opened(name());
  auto buffer = device.allocate(64);
  ASSERT_TRUE(buffer.ok());
  std::byte host[64]{};
  for (const std::int64_t bytes : {std::int64_t{-1}, kMostBytes + 1, kHuge})
    for (const Status& status :
         {device.copy_in(buffer->data(), host, bytes), device.copy_out(host, buffer->data(), bytes),
          device.copy(buffer->data(), buffer->data(), bytes)}) {
      EXPECT_EQ(status.code(), Code::invalid) << bytes;
      EXPECT_NE(status.message().find(fmt::format("a copy of {} bytes", bytes)), std::string::npos) << status.message();
    }
}

TEST_P(Sizes, OfTensorsAreRefusedByShape) {
  Device device = opened(name());
  EXPECT_EQ(device.tensor<f16>(kHuge, 2).status().message(),
            "a tensor of shape [9223372036854775807, 2] and type f16 takes more than 2^48 bytes");
  EXPECT_EQ(device.tensor<float>(std::int64_t{1} << 32, std::int64_t{1} << 32).status().code(), Code::invalid);
  EXPECT_EQ(device.tensor<float>(kHuge).status().message(),
            "a tensor of shape [9223372036854775807] and type f32 takes more than 2^48 bytes");
  EXPECT_EQ(device.tensor<float>(3, -1).status().message(), "a tensor of shape [3, -1]; sizes must not be negative");
}

// Operands that lie about their size: what has to bring them elsewhere says that it cannot.
TEST_P(Sizes, OfOperandsThatNoMachineHasAreRefused) {
  if (name() != "worker:cpu" && name() != "cuda:0") GTEST_SKIP() << "reads operands where they lie";
  Device device = opened(name());
  auto* nowhere = reinterpret_cast<float*>(std::uintptr_t{1} << 44);
  const std::int64_t rows = 1 << 24, cols = 1 << 21;
  const Status status =
      softmax_forward(device, {.x = matrix(nowhere, rows, cols), .y = matrix(nowhere + rows * cols, rows, cols)});
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("memory"), std::string::npos) << status.message();
}

// Together, not one by one: a sum that wrapped would look small, or like nothing.
TEST(Sizes, OfOperandsTogetherAreRefused) {
  Device device = opened("cpu");
  auto* nowhere = reinterpret_cast<float*>(std::uintptr_t{1} << 44);
  const std::int64_t rows = 1 << 25, cols = 1 << 21;
  const Status status =
      softmax_forward(device, {.x = matrix(nowhere, rows, cols), .y = matrix(nowhere + rows * cols, rows, cols)});
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("2^48 bytes together"), std::string::npos) << status.message();

  std::vector<AdamwTensor> list(64);
  for (AdamwTensor& tensor : list) {
    const std::int64_t n = std::int64_t{1} << 40;
    tensor = {vector(nowhere, n), vector(nowhere, n), vector(nowhere, n), vector(nowhere, n)};
  }
  const Status listed = adamw_step(device, {.tensors = list, .t = 1});
  EXPECT_EQ(listed.code(), Code::invalid);
  EXPECT_NE(listed.message().find("theta[list index 16] take more than 2^48 bytes together"), std::string::npos)
      << listed.message();
}

}  // namespace
}  // namespace tokitai
