// Clients that lie, dawdle or disappear: each is answered or told why it is closed, and a good one does not notice.
#include <sys/resource.h>

#include <array>

#include "base/bytes.h"
#include "server/tests/serving.h"
#include "tokitai/tokitai.h"

namespace tokitai::server {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kShared = 1 << 20;

class BadClients : public ::testing::Test {
 protected:
  static ServeOptions options() {
    ServeOptions options = serve_options();
    options.message_seconds = 0.5;
    options.connections = 200;
    options.message_bytes = 1 << 16;
    options.waiting_bytes = 1 << 18;
    options.mapped_bytes = std::int64_t{1} << 40;
    return options;
  }
  // What the good client sees, whatever the others do.
  void expect_good(int calls = 20) {
    for (int i = 0; i < calls; ++i) {
      std::vector<float> x(16, 1), y(16);
      const Status status = softmax_forward(good, {.x = matrix(x.data(), 1, 16), .y = matrix(y.data(), 1, 16)});
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(y, std::vector<float>(16, 1.0f / 16));
    }
  }
  // Nothing that a client says ends a worker.
  void TearDown() override { EXPECT_EQ(serving.state().restarts, 0); }
  Result<Message> greet(Channel& channel, const Hello& hello, std::span<const int> descriptors) {
    EXPECT_TRUE(channel.send(Kind::hello, 7, encode(hello), Clock::now() + 5s, descriptors).ok());
    return channel.receive(Clock::now() + 5s);
  }
  // A channel, and its socket to do other things with.
  std::pair<Channel, Descriptor> connected() {
    auto socket = connect_to(serving.path(), Clock::now() + 5s);
    EXPECT_TRUE(socket.ok()) << socket.status().message();
    Descriptor other(::dup(socket->get()));
    return {Channel(std::move(socket).value()), std::move(other)};
  }
  Channel greeted() {
    RawClient raw(serving.path());
    Channel channel = raw.channel();
    const Descriptor memory = memory_of(kShared);
    auto message = greet(channel, Hello{"", {}, kShared}, std::array{memory.get()});
    EXPECT_TRUE(message.ok() && message->header.kind == Kind::welcome);
    EXPECT_TRUE(decode_welcome(message->body)->status.ok());
    return channel;
  }
  std::string goodbye(Channel& channel) {
    auto message = channel.receive(Clock::now() + 5s);
    if (!message.ok()) return message.status().message();
    return message->header.kind == Kind::goodbye ? decode_told(message->body)->status.message() : "another kind";
  }

  Serving serving{options()};
  Device good = open(serving.device()).value();
};

TEST_F(BadClients, WhatIsNoMessageIsToldSo) {
  const std::string hello = encode(Hello{"", {}, kShared});
  const auto header = [](Kind kind, std::uint32_t length) { return bytes_of(Header{kind, length, 1}); };
  std::string next_version = header(Kind::hello, 0);
  next_version[4] = kVersion + 1;
  const struct {
    std::string bytes;
    const char* words;
  } cases[] = {{std::string(64, '\xa7'), "it begins with"},
               {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "it begins with"},
               {next_version, "version 4; this is version 3"},
               {bytes_of(Header{static_cast<Kind>(99), 0, 1}), "kind 99; there are 1 to 12"},
               {header(Kind::hello, 0xffffffff), "a body of 4294967295 bytes"},
               {header(Kind::hello, 1 << 20), "a message of 1048576 bytes; the most here is 65536"},
               {header(Kind::call, 4) + "abcd", "a message of kind 3, which makes no sense here"},
               {header(Kind::welcome, 0), "a message of kind 2"},
               {header(Kind::attach, 0), "a message of kind 7"},
               {header(Kind::goodbye, 0), "a message of kind 12"}};
  for (const auto& one : cases) {
    RawClient client(serving.path());
    client.say(one.bytes);
    const std::string said = client.goodbye(5);
    EXPECT_NE(said.find(one.words), std::string::npos) << one.words << ": " << said;
  }
  expect_good();
}

TEST_F(BadClients, GreetingsThatLieAreRefused) {
  const Descriptor right = memory_of(kShared), open_size = memory_of(kShared, F_SEAL_GROW), small = memory_of(4096);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Descriptor in(ends[0]), out(ends[1]);
  const struct {
    Hello hello;
    int memory;
    const char* words;
  } cases[] = {{{"", {}, kShared}, -1, "no shared memory came with the message"},
               {{"", {}, kShared}, small.get(), "the shared memory has 4096 bytes"},
               {{"", {}, kShared}, open_size.get(), "sealed"},
               {{"", {}, kShared}, in.get(), "seals"},
               {{"", {}, 0}, right.get(), "shared memory of 0 bytes"},
               {{"", {}, -5}, right.get(), "not a hello"},
               {{"", {}, INT64_MAX}, right.get(), "the server maps"},
               {{"cuda:0", {}, kShared}, right.get(), "device 'cuda:0'; this server has cpu"},
               {{"", {.threads = 3}, kShared}, right.get(), "are the server's own"},
               {{"", {.call_seconds = -1}, kShared}, right.get(), "call seconds -1"}};
  for (const auto& one : cases) {
    RawClient raw(serving.path());
    Channel channel = raw.channel();
    const std::vector<int> sent = one.memory < 0 ? std::vector<int>{} : std::vector<int>{one.memory};
    auto message = greet(channel, one.hello, sent);
    ASSERT_TRUE(message.ok()) << one.words << ": " << message.status().message();
    ASSERT_EQ(message->header.kind, Kind::welcome);
    EXPECT_EQ(message->header.sequence, 7u);
    const Status status = decode_welcome(message->body)->status;
    EXPECT_NE(status.message().find(one.words), std::string::npos) << one.words << ": " << status.message();
    EXPECT_FALSE(channel.receive(Clock::now() + 5s).ok());  // closed
  }
  expect_good();
  EXPECT_EQ(serving.state().clients, 1);
}

TEST_F(BadClients, CallsThatLieAreAnsweredAndTheWorkerStays) {
  Channel channel = greeted();
  base::Writer unknown;
  unknown.put(std::uint32_t{0});
  unknown.put_text("softmax.sideways");
  std::vector<float> none(1);
  Call call = bind(SoftmaxForward{.x = matrix(none.data(), 4, 16), .y = matrix(none.data(), 4, 16)});
  const auto with = [&](Place x, Place y) { return encode(PlacedCall{call, {Places{x, y}}}); };
  const std::string cases[] = {std::string(4, '\0'),   unknown.bytes(),      with({kShared, 0}, {0, 0}),
                               with({0, 0}, {-4, -4}), with({0, 0}, {2, 2}), with({0, 0}, {0, 0}) + "x",
                               with({0, 0}, {0, 0})};  // the last: outputs over inputs, which the contract refuses
  std::uint32_t sequence = 0;
  for (const std::string& body : cases) {
    ASSERT_TRUE(channel.send(Kind::call, ++sequence, body, Clock::now() + 5s).ok());
    auto message = channel.receive(Clock::now() + 5s);
    ASSERT_TRUE(message.ok()) << message.status().message();
    ASSERT_EQ(message->header.kind, Kind::answer);
    EXPECT_EQ(message->header.sequence, sequence);
    EXPECT_EQ(decode_reply(message->body)->status.code(), Code::invalid);
  }
  std::string other = with({0, 0}, {4096, 4096});
  set_memory_of_call(other, 1);  // another client's, perhaps
  ASSERT_TRUE(channel.send(Kind::call, ++sequence, other, Clock::now() + 5s).ok());
  EXPECT_EQ(goodbye(channel), "a call in memory 1; a client has one, number 0");
  Channel second = greeted();
  ASSERT_TRUE(second.send(Kind::call, 1, "ab", Clock::now() + 5s).ok());
  EXPECT_EQ(goodbye(second), "a call that is cut short");
  expect_good();
}

TEST_F(BadClients, SilentSlowAndVanishedOnesBlockNobody) {
  const Held before = Held::now();
  {
    std::vector<RawClient> silent, cut;
    for (int i = 0; i < 20; ++i) silent.emplace_back(serving.path());
    for (int i = 0; i < 20; ++i) {
      cut.emplace_back(serving.path());
      cut.back().say(bytes_of(Header{Kind::hello, 100, 1}).substr(0, static_cast<std::size_t>(i) % 16 + 1));
    }
    RawClient slow(serving.path());
    const std::string hello = bytes_of(Header{Kind::hello, 40, 1});
    const auto start = Clock::now();
    expect_good();
    std::size_t said = 0;
    while (Clock::now() - start < 450ms) {
      slow.say(hello.substr(said++ % hello.size(), 1));
      std::this_thread::sleep_for(50ms);
    }
    expect_good();
    EXPECT_EQ(slow.goodbye(5), "it said nothing complete in time");
    EXPECT_EQ(silent[3].goodbye(5), "it said nothing complete in time");
    cut.clear();  // some of them gone in the middle of a header
    {
      Channel vanished = greeted();
      ASSERT_TRUE(vanished.send(Kind::inquiry, 1, "", Clock::now() + 5s).ok());
    }
    expect_good();
  }
  for (int i = 0; i < 100 && serving.state().connections > 2; ++i) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(serving.state().connections, 2);  // the good one, and the one that asks
  EXPECT_EQ(Held::after(before), before);
}

TEST_F(BadClients, ACallThatTakesTooLongToArriveIsToldSo) {
  const Descriptor memory = memory_of(kShared);
  auto [channel, socket] = connected();
  ASSERT_TRUE(greet(channel, Hello{"", {}, kShared}, std::array{memory.get()}).ok());
  std::this_thread::sleep_for(700ms);  // silence between messages is allowed
  const std::string half = bytes_of(Header{Kind::call, 1000, 1}, std::string(500, 'x'));
  ASSERT_EQ(::send(socket.get(), half.data(), half.size(), MSG_NOSIGNAL), static_cast<ssize_t>(half.size()));
  EXPECT_EQ(goodbye(channel), "a message took too long");
  expect_good();
}

// Messages that are announced take memory; when it is used up the next ones wait for it and are then served.
TEST_F(BadClients, AnnouncedMessagesWaitForMemory) {
  constexpr int kHoarders = 12;  // of 64 KiB each; there are 256
  std::vector<std::pair<Channel, Descriptor>> hoarders;
  for (int i = 0; i < kHoarders; ++i) {
    hoarders.push_back(connected());
    const Descriptor memory = memory_of(kShared);
    ASSERT_TRUE(greet(hoarders.back().first, Hello{"", {}, kShared}, std::array{memory.get()}).ok());
  }
  const std::string announced = bytes_of(Header{Kind::call, 65536, 1}, "x");
  for (const auto& [channel, socket] : hoarders)
    ASSERT_EQ(::send(socket.get(), announced.data(), announced.size(), MSG_NOSIGNAL), 17);
  // Four of them hold all there is, for half a second each at most; everyone's turn comes.
  std::vector<float> x(16, 1), y(16);
  EXPECT_TRUE(softmax_forward(good, {.x = matrix(x.data(), 1, 16), .y = matrix(y.data(), 1, 16)}).ok());
  int told = 0;
  for (auto& [channel, socket] : hoarders) told += goodbye(channel) == "a message took too long";
  EXPECT_EQ(told, kHoarders);
  expect_good();
}

// One that never reads its answers: its questions stay in its socket, and it is closed, whatever it asks.
TEST_F(BadClients, OneThatDoesNotReadIsClosed) {
  const std::string inquiry = bytes_of(Header{Kind::inquiry, 0, 1});
  const std::string call = bytes_of(Header{Kind::call, 4, 1}, std::string(4, '\0'));  // is answered: no operator
  const struct {
    const char* name;
    bool greets;
    const std::string& question;
  } cases[] = {{"inquiries", false, inquiry}, {"inquiries of a client", true, inquiry}, {"calls", true, call}};
  for (const auto& one : cases) {
    auto [channel, socket] = connected();
    const Descriptor memory = memory_of(kShared);
    if (one.greets) {
      ASSERT_TRUE(greet(channel, Hello{"", {}, kShared}, std::array{memory.get()}).ok());
    }
    const auto end = Clock::now() + 20s;
    bool closed = false;
    while (!closed && Clock::now() < end) {
      const ssize_t sent = ::send(socket.get(), one.question.data(), one.question.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      closed = sent < 0 && errno != EAGAIN;
      if (sent < 0 && !closed) std::this_thread::sleep_for(10ms);
    }
    EXPECT_TRUE(closed) << one.name;
    EXPECT_EQ(serving.state().clients, 1) << one.name;
  }
  expect_good();
}

// One that reads late, but whose answers its socket holds, is no such client.
TEST_F(BadClients, AnswersMayWaitInTheSocket) {
  Channel channel = greeted();
  constexpr std::uint32_t kQuestions = 50;
  for (std::uint32_t i = 0; i < kQuestions; ++i)
    ASSERT_TRUE(channel.send(Kind::inquiry, i, "", Clock::now() + 5s).ok());
  std::this_thread::sleep_for(700ms);
  for (std::uint32_t i = 0; i < kQuestions; ++i) {
    auto message = channel.receive(Clock::now() + 5s);
    ASSERT_TRUE(message.ok()) << message.status().message();
    EXPECT_EQ(message->header.kind, Kind::state);
    EXPECT_EQ(message->header.sequence, i);
  }
}

TEST_F(BadClients, TenThousandConnectionsAreTakenOrToldWhyNot) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit wanted{std::min<rlim_t>(files.rlim_max, 20000), files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &wanted), 0);
  const std::size_t connections = std::min<std::size_t>(10000, wanted.rlim_cur - 1000);
  std::size_t told = 0;
  {
    std::vector<RawClient> all;
    for (std::size_t i = 0; i < connections; ++i) {
      all.emplace_back(serving.path());
      if (i % 1000 == 0) expect_good(2);
    }
    expect_good();
    for (RawClient& one : all) {
      const std::string said = one.goodbye(5);
      told += said.find("which is its limit") != std::string::npos || said == "it said nothing complete in time";
      if (said.empty()) ADD_FAILURE() << "neither taken nor told";
    }
  }
  EXPECT_EQ(told, connections);
  RecordProperty("connections", static_cast<int>(connections));
  expect_good();
  EXPECT_GT(serving.state().connections_refused, static_cast<std::int64_t>(connections / 2));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
}

}  // namespace
}  // namespace tokitai::server
