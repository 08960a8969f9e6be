// Messages: what goes in comes out, and nothing else gets in.
#include "server/message.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/bytes.h"
#include "patterns/journal.h"
#include "problems/instance.h"

namespace tokitai::server {
namespace {

constexpr std::int64_t kShared = 1 << 20;

PlacedCall example(std::string_view line) {
  auto problem = problems::parse_problems(line);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  PlacedCall placed;
  placed.call = problems::call_without_memory(problem->front()).value();
  placed.places.resize(placed.call.contract->list ? placed.call.list.size() : 1);
  std::int64_t offset = 64;
  for (Places& set : placed.places)
    for (Place& place : set) place = {offset += 4096, offset += 4096};
  return placed;
}
std::string example_body(std::string_view line) { return encode(example(line)); }

TEST(Message, ACallComesOutAsItWentIn) {
  for (const char* line : {"adamw.step n=5+0+300 master=yes t=3 lr=0.25", "layernorm.forward rows=3 cols=7 pad=2",
                           "embedding.backward queries=4 dim=3 vocab=9 padding_index=2"}) {
    const PlacedCall placed = example(line);
    auto found = decode_call(encode(placed), kShared);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->call.contract, placed.call.contract);
    EXPECT_EQ(encode(found.value()), encode(placed));
    ASSERT_EQ(found->call.list.size(), placed.call.list.size());
    for (std::size_t i = 0; i < placed.call.contract->options.size(); ++i) {
      EXPECT_EQ(found->call.options[i].set, placed.call.options[i].set);
      EXPECT_EQ(found->call.options[i].f, placed.call.options[i].f);
      EXPECT_EQ(found->call.options[i].i, placed.call.options[i].i);
    }
  }
}

// Sizes and strides of every rank; whether the contract has such shapes is for its check.
TEST(Message, AViewOfAnyRankComesOutAsItWentIn) {
  PlacedCall placed = example("softmax.forward rows=3 cols=7");
  float* none = nullptr;
  for (const View& view : {View(vector(none, 5)), View(matrix(none, 3, 7, 9)), View(tensor(none, {2, 3, 4}, {40, 6})),
                           View(tensor(none, {2, 3, 4, 5}, {500, 5, 20}))}) {
    placed.call.operands[0] = view;
    auto found = decode_call(encode(placed), kShared);
    ASSERT_TRUE(found.ok()) << found.status().message();
    const View& back = found->call.operands[0];
    EXPECT_EQ(back.rank, view.rank);
    for (int d = 0; d < view.rank; ++d) {
      EXPECT_EQ(back.shape[static_cast<std::size_t>(d)], view.shape[static_cast<std::size_t>(d)]);
      EXPECT_EQ(back.stride(d), view.stride(d));
    }
  }
  for (const View& view : {View(tensor(none, {2, 3, 4}, {kShared, 6})), View(tensor(none, {2, 3, 4}, {-12, 4})),
                           View(tensor(none, {std::int64_t{1} << 40, 1 << 20, 1 << 20})),
                           View(tensor(none, {3, 3, 4}, {std::int64_t{1} << 62, 4}))}) {
    placed.call.operands[0] = view;
    EXPECT_FALSE(decode_call(encode(placed), kShared).ok());
  }
}

TEST(Message, StatusAndOutcomeComeOutAsTheyWentIn) {
  const Reply reply{{Code::check_failed, "x[3] = nan"}, {true, 4, 5, 6}};
  auto found = decode_reply(encode(reply));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->status.code(), Code::check_failed);
  EXPECT_EQ(found->status.message(), "x[3] = nan");
  EXPECT_TRUE(found->outcome.skipped);
  EXPECT_EQ(found->outcome.skipped_tensor, 4);
  EXPECT_EQ(found->outcome.skipped_position, 5);
  EXPECT_EQ(found->outcome.host_bytes_copied, 6);
  auto bytes = decode_bytes_needed(encode(BytesNeeded{{}, 123}));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->bytes, 123);
  auto hello = decode_hello(encode(Hello{"cpu", {.threads = 2, .isa = "avx2", .plan = 1}, kShared}));
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->device, "cpu");
  EXPECT_EQ(hello->options.threads, 2);
  EXPECT_EQ(hello->options.isa, "avx2");
  EXPECT_EQ(hello->options.plan, 1);
  EXPECT_EQ(hello->shared_bytes, kShared);
}

TEST(Message, AServersStateComesOutAsItWentIn) {
  ServerState state{.device = "cuda:0"};
  std::int64_t next = 1;
  for (std::int64_t* number :
       {&state.uptime_seconds, &state.connections, &state.clients, &state.connections_taken, &state.connections_refused,
        &state.queued, &state.running, &state.calls, &state.calls_failed, &state.calls_late, &state.workers,
        &state.restarts, &state.mapped_bytes, &state.latency_us_50, &state.latency_us_90, &state.latency_us_99,
        &state.latency_us_most})
    *number = next++;
  EXPECT_EQ(decode_state(encode(state)).value(), state);
  EXPECT_EQ(decode_attach(encode(Attach{7, 8}))->memory, 7u);
  EXPECT_EQ(decode_detach(encode_detach(9)).value(), 9u);
  EXPECT_EQ(decode_told(encode(Status::invalid("no")))->status.message(), "no");
}

TEST(Message, AWelcomeWithoutThreadsIsRefused) {
  for (const std::int32_t threads : {1, 1024})
    EXPECT_TRUE(decode_welcome(encode(Welcome{{}, threads, "cpu", true})).ok()) << threads;
  for (const std::int32_t threads : {0, -1, 1025})
    EXPECT_FALSE(decode_welcome(encode(Welcome{{}, threads, "cpu", true})).ok()) << threads;
  const Status full(Code::unavailable, "full");
  EXPECT_TRUE(decode_welcome(encode(Welcome{full, 0, "", false})).ok());
}

TEST(Message, EveryTruncationAndOneByteMoreIsRefused) {
  const std::string bodies[] = {example_body("adamw.step n=5+9 t=1"),
                                encode(Reply{{Code::invalid, "no"}, {}}),
                                encode(Hello{"cpu", {}, kShared}),
                                encode(Welcome{{}, 1, "cpu", true}),
                                encode(BytesNeeded{{}, 1}),
                                encode(Attach{3, 4096}),
                                encode_detach(3),
                                encode(Status(Code::unavailable, "full")),
                                encode(ServerState{.device = "cpu"})};
  const auto refused = [](std::size_t which, std::string_view body) {
    switch (which) {
      case 0: return !decode_call(body, kShared).ok();
      case 1: return !decode_reply(body).ok();
      case 2: return !decode_hello(body).ok();
      case 3: return !decode_welcome(body).ok();
      case 4: return !decode_bytes_needed(body).ok();
      case 5: return !decode_attach(body).ok();
      case 6: return !decode_detach(body).ok();
      case 7: return !decode_told(body).ok();
      default: return !decode_state(body).ok();
    }
  };
  for (std::size_t which = 0; which < std::size(bodies); ++which) {
    EXPECT_FALSE(refused(which, bodies[which]));
    for (std::size_t length = 0; length < bodies[which].size(); ++length)
      EXPECT_TRUE(refused(which, std::string_view(bodies[which]).substr(0, length))) << which << " " << length;
    EXPECT_TRUE(refused(which, bodies[which] + '\0')) << which;
  }
}

TEST(Message, HeadersAreCheckedFieldByField) {
  const auto good = encode(Header{Kind::call, 12, 3});
  const auto with = [&](std::size_t at, char byte) {
    auto bytes = good;
    bytes[at] = byte;
    return decode_header({bytes.data(), bytes.size()});
  };
  auto header = decode_header({good.data(), good.size()});
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->kind, Kind::call);
  EXPECT_EQ(header->length, 12u);
  EXPECT_EQ(header->sequence, 3u);
  EXPECT_FALSE(with(0, 'x').ok());
  EXPECT_EQ(with(4, 4).status().message(), "a malformed message: version 4; this is version 3");
  EXPECT_FALSE(with(6, 0).ok());
  EXPECT_FALSE(with(6, 13).ok());
  EXPECT_TRUE(with(11, 3).ok());
  EXPECT_FALSE(with(11, 4).ok());  // 64 MiB and 12 bytes
  EXPECT_FALSE(decode_header({good.data(), good.size() - 1}).ok());
}

// Bytes of the one operand of softmax.forward's x within the body: name, sets, then rank, type, shape, stride, places.
TEST(Message, PlacesOutsideTheSharedMemoryAreRefused) {
  const auto body = [](auto change) {
    PlacedCall placed = example("softmax.forward rows=3 cols=8 type=f32 pad=4");
    change(placed);
    return decode_call(encode(placed), kShared).ok();
  };
  const std::int64_t extent = (2 * 12 + 8) * 4;
  EXPECT_TRUE(body([&](PlacedCall& p) { p.places[0][0].read = kShared - extent; }));
  EXPECT_FALSE(body([&](PlacedCall& p) { p.places[0][0].read = kShared - extent + 4; }));
  EXPECT_FALSE(body([&](PlacedCall& p) { p.places[0][1].write = kShared - extent + 4; }));
  EXPECT_FALSE(body([](PlacedCall& p) { p.places[0][0].read = -4; }));
  EXPECT_FALSE(body([](PlacedCall& p) { p.places[0][0].read = 2; }));  // not a multiple of the element
  EXPECT_FALSE(body([](PlacedCall& p) { p.places[0][0].read = INT64_MAX; }));
  EXPECT_FALSE(body([](PlacedCall& p) { p.call.operands[0].shape[0] = INT64_MAX; }));
  EXPECT_FALSE(body([](PlacedCall& p) { p.call.operands[0].row_stride = INT64_MAX; }));
  EXPECT_FALSE(body([](PlacedCall& p) { p.call.operands[0].shape = {INT64_MAX, INT64_MAX}; }));
  EXPECT_FALSE(body([](PlacedCall& p) { p.call.operands[0].shape[1] = -8; }));
  EXPECT_FALSE(body([](PlacedCall& p) { p.call.operands[0].row_stride = 7; }));
}

TEST(Message, AJournalLiesInTheSharedMemoryAndIsKeptInPlace) {
  const auto accepted = [](const char* line, std::int64_t journal, auto change) {
    PlacedCall placed = example(line);
    for (Places& set : placed.places)
      for (Place& place : set) place.write = place.read;
    placed.journal = journal;
    change(placed);
    auto found = decode_call(encode(placed), kShared);
    EXPECT_EQ(found.ok() ? found->journal : journal, journal);
    return found.ok();
  };
  const auto as_it_is = [](PlacedCall&) {};
  const char* line = "adamw.step n=5+0+300 t=1";
  const std::int64_t bytes = Journal::bytes(305), last = (kShared - bytes) / Journal::kLine * Journal::kLine;
  EXPECT_TRUE(accepted(line, kNoJournal, as_it_is));
  EXPECT_TRUE(accepted(line, 0, as_it_is));
  EXPECT_TRUE(accepted(line, last, as_it_is));
  EXPECT_FALSE(accepted(line, last + Journal::kLine, as_it_is));
  EXPECT_FALSE(accepted(line, 8, as_it_is));
  EXPECT_FALSE(accepted(line, -Journal::kLine, as_it_is));
  EXPECT_FALSE(accepted(line, INT64_MAX / Journal::kLine * Journal::kLine, as_it_is));
  EXPECT_FALSE(accepted(line, 0, [](PlacedCall& p) { p.places[0][0].write += 4096; }));
  EXPECT_FALSE(accepted("softmax.forward rows=3 cols=8", 0, as_it_is));  // not over a list
}

TEST(Message, ACountThatLiesAllocatesNothing) {
  base::Writer w;
  w.put(std::uint32_t{0});
  w.put(kNoJournal);
  w.put_text("adamw.step");
  for (int i = 0; i < 8; ++i) {
    w.put(std::uint8_t{0});
    w.put(0.0f);
    w.put(std::int64_t{0});
  }
  w.put(std::uint32_t{0xffffffff});
  w.put(std::uint64_t{0});
  EXPECT_FALSE(decode_call(w.bytes(), kShared).ok());
  EXPECT_FALSE(decode_call(std::string(12, '\0') + "\xff\xff\xff\xff" + "adamw.step", kShared).ok());
  base::Writer unknown;
  unknown.put(std::uint32_t{0});
  unknown.put(kNoJournal);
  unknown.put_text("adamw.stop");
  EXPECT_EQ(decode_call(unknown.bytes(), kShared).status().message(), "a malformed message: no operator 'adamw.stop'");
}

}  // namespace
}  // namespace tokitai::server
