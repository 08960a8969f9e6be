// Buffers and marks outlive every Device of their machine, in any order, and are nobody else's.
#include "runtime/tests/devices.h"

#include <cstring>
#include <optional>

namespace tokitai {
namespace {

class Lifetime : public EveryDevice {};
INSTANTIATE_TEST_SUITE_P(Runtime, Lifetime, ::testing::ValuesIn(kDevices), device_name);

TEST_P(Lifetime, MarksAndBuffersOutliveTheirDevice) {
  for (int first = 0; first < 3; ++first) {
    std::optional<Device> device = opened(name());
    std::optional<Mark> mark = device->mark().value();
    std::optional<Buffer> buffer = device->allocate(1000).value(), pinned = device->allocate_pinned(1000).value();
    std::memset(pinned->data(), 7, 1000);
    ASSERT_TRUE(device->copy_in(buffer->data(), pinned->data(), 1000).ok());
    device.reset();
    if (first == 0) mark.reset();
    if (first == 1) buffer.reset();
    if (first == 2) pinned.reset();
  }
}

TEST_P(Lifetime, CopiesOfADeviceShareItsMachine) {
  std::optional<Device> one = opened(name());
  Device other = *one;
  const Mark begin = one->mark().value();
  one.reset();
  EXPECT_GE(other.seconds_between(begin, other.mark().value()).value(), 0);
}

TEST_P(Lifetime, AMarkTakesThePlaceOfTheLastOneOfAnotherMachine) {
  Mark mark = opened(name()).mark().value();
  mark = opened(name()).mark().value();
  const Mark copy = mark;
  mark = Mark();
  EXPECT_FALSE(mark);
  EXPECT_TRUE(copy);
}

TEST_P(Lifetime, MarksOfAnotherDeviceAreRefused) {
  Device device = opened(name());
  Device same = opened(name()), other = opened(name() == "cpu" ? "cuda:1" : "cpu");
  const Mark mine = device.mark().value();
  for (Device* stranger : {&same, &other}) {
    const Mark theirs = stranger->mark().value();
    EXPECT_EQ(device.seconds_between(mine, theirs).status().message(),
              "the time between two marks: the later one is of another device (" + stranger->name() + "), not of " +
                  device.name());
    EXPECT_EQ(device.seconds_between(theirs, mine).status().message(),
              "the time between two marks: the earlier one is of another device (" + stranger->name() + "), not of " +
                  device.name());
    EXPECT_EQ(device.seconds_between(theirs, theirs).status().code(), Code::invalid);
  }
  EXPECT_NE(device.seconds_between(mine, Mark()).status().message().find("the later one was not made"),
            std::string::npos);
  EXPECT_NE(device.seconds_between(Mark(), mine).status().message().find("the earlier one was not made"),
            std::string::npos);
}

// A device whose calls are done when they return keeps any order, so that code for several streams runs on each.
TEST_P(Lifetime, StreamsOrderEachOtherByMarksAndOutliveTheirDevice) {
  std::optional<Device> device = opened(name());
  Device stream = device->on_new_stream().value();
  EXPECT_EQ(stream.name(), device->name());
  const Mark begin = device->mark().value();
  ASSERT_TRUE(stream.wait(begin).ok());
  const Mark end = stream.mark().value();
  ASSERT_TRUE(device->wait(end).ok());
  EXPECT_GE(device->seconds_between(begin, end).value(), 0);
  EXPECT_EQ(stream.wait(Mark()).message(), "waiting for a mark: it was not made");
  Device other = opened(name() == "cpu" ? "reference" : "cpu");
  EXPECT_EQ(stream.wait(other.mark().value()).message(),
            "waiting for a mark: it is of another device (" + other.name() + "), not of " + name());
  if (name() != "cuda:0") {
    EXPECT_EQ(stream.on(nullptr).status().message(), "the device " + name() + " has no streams");
  }
  device.reset();
  EXPECT_TRUE(stream.allocate(100).ok());
  EXPECT_TRUE(stream.wait().ok());
}

TEST_P(Lifetime, WhatIsRefusedHoldsNothing) {
  auto refused = [&] {
    Device device = opened(name());
    return device.allocate(-1);
  }();
  EXPECT_FALSE(refused.ok());
  auto made = [&] {
    Device device = opened(name());
    return device.allocate(100);
  }();
  Buffer buffer = std::move(made).value();
  EXPECT_EQ(buffer.size(), 100);
}

// Seen from the driver: the context is open as long as anything holds the machine, and then nothing is left.
TEST(Lifetime, AMarkKeepsTheDriversContextOpen) {
  const gpu::fake::Counts before = driver_counts();
  std::optional<Device> device = opened("cuda:0");
  std::optional<Mark> mark = device->mark().value();
  const int open = driver_counts().contexts;
  EXPECT_EQ(open, before.contexts + 1);
  device.reset();
  EXPECT_EQ(driver_counts().contexts, open);
  mark.reset();
  EXPECT_EQ(driver_counts().contexts, before.contexts);
  EXPECT_EQ(driver_counts().events, before.events);
  EXPECT_EQ(driver_counts().streams, before.streams);
}

}  // namespace
}  // namespace tokitai
