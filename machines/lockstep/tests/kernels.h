// What the engine's tests share: buffers, and a kernel run under every schedule.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "machines/device/memory.h"
#include "machines/lockstep/engine.h"

namespace tokitai::device {
using lockstep::Finding;
using lockstep::Launch;
using lockstep::Memory;
using lockstep::Report;
using lockstep::Schedule;

inline constexpr Schedule kSchedules[] = {Schedule::ascending, Schedule::descending, Schedule::random,
                                          Schedule::preempt};

// A buffer of a test. The allocator's 16 bytes of alignment are enough for every access.
template <class T> struct Buffer {
  explicit Buffer(int count, T value = T{}) : data(static_cast<std::size_t>(count), value) {}
  std::vector<T> data;
  Global<T> at() { return global<T>(data.data()); }
  lockstep::Range range(const char* name, bool readable, bool writable) {
    const auto bytes = static_cast<std::int64_t>(data.size() * sizeof(T));
    return {data.data(), 1, bytes, bytes, readable, writable, name};
  }
  lockstep::Range input(const char* name) { return range(name, true, false); }
  lockstep::Range output(const char* name) { return range(name, false, true); }
  lockstep::Range both(const char* name) { return range(name, true, true); }
};

inline std::string words(const Report& report) {
  std::string text;
  for (const Finding& f : report.findings) text += f.text + "\n";
  return text;
}

struct Problem {
  Launch launch;
  std::vector<lockstep::Range> ranges;
};

inline Report run_once(const Problem& problem, Schedule schedule, const std::function<void()>& kernel) {
  Memory memory;
  for (const auto& range : problem.ranges) memory.add(range);
  return lockstep::run(problem.launch, memory, schedule, 7, kernel);
}

// `reset` puts the buffers back; `right` looks at the result.
template <class Reset, class Right>
void expect_clean(Problem problem, const std::function<void()>& kernel, Reset reset, Right right) {
  for (const int warp : {32, 64})
    for (const Schedule schedule : kSchedules) {
      problem.launch.warp = warp;
      reset();
      const Report report = run_once(problem, schedule, kernel);
      EXPECT_TRUE(report.clean()) << words(report);
      EXPECT_TRUE(right()) << "schedule " << static_cast<int>(schedule) << ", warp " << warp;
    }
}
inline void expect_finding(
    const Problem& problem, Finding::Kind kind, const std::function<void()>& kernel, const std::string& part = "",
    const std::function<void()>& reset = [] {}) {
  for (const Schedule schedule : kSchedules) {
    reset();
    const Report report = run_once(problem, schedule, kernel);
    EXPECT_TRUE(report.has(kind)) << "schedule " << static_cast<int>(schedule) << ":\n" << words(report);
    for (const Finding& f : report.findings) EXPECT_EQ(f.kind, kind) << f.text;
    EXPECT_NE(words(report).find(part), std::string::npos) << words(report);
  }
}
inline constexpr auto kNothing = [] {};

}  // namespace tokitai::device
