// What a server promises its clients: the device's bits and statuses, turns for all, deadlines, a clean end.
#include "server/serve.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <random>

#include "server/tests/model.h"
#include "server/tests/refused.h"
#include "server/tests/serving.h"
#include "tokitai/tokitai.h"

namespace tokitai::server {
namespace {

using namespace std::chrono_literals;

Status softmax(Device& device, float value, bool& right) {
  std::vector<float> x(1000, value), y(1000, -1);
  const Status status = softmax_forward(device, {.x = matrix(x.data(), 1, 1000), .y = matrix(y.data(), 1, 1000)});
  right = y == std::vector<float>(1000, status.ok() ? 1.0f / 1000 : -1);
  return status;
}

TEST(Serve, ClientsGetTheDevicesStatusesAndDescription) {
  const Serving serving;
  Device inner = open("cpu", {.threads = 2}).value(), outer = open(serving.device()).value();
  EXPECT_EQ(outer.threads(), 2);
  EXPECT_EQ(outer.description(), inner.description() + ", of the server at " + serving.path().string());
  expect_the_same_refusal(inner, outer);
  std::vector<float> x(300 * 50), y(300 * 50);
  const SoftmaxForward call{.x = matrix(x.data(), 50, 300), .y = matrix(y.data(), 50, 300)};
  EXPECT_EQ(workspace(outer, call).value(), workspace(inner, call).value());
}

TEST(Serve, OptionsThatMakeNoSenseAreRefused) {
  const Serving serving;
  EXPECT_EQ(open("unix:").status().code(), Code::invalid);
  EXPECT_EQ(open("unix:" + std::string(200, 'x')).status().code(), Code::invalid);
  EXPECT_EQ(open("unix:/nonexistent/socket").status().code(), Code::unavailable);
  EXPECT_EQ(open(serving.device(), {.threads = 2}).status().code(), Code::invalid);
  EXPECT_EQ(open("worker:" + serving.device()).status().code(), Code::invalid);
  ServeOptions options = serve_options();
  options.device = "worker:cpu";
  EXPECT_EQ(Server::make(options).status().code(), Code::invalid);
  options.device = "cuda:99";
  EXPECT_EQ(Server::make(options).status().code(), Code::unavailable);
  EXPECT_FALSE(std::filesystem::exists(options.socket));
  options.device = "cpu";
  options.workers = 0;
  EXPECT_EQ(Server::make(options).status().code(), Code::invalid);
}

TEST(Serve, TheSocketIsItsOwnersAlone) {
  ServeOptions options = serve_options();
  struct stat facts{};
  {
    const Serving serving(options);
    ASSERT_EQ(::lstat(options.socket.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode, S_IFSOCK | 0600u);
    const Status second = Server::make(options).status();  // a live one
    EXPECT_EQ(second.code(), Code::invalid);
    EXPECT_NE(second.message().find("listens at"), std::string::npos) << second.message();
  }
  EXPECT_NE(::lstat(options.socket.c_str(), &facts), 0);  // gone with its server
  ServerProcess(options.socket).kill(SIGKILL);            // perhaps before it listened
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, options.socket.c_str(), sizeof address.sun_path - 1);
  ::unlink(options.socket.c_str());
  {
    const Descriptor left(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(left.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  { const Serving serving(options); }  // what a dead one left is replaced
  const Descriptor file(::open(options.socket.c_str(), O_CREAT | O_RDWR, 0600));
  EXPECT_EQ(Server::make(options).status().code(), Code::invalid);  // anything else is not
  EXPECT_EQ(::lstat(options.socket.c_str(), &facts), 0);
  ::unlink(options.socket.c_str());
}

TEST(Serve, ManyClientsAreServedInTurn) {
  constexpr int kClients = 32, kCalls = 40;
  const Held before = Held::now();
  {
    ServeOptions options = serve_options();
    options.workers = 2;
    const Serving serving(options);
    std::vector<std::thread> threads;
    std::atomic<int> all_right = 0;
    for (int t = 0; t < kClients; ++t)
      threads.emplace_back([&, t] {
        Device device = open(serving.device(), {.shared_bytes = 1 << 20}).value();
        for (int i = 0; i < kCalls; ++i) {
          bool right = false;
          all_right += softmax(device, static_cast<float>(t * i), right).ok() && right;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(all_right, kClients * kCalls);
    const ServerState state = serving.state();
    EXPECT_EQ(state.calls, kClients * kCalls);
    EXPECT_EQ(state.calls_failed, 0);
    EXPECT_EQ(state.connections_taken, kClients + 1);
    EXPECT_EQ(state.restarts, 0);
    EXPECT_EQ(state.workers, 2);
    EXPECT_GT(state.latency_us_50, 0);
    EXPECT_LE(state.latency_us_50, state.latency_us_99);
    EXPECT_LE(state.latency_us_99, state.latency_us_most);
  }
  EXPECT_EQ(Held::after(before), before);
}

// One client keeps ten calls in its socket, another asks one at a time: each gets every other turn.
TEST(Serve, AClientThatSendsAheadDoesNotStarveOthers) {
  ServeOptions options = serve_options();
  options.device = "reference";
  const Serving serving(options);
  constexpr std::int64_t kShared = 1 << 20;
  constexpr std::int64_t kRows = 64, kCols = 2048;
  const auto call = [&] {
    std::vector<float> none(1);
    Call one = bind(SoftmaxForward{.x = matrix(none.data(), kRows, kCols), .y = matrix(none.data(), kRows, kCols)});
    one.operands[0].type = one.operands[1].type = Type::f16;
    return encode(PlacedCall{one, {Places{Place{0, 0}, Place{kShared / 2, kShared / 2}}}});
  }();
  const auto greeted = [&] {
    RawClient raw(serving.path());
    Channel channel = raw.channel();
    const Descriptor memory = memory_of(kShared);
    const std::array<int, 1> sent{memory.get()};
    EXPECT_TRUE(channel.send(Kind::hello, 1, encode(Hello{"", {}, kShared}), Clock::now() + 5s, sent).ok());
    EXPECT_EQ(channel.receive(Clock::now() + 5s)->header.kind, Kind::welcome);
    return channel;
  };
  Channel ahead = greeted(), patient = greeted();
  constexpr std::uint32_t kAhead = 10;
  for (std::uint32_t i = 0; i < kAhead; ++i) ASSERT_TRUE(ahead.send(Kind::call, 100 + i, call, Clock::now() + 5s).ok());
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(patient.send(Kind::call, i, call, Clock::now() + 5s).ok());
    auto answer = patient.receive(Clock::now() + 20s);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_EQ(answer->header.sequence, i);
    EXPECT_TRUE(decode_reply(answer->body)->status.ok()) << decode_reply(answer->body)->status.message();
  }
  EXPECT_LE(serving.state().calls, 3 + 4);  // the other had its turns and no more
  for (std::uint32_t i = 0; i < kAhead; ++i) EXPECT_EQ(ahead.receive(Clock::now() + 20s)->header.sequence, 100 + i);
}

TEST(Serve, AWorkerThatIsStoppedIsReplacedAndTheCallSucceeds) {
  ServeOptions options = serve_options();
  options.device_options.call_seconds = 0.5;
  const Serving serving(options);
  Device device = open(serving.device()).value();
  const auto workers = children();
  ASSERT_EQ(workers.size(), 1u);
  ASSERT_EQ(::kill(workers[0], SIGSTOP), 0);
  bool right = false;
  const Status status = softmax(device, 1, right);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(right);
  EXPECT_EQ(serving.state().restarts, 1);
}

TEST(Serve, ACallThatWaitsTooLongIsToldAndNothingChanges) {
  ServeOptions options = serve_options();
  options.device_options.call_seconds = 20;
  const Serving serving(options);
  Device slow = open(serving.device()).value(), hurried = open(serving.device(), {.call_seconds = 0.2}).value();
  const auto workers = children();
  ASSERT_EQ(::kill(workers.at(0), SIGSTOP), 0);
  bool slow_right = false, right = false;
  std::thread waiting([&] { EXPECT_TRUE(softmax(slow, 1, slow_right).ok()); });
  while (serving.state().running == 0) std::this_thread::sleep_for(5ms);
  const Status status = softmax(hurried, 1, right);
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("for its turn, which is its deadline"), std::string::npos) << status.message();
  EXPECT_TRUE(right);
  EXPECT_EQ(serving.state().calls_late, 1);
  ASSERT_EQ(::kill(workers[0], SIGCONT), 0);
  waiting.join();
  EXPECT_TRUE(slow_right);
  EXPECT_TRUE(softmax(hurried, 1, right).ok());
}

TEST(Serve, ToldToStopItAnswersWhatWaitsAndLeaves) {
  const Held before = Held::now();
  {
    Serving serving;
    Device busy = open(serving.device()).value(), queued = open(serving.device()).value(),
           idle = open(serving.device()).value();
    const auto workers = children();
    ASSERT_EQ(::kill(workers.at(0), SIGSTOP), 0);
    std::atomic<int> good = 0;
    const auto call = [&](Device& device) {
      bool right = false;
      good += softmax(device, 1, right).ok() && right;
    };
    std::thread first([&] { call(busy); }), second([&] { call(queued); });
    while (serving.state().running + serving.state().queued < 2) std::this_thread::sleep_for(5ms);
    serving.server().stop();
    while (std::filesystem::exists(serving.path())) std::this_thread::sleep_for(5ms);
    ASSERT_EQ(::kill(workers[0], SIGCONT), 0);
    first.join();
    second.join();
    EXPECT_EQ(good, 2);
    bool right = false;
    EXPECT_EQ(softmax(idle, 1, right).code(), Code::unavailable);
    EXPECT_TRUE(right);
    EXPECT_EQ(open(serving.device()).status().code(), Code::unavailable);
  }
  EXPECT_EQ(Held::after(before), before);
}

TEST(Serve, CallsThatDoNotEndDoNotKeepItFromLeaving) {
  const Held before = Held::now();
  {
    ServeOptions options = serve_options();
    options.drain_seconds = 0.2;
    Serving serving(options);
    Device device = open(serving.device()).value();
    ASSERT_EQ(::kill(children().at(0), SIGSTOP), 0);
    std::thread caller([&] {
      bool right = false;
      EXPECT_EQ(softmax(device, 1, right).code(), Code::unavailable);
      EXPECT_TRUE(right);
    });
    while (serving.state().running == 0) std::this_thread::sleep_for(5ms);
    const auto start = Clock::now();
    serving.stop();
    EXPECT_LT(Clock::now() - start, 5s);
    caller.join();
  }
  EXPECT_EQ(Held::after(before), before);
}

TEST(Serve, StepsEndInTheBitsOfAnUndisturbedRunWhileWorkersAreKilled) {
  const Held before = Held::now();
  int steps = 0;
  std::string found;
  {
    const Serving serving;
    Device device = open(serving.device()).value();
    Model model(&device);
    const Killer killer(5);
    while (killer.kills() < 40) {
      const std::string earlier = model.bytes();
      const Status status = model.step(device, steps + 1);
      if (status.ok()) {
        ++steps;
        continue;
      }
      ASSERT_EQ(status.code(), Code::unavailable) << status.message();
      ASSERT_EQ(model.bytes(), earlier);
    }
    found = model.bytes();
    EXPECT_GE(serving.state().restarts, 20);
  }
  EXPECT_EQ(Held::after(before), before);
  Device undisturbed = open("cpu", {.threads = 2}).value();
  Model expected(nullptr);
  for (int t = 1; t <= steps; ++t) ASSERT_TRUE(expected.step(undisturbed, t).ok());
  EXPECT_EQ(found, expected.bytes());
}

// The end of a process that does nothing but live on.
class Waiting {
 public:
  explicit Waiting(pid_t process) : process_(process) {}
  ~Waiting() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

 private:
  pid_t process_;
};

TEST(Serve, AForkDuringTheGreetingHoldsNoSharedMemory) {
  const ServeOptions options = serve_options();
  Listener listener = Listener::make(options.socket).value();
  Status status;
  std::thread opening([&] { status = open("unix:" + options.socket.string()).status(); });
  pollfd one{listener.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&one, 1, 20000), 1);
  Channel channel{Descriptor(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC))};
  {
    std::vector<Descriptor> came;
    EXPECT_TRUE(channel.receive(Clock::now() + 20s, &came).ok());
    EXPECT_EQ(came.size(), 2u);
  }
  const pid_t fork = ::fork();
  if (fork == 0)
    for (;;) ::pause();
  const Waiting waiting(fork);
  channel.hang_up();  // the server dies
  opening.join();
  EXPECT_NE(status.message().find("was lost"), std::string::npos) << status.message();
}

TEST(Serve, AKilledClientIsGoneThoughAForkOfItLivesOn) {
  const ServeOptions options = serve_options();
  ServerProcess server(options.socket);
  while (!ask_state(options.socket, 10).ok()) std::this_thread::sleep_for(5ms);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor from(ends[0]), to(ends[1]);
  const pid_t client = ::fork();
  if (client == 0) {
    auto device = open("unix:" + options.socket.string(), {.shared_bytes = 1 << 20});
    const pid_t fork = device.ok() ? ::fork() : -1;
    if (fork != 0 && ::write(to.get(), &fork, sizeof fork) != sizeof fork) ::_exit(1);
    for (;;) ::pause();
  }
  pid_t fork = -1;
  {
    const Waiting killed(client);
    ASSERT_EQ(::read(from.get(), &fork, sizeof fork), static_cast<ssize_t>(sizeof fork));
    ASSERT_GT(fork, 0);
    EXPECT_EQ(ask_state(options.socket, 10)->clients, 1);
  }
  const auto end = Clock::now() + 20s;
  while (ask_state(options.socket, 10)->clients > 0 && Clock::now() < end) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(ask_state(options.socket, 10)->clients, 0);
  EXPECT_NE(state_of(fork), 0);
  ::kill(fork, SIGKILL);
  server.kill(SIGKILL);
  ::unlink(options.socket.c_str());
}

// Servers are killed and started again under clients that step: each call ends with the state before or after.
TEST(Serve, KilledAndRestartedUnderManyClients) {
  constexpr int kClients = 64, kRestarts = 6;
  const Held before = Held::now();
  ServeOptions options = serve_options();
  std::atomic<bool> stop = false;
  std::atomic<int> good = 0, refused = 0, wrong = 0;
  {
    std::optional<ServerProcess> server;
    server.emplace(options.socket);
    const std::string name = "unix:" + options.socket.string();
    std::vector<std::thread> threads;
    for (int i = 0; i < kClients; ++i)
      threads.emplace_back([&] {
        std::vector<float> theta(300, 1), m(300, 0), v(300, 0), g(300, 1), theta2(theta), m2(m), v2(v);
        Device inner = open("reference").value();
        AdamwTensor one{vector(theta2.data(), 300), vector(m2.data(), 300), vector(v2.data(), 300),
                        vector(g.data(), 300)};
        std::optional<Device> device;
        std::vector<Buffer> buffers;
        AdamwTensor there{};
        int t = 0;
        while (!stop || t == 0) {
          if (!device) {
            auto opened = open(name, {.call_seconds = 20, .shared_bytes = 1 << 20});
            if (!opened.ok()) {
              std::this_thread::sleep_for(2ms);
              continue;
            }
            device.emplace(std::move(opened).value());
            for (const auto& begin : {theta, m, v}) {
              buffers.push_back(device->allocate(1200).value());
              std::memcpy(buffers.back().data(), begin.data(), 1200);
            }
            there = {vector(static_cast<float*>(buffers[0].data()), 300),
                     vector(static_cast<float*>(buffers[1].data()), 300),
                     vector(static_cast<float*>(buffers[2].data()), 300), vector(g.data(), 300)};
          }
          const Status status = adamw_step(*device, {.tensors = {&there, 1}, .t = t + 1});
          if (status.ok()) {
            ++t;
            ++good;
            if (!adamw_step(inner, {.tensors = {&one, 1}, .t = t}).ok()) ++wrong;
          } else {
            ++refused;
            if (status.code() != Code::unavailable) ++wrong;
            std::this_thread::sleep_for(2ms);
          }
          if (std::memcmp(buffers[0].data(), theta2.data(), 1200) != 0 ||
              std::memcmp(buffers[1].data(), m2.data(), 1200) != 0 ||
              std::memcmp(buffers[2].data(), v2.data(), 1200) != 0)
            ++wrong;
        }
      });
    for (int i = 0; i < kRestarts; ++i) {
      std::this_thread::sleep_for(300ms);
      server->kill(SIGKILL);
      server.emplace(options.socket);
    }
    std::this_thread::sleep_for(500ms);
    // The last one serves, too, however long its clients take to find it.
    const auto end = std::chrono::steady_clock::now() + 30s;
    auto state = ask_state(options.socket, 10);
    while (state.ok() && state->calls == 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(10ms);
      state = ask_state(options.socket, 10);
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(state.ok()) << state.status().message();
    EXPECT_GT(state->calls, 0);
    EXPECT_EQ(server->kill(SIGTERM), 0x000f);  // no handler here: ended by the signal
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(good, kClients);
  RecordProperty("good", good);
  RecordProperty("refused", refused);
  EXPECT_EQ(Held::after(before), before);
  ::unlink(options.socket.c_str());
}

}  // namespace
}  // namespace tokitai::server
