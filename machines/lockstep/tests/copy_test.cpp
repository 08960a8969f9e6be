// Asynchronous copies: nothing is there before the wait, and then only for the thread that waited.
#include <gtest/gtest.h>

#include "machines/lockstep/engine.h"
#include "machines/lockstep/tests/kernels.h"

namespace tokitai::device {
namespace {

void copy_and_turn(Global<const Words<4>> x, Global<Words<4>> y, bool with_wait, bool with_barrier, int partner) {
  const Shared<Words<4>> box = shared<Words<4>>(0);
  copy_async<16>(box + thread_index(), x + thread_index());
  copy_commit();
  if (with_wait) copy_wait<0>();
  if (with_barrier) barrier();
  y[thread_index()] = box[thread_index() ^ partner];
}
struct Turn {
  Buffer<Words<4>> x{64}, y{64};
  Problem problem{{.name = "copy", .block = 64, .shared_bytes = 1024}, {x.input("x"), y.output("y")}};
  Turn() {
    for (u32 i = 0; i < 64; ++i) x.data[i] = {{i, i + 1, i + 2, i + 3}};
  }
};
TEST(Lockstep, AsynchronousCopyArrivesAfterTheWait) {
  Turn s;
  expect_clean(
      s.problem, [&] { copy_and_turn(s.x.at(), s.y.at(), true, true, 33); }, kNothing,
      [&] { return s.y.data[0].word[3] == 36 && s.y.data[63].word[0] == 30; });
  expect_clean(
      s.problem, [&] { copy_and_turn(s.x.at(), s.y.at(), true, false, 0); }, kNothing,
      [&] { return s.y.data[5].word[0] == 5; });
}
TEST(Lockstep, MissingWaitReadsWhatIsNotThere) {
  Turn s;
  expect_finding(s.problem, Finding::uninitialised, [&] { copy_and_turn(s.x.at(), s.y.at(), false, true, 0); });
}
TEST(Lockstep, AWaitIsOnlyForItsOwnThread) {
  Turn s;
  for (const Schedule schedule : kSchedules) {
    const Report report = run_once(s.problem, schedule, [&] { copy_and_turn(s.x.at(), s.y.at(), true, false, 1); });
    EXPECT_TRUE(report.has(Finding::race)) << words(report);
  }
}
TEST(Lockstep, AWaitMayLeaveLaterGroupsPending) {
  Turn s;
  const auto kernel = [&](bool wait_for_all) {
    const Shared<Words<4>> box = shared<Words<4>>(0);
    const int t = thread_index();
    if (t >= 32) return;
    copy_async<16>(box + t, s.x.at() + t);
    copy_commit();
    copy_async<16>(box + (32 + t), s.x.at() + (32 + t));
    copy_commit();
    copy_wait<1>();
    s.y.at()[t] = box[t];
    if (wait_for_all) copy_wait<0>();
    s.y.at()[32 + t] = box[32 + t];
  };
  expect_clean(s.problem, [&] { kernel(true); }, kNothing, [&] { return s.y.data[40].word[0] == 40; });
  expect_finding(s.problem, Finding::uninitialised, [&] { kernel(false); }, "shared memory byte");
}
TEST(Lockstep, ABufferMayNotBeRefilledWhileItIsRead) {
  Buffer<u32> x(64), y(64);
  const Problem problem{{.name = "refill", .block = 32, .shared_bytes = 128}, {x.input("x"), y.output("y")}};
  const auto kernel = [&](bool guarded) {
    const Shared<u32> box = shared<u32>(0);
    const int t = thread_index();
    for (int turn = 0; turn < 2; ++turn) {
      copy_async<4>(box + t, x.at() + (32 * turn + t));
      copy_commit();
      copy_wait<0>();
      barrier();
      y.at()[32 * turn + t] = box[31 - t];
      if (guarded) barrier();
    }
  };
  expect_clean(problem, [&] { kernel(true); }, kNothing, [] { return true; });
  expect_finding(problem, Finding::race, [&] { kernel(false); });
}
TEST(Lockstep, NobodyMayTouchACopyOnItsWay) {
  Buffer<u32> x(32), y(32);
  expect_finding({{.name = "early", .shared_bytes = 128}, {x.input("x"), y.output("y")}}, Finding::race, [&] {
    const Shared<u32> box = shared<u32>(0);
    const int t = thread_index();
    box[t] = 0;
    barrier();
    copy_async<4>(box + t, x.at() + t);
    copy_commit();
    y.at()[t] = box[t];  // the old value, or the new one
    barrier();
    copy_wait<0>();
  });
}

}  // namespace
}  // namespace tokitai::device
