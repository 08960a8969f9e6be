// Who is at the other end of a server's socket: users, what is no server, one that was lost; and memory that is full.
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <thread>

#include "server/server_connection.h"
#include "server/tests/serving.h"
#include "tokitai/tokitai.h"

namespace tokitai::server {
namespace {

using namespace std::chrono_literals;

TEST(Serve, APeerOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs the right to become another user";
  const Serving serving;
  ASSERT_EQ(::chmod(serving.path().c_str(), 0666), 0);  // so that only the check is left
  const pid_t other = ::fork();
  if (other == 0) {
    if (::setuid(65534) != 0) _exit(9);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, serving.path().c_str(), sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) _exit(8);
    Channel channel{Descriptor(socket)};
    auto message = channel.receive(Clock::now() + 5s);
    if (!message.ok() || message->header.kind != Kind::goodbye) _exit(7);
    if (decode_told(message->body)->status.message().find("has user 65534, this one 0") == std::string::npos) _exit(6);
    _exit(open(serving.device()).status().message().find("has user 0, this one 65534") == std::string::npos ? 5 : 0);
  }
  int how = -1;
  ASSERT_EQ(::waitpid(other, &how, 0), other);
  EXPECT_EQ(WEXITSTATUS(how), 0);
  EXPECT_EQ(serving.state().connections_refused, 2);
}

// The client's side of it: whatever listens there, opening the device ends with a status and leaves nothing behind.
TEST(Serve, WhatIsNoServerIsToldByTheClient) {
  const std::string header = bytes_of(Header{Kind::welcome, 8, 1});
  const struct {
    std::string says;
    const char* words;
  } cases[] = {
      {std::string(64, '\xa7'), "it begins with"},
      {"", "the connection ended"},
      {header.substr(0, 9), "the connection ended"},
      {header + std::string(8, '\xff'), "not a welcome"},
      {bytes_of(Header{Kind::welcome, 8, 77}, std::string(8, '\0')), "an answer of kind 2 to message 77"},
      {bytes_of(Header{Kind::answer, 8, 1}, std::string(8, '\0')), "an answer of kind 4 to message 1"},
      {bytes_of(Header{Kind::welcome, 0xffffffff, 1}), "a body of 4294967295 bytes"},
      {bytes_of(Header{Kind::goodbye, 12, 0}, std::string("\3\0\0\0\4\0\0\0full", 12)), "closed the connection: full"}};
  const Held before = Held::now();
  for (const auto& one : cases) {
    const std::filesystem::path path = serve_options().socket;
    auto listener = Listener::make(path);
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    std::thread server([&] {
      pollfd ready{listener->descriptor(), POLLIN, 0};
      ::poll(&ready, 1, 5000);
      const int socket = ::accept(listener->descriptor(), nullptr, nullptr);
      Channel channel{Descriptor(socket)};
      std::vector<Descriptor> memory;
      EXPECT_TRUE(channel.receive(Clock::now() + 5s, &memory).ok());
      EXPECT_EQ(memory.size(), 2u);
      EXPECT_EQ(::send(socket, one.says.data(), one.says.size(), MSG_NOSIGNAL), static_cast<ssize_t>(one.says.size()));
    });
    const Status status = open("unix:" + path.string()).status();
    server.join();
    EXPECT_EQ(status.code(), Code::unavailable);
    EXPECT_NE(status.message().find(one.words), std::string::npos) << one.words << ": " << status.message();
    EXPECT_EQ(status.message().rfind("the server at ", 0), 0u) << status.message();
  }
  EXPECT_EQ(Held::after(before), before);
}

// A server is gone, but something of it still has the client's memory: nothing is asked until it has let go.
TEST(Serve, OneThatWasLostAndStillHoldsTheMemoryIsWaitedFor) {
  const Held before = Held::now();
  {
    const std::filesystem::path path = serve_options().socket;
    auto listener = Listener::make(path).value();
    auto arena = Arena::make(1 << 20).value();
    ServerConnection client(Hello{"", {}, 1 << 20}, path, arena->descriptor(), 100ms);
    std::vector<Descriptor> held;
    // Greets; then answers one question, or is lost.
    const auto serve_once = [&](bool answers) {
      pollfd ready{listener.descriptor(), POLLIN, 0};
      ::poll(&ready, 1, 5000);
      Channel channel{Descriptor(::accept(listener.descriptor(), nullptr, nullptr))};
      std::vector<Descriptor> came;
      auto hello = channel.receive(Clock::now() + 5s, &came);
      ASSERT_TRUE(hello.ok());
      ASSERT_EQ(came.size(), 2u);
      ASSERT_TRUE(
          channel.send(Kind::welcome, hello->header.sequence, encode(Welcome{{}, 1, "one"}), Clock::now() + 5s).ok());
      auto question = channel.receive(Clock::now() + 5s);
      ASSERT_TRUE(question.ok());
      if (answers) {
        ASSERT_TRUE(channel.send(Kind::answer, question->header.sequence, encode(Reply{}), Clock::now() + 5s).ok());
      } else {
        held = std::move(came);
      }
    };
    const auto ask = [&] {
      return client.ask<Reply>(Kind::call, Kind::answer, "", 5s, decode_reply,
                               [](Clock::time_point) { return Status(); });
    };
    std::thread lost([&] { serve_once(false); });
    const auto start = Clock::now();
    for (int i = 0; i < 3; ++i) {
      const Status status = ask().status();
      EXPECT_EQ(status.code(), Code::unavailable);
      EXPECT_EQ(status.message(), "the server at " + path.string() +
                                      " still holds the shared memory 0.1 s after the connection ended; calls are "
                                      "refused until it has let go");
      if (i == 0) lost.join();
    }
    EXPECT_FALSE(client.dismiss().ok());  // nor may the caller write
    EXPECT_LT(Clock::now() - start, 5s);
    held.clear();
    std::thread again([&] { serve_once(true); });
    const auto answer = ask();
    again.join();
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_TRUE(client.dismiss().ok());
  }
  EXPECT_EQ(Held::after(before), before);
}

TEST(Serve, FullSharedMemoryIsAStatusThatSaysHowMuch) {
  const Held before = Held::now();
  {
    const Serving serving;
    Device device = open(serving.device(), {.shared_bytes = 1 << 20}).value();
    EXPECT_EQ(device.allocate(2 << 20).status().message(), "shared memory: 2097152 bytes asked, there are 1048576");
    Buffer half = device.allocate(600 << 10).value();
    std::memset(half.data(), 0x33, 600 << 10);
    const DeviceMemory held = device.memory().value();
    const auto refused = [&](const Status& status, const std::string& words) {
      EXPECT_EQ(status.code(), Code::unavailable);
      EXPECT_EQ(status.message(), words);
      EXPECT_EQ(device.memory()->in_use, held.in_use);
      EXPECT_EQ(device.memory()->free, held.free);
    };
    refused(device.allocate(600 << 10).status(), "shared memory is full: 614400 bytes asked, 614400 of 1048576 in use");
    // Operands of the caller's own have to be staged, 800,000 bytes.
    std::vector<float> x(100000, 1), y(100000, 7);
    refused(softmax_forward(device, {.x = matrix(x.data(), 100, 1000), .y = matrix(y.data(), 100, 1000)}),
            "softmax.forward: shared memory is full: 802816 bytes asked, 614400 of 1048576 in use");
    EXPECT_EQ(y, std::vector<float>(100000, 7));
    // A step in place, for whose journal there is no page.
    Buffer rest = device.allocate((1 << 20) - (600 << 10)).value();
    auto* there = static_cast<float*>(half.data());
    AdamwTensor tensor{vector(there, 1000), vector(there + 1000, 1000), vector(there + 2000, 1000),
                       vector(there + 3000, 1000)};
    const Status step = adamw_step(device, {.tensors = {&tensor, 1}, .t = 1});
    EXPECT_EQ(step.message(), "adamw.step: shared memory is full: 4096 bytes asked, 1048576 of 1048576 in use");
    EXPECT_EQ(std::string(static_cast<char*>(half.data()), 12000), std::string(12000, 0x33));
    rest.reset();
    EXPECT_TRUE(adamw_step(device, {.tensors = {&tensor, 1}, .t = 1}).ok());
    half.reset();
    EXPECT_TRUE(softmax_forward(device, {.x = matrix(x.data(), 1, 1000), .y = matrix(y.data(), 1, 1000)}).ok());
    ASSERT_TRUE(device.trim().ok());
    EXPECT_EQ(device.memory()->free, 1 << 20);
  }
  EXPECT_EQ(Held::after(before), before);
}

}  // namespace
}  // namespace tokitai::server
