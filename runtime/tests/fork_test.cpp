// What a device does in a fork of the process that opened it, as Python's multiprocessing makes them: `cpu` and
// `reference` work, the others refuse; none hangs, and none of it is noticed by the parent.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

#include "runtime/tests/devices.h"
#include "server/child.h"
#include "server/tests/serving.h"

namespace tokitai {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadsInForks = false;  // the sanitizer ends a fork that starts some
#else
constexpr bool kThreadsInForks = true;
#endif

// What `work` answers in a fork, or a signal; SIGALRM: it hung.
constexpr int kSignal = 1000;
pid_t forked(const std::function<int()>& work) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  ::alarm(60);
  _exit(work());
}
int answer_of(pid_t process) {
  int how = -1;
  while (::waitpid(process, &how, 0) < 0 && errno == EINTR) {}
  return WIFSIGNALED(how) ? kSignal + WTERMSIG(how) : WEXITSTATUS(how);
}
int in_fork(const std::function<int()>& work) { return answer_of(forked(work)); }

bool refused(const Status& status) {
  return status.code() == Code::unavailable && status.message().find("not to a fork of it") != std::string::npos;
}

class Fork : public EveryDevice {
  void SetUp() override {
    EveryDevice::SetUp();
    if (!kThreadsInForks && name() == "cpu") GTEST_SKIP() << "starts threads in a fork";
  }
};
INSTANTIATE_TEST_SUITE_P(Runtime, Fork, ::testing::ValuesIn(kDevices), device_name);

TEST_P(Fork, WorksOrRefusesAndTheParentDoesNotNotice) {
  std::optional<Device> device = opened(name(), name() == "cuda:0" ? DeviceOptions() : DeviceOptions{.threads = 3});
  Softmax parent, child;
  ASSERT_TRUE(!calls() || parent.run(*device).ok());
  std::optional<Buffer> buffer = device->allocate(4096).value(), pinned = device->allocate_pinned(4096).value();
  std::optional<Mark> mark = device->mark().value();
  const std::vector<char> written(4096, 0x42);
  ASSERT_TRUE(device->copy_in(buffer->data(), written.data(), 4096).ok());
  const auto workers = server::children();

  const int answer = in_fork([&] {
    const Status ran = child.run(*device);
    if (works_in_forks() ? !ran.ok() || child.y != parent.y : !refused(ran)) return 1;
    char byte = 0;
    const Status asked[] = {device->allocate(10).status(),
                            device->allocate_pinned(10).status(),
                            device->copy_in(buffer->data(), &byte, 1),
                            device->copy_out(&byte, buffer->data(), 1),
                            device->copy(buffer->data(), buffer->data(), 1),
                            device->wait(),
                            device->memory().status(),
                            device->trim(),
                            device->mark().status(),
                            device->wait(*mark),
                            device->on_new_stream().status(),
                            device->seconds_between(*mark, *mark).status(),
                            device->holds(&byte).status(),
                            device->tensor<float>(10).status()};
    int number = 10;
    for (const Status& status : asked) {
      if (works_in_forks() ? !status.ok() : !refused(status)) return number;
      ++number;
    }
    static_cast<void>(device->kernels().size() + device->description().size());
    static_cast<void>(device->scratch_bytes() + device->access_checks().accesses);
    device.reset();
    buffer.reset();
    pinned.reset();
    mark.reset();
    return 0;
  });
  EXPECT_EQ(answer, 0);

  EXPECT_EQ(server::children(), workers);
  std::vector<char> found(4096);
  ASSERT_TRUE(device->copy_out(found.data(), buffer->data(), 4096).ok());
  EXPECT_EQ(found, written);
  EXPECT_GE(device->seconds_between(*mark, device->mark().value()).value(), 0);
  if (calls()) {
    const std::vector<float> before = parent.y;
    ASSERT_TRUE(parent.run(*device).ok());
    EXPECT_EQ(parent.y, before);
  }
}

// As a program that forks and returns from main: what was made statically goes, too.
TEST_P(Fork, EndsByExitWithoutHarm) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's search for leaks warns of threads that a fork does not have";
#endif
  static std::optional<Device> device;
  static std::optional<Buffer> buffer;
  device = opened(name());
  buffer = device->allocate(4096).value();
  Softmax softmax;
  ASSERT_TRUE(!calls() || softmax.run(*device).ok());
  const pid_t process = ::fork();
  if (process == 0) {
    ::alarm(60);
    device.reset();
    buffer.reset();
    std::exit(7);
  }
  EXPECT_EQ(answer_of(process), 7);
  EXPECT_TRUE(!calls() || softmax.run(*device).ok());
  buffer.reset();
  device.reset();
}

// Locks that other threads held when the process was forked stay locked there for ever.
TEST_P(Fork, WhileOtherThreadsAreInsideCallsHangsNowhere) {
  if (!calls()) GTEST_SKIP() << "no kernels";
  Device device = opened(name(), {.threads = 3});
  Softmax first;
  ASSERT_TRUE(first.run(device).ok());
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      for (Softmax softmax; !stop;) EXPECT_TRUE(softmax.run(device).ok());
    });
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(in_fork([&] {
                Softmax child;
                const Status ran = child.run(device);
                static_cast<void>(device.kernels().size() + device.access_checks().accesses);
                return (works_in_forks() ? ran.ok() && child.y == first.y : refused(ran)) ? 0 : 1;
              }),
              0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(ForkOfCpu, ServesSeveralThreadsFromTheirFirstCallsOn) {
  if (!kThreadsInForks) GTEST_SKIP() << "starts threads in a fork";
  Device device = opened("cpu", {.threads = 3});
  Softmax first;
  ASSERT_TRUE(first.run(device).ok());
  EXPECT_EQ(in_fork([&] {
              std::atomic<int> right = 0;
              std::vector<std::thread> threads;
              for (int i = 0; i < 4; ++i)
                threads.emplace_back([&] {
                  for (int call = 0; call < 20; ++call) {
                    Softmax softmax;
                    right += softmax.run(device).ok() && softmax.y == first.y;
                  }
                });
              for (std::thread& thread : threads) thread.join();
              return right == 80 ? 0 : 1;
            }),
            0);
}

TEST(ForkOfCpu, ForksAgain) {
  if (!kThreadsInForks) GTEST_SKIP() << "starts threads in a fork";
  Device device = opened("cpu", {.threads = 3});
  Softmax first;
  ASSERT_TRUE(first.run(device).ok());
  const auto right = [&] {
    Softmax softmax;
    return softmax.run(device).ok() && softmax.y == first.y;
  };
  EXPECT_EQ(in_fork([&] {
              if (!right()) return 1;
              const int inner = in_fork([&] { return right() ? 0 : 1; });
              return inner == 0 && right() ? 0 : 2;
            }),
            0);
  EXPECT_TRUE(right());
}

// What a process does once, at its first use, another thread may be about when it is forked: nobody finishes it there.
// Only a process that has used nothing yet shows it, so the test starts itself anew and forks from there.
TEST(Forked, BesideTheFirstUseOfAnotherThreadHangsNowhere) {
  if (!kThreadsInForks) GTEST_SKIP() << "starts threads in a fork";
  constexpr const char* kFresh = "TOKITAI_TEST_FRESH";
  if (std::getenv(kFresh) == nullptr) {
    EXPECT_EQ(in_fork([&] {
                ::alarm(600);
                setenv(kFresh, "1", 1);
                const char* filter = "--gtest_filter=Forked.BesideTheFirstUseOfAnotherThreadHangsNowhere";
                ::execl("/proc/self/exe", "runtime_test", filter, nullptr);
                return 1;
              }),
              0);
    return;
  }
  const auto use = [](const char* name) {
    std::vector<float> x(16, 1), y(16);
    auto device = open(name, {.threads = 1});
    return device.ok() && softmax_forward(device.value(), {.x = matrix(x, 1, 16), .y = matrix(y, 1, 16)}).ok();
  };
  for (int i = 0; i < 400 && !HasFailure(); ++i) {
    const char* name = i % 2 == 0 ? "reference" : "cpu";
    EXPECT_EQ(in_fork([&] {
                std::atomic<bool> begun = false, right = false;
                std::thread other([&] {
                  begun = true;
                  right = use(name);
                });
                while (!begun) {}
                for (volatile int wait = 0; wait < i * 7919 % 60000;) wait = wait + 1;
                const pid_t inner = forked([&] {
                  ::alarm(20);
                  return use(name) ? 0 : 1;
                });
                const int answer = answer_of(inner);
                other.join();
                return answer == 0 && right ? 0 : 1;
              }),
              0)
        << name << ", try " << i;
  }
}

// Each opens a device of its own there.
TEST(Forked, OpensDevicesOfItsOwn) {
  if (!kThreadsInForks) GTEST_SKIP() << "starts threads in a fork";
  Device worker = opened("worker:cpu"), gpu = opened("cuda:0");
  EXPECT_EQ(in_fork([&] {
              Softmax softmax;
              Device own = opened("worker:cpu");
              if (!softmax.run(own).ok()) return 1;
              const Status status = open("cuda:0").status();
              return status.code() == Code::unavailable &&
                             status.message().find("opened before this process was forked") != std::string::npos
                         ? 0
                         : 2;
            }),
            0);
}

// A fork that lives on has the worker's connection as well. Its parent hangs up all the same, and the worker ends by
// itself: it does not have to be killed.
TEST(Forked, OneThatLivesOnKeepsNoWorkerFromEnding) {
  setenv("TOKITAI_WORKER", TK_WORKER, 1);
  server::Starter starter;
  auto child = server::Child::start(starter, TK_WORKER);
  ASSERT_TRUE(child.ok()) << child.status().message();
  const pid_t fork = forked([] { return ::pause(); });
  EXPECT_EQ(child->end(std::chrono::seconds(30)).value(), "ended with exit code 0");
  ::kill(fork, SIGKILL);
  EXPECT_EQ(answer_of(fork), kSignal + SIGKILL);
}

// What a device says of itself stands while its workers are killed and replaced, and in forks.
TEST(WorkersThatAreKilled, ChangeNothingOfWhatTheirDeviceSays) {
  Device device = opened("worker:cpu", {.threads = 2});
  const std::string said = device.description();
  const auto same = [&] {
    return device.description() == said && device.threads() == 2 && device.name() == "worker:cpu" &&
           device.scratch_bytes() == 0 && device.kernels().empty() && device.access_checks().accesses == 0 &&
           device.memory().ok();
  };
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::thread asks([&] {
    while (!stop) wrong += same() ? 0 : 1;
  });
  for (int i = 0; i < 10; ++i) {
    for (const auto& worker : server::children()) ::kill(worker, SIGKILL);
    Softmax softmax;
    EXPECT_TRUE(softmax.run(device).ok());
  }
  stop = true;
  asks.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(in_fork([&] { return device.description() == said && device.threads() == 2 ? 0 : 1; }), 0);
}

TEST(Forked, OneThatLivesOnKeepsNoConnectionToAServer) {
  const server::Serving serving;
  std::optional<Device> device = opened(serving.device());
  Softmax softmax;
  ASSERT_TRUE(softmax.run(*device).ok());
  EXPECT_EQ(in_fork([&] { return refused(softmax.run(*device)) ? 0 : 1; }), 0);
  ASSERT_TRUE(softmax.run(*device).ok());
  EXPECT_EQ(serving.state().clients, 1);
  const pid_t fork = forked([] { return ::pause(); });
  device.reset();
  for (int i = 0; i < 500 && serving.state().clients != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(serving.state().clients, 0);
  ::kill(fork, SIGKILL);
  EXPECT_EQ(answer_of(fork), kSignal + SIGKILL);
}

}  // namespace
}  // namespace tokitai
