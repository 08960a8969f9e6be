// Workers that misbehave, in place of tokitai-worker: TK_BAD_WORKER says how. Each greets as a good one does.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "runtime/journal_keeper.h"
#include "server/arena.h"
#include "server/channel.h"
#include "server/placed_call.h"

using namespace tokitai;
using namespace tokitai::server;

namespace {

void say(std::string_view bytes) {
  if (::write(3, bytes.data(), bytes.size()) < 0) _exit(9);
}

}  // namespace

int main() {
  const std::string_view mode = std::getenv("TK_BAD_WORKER") == nullptr ? "" : std::getenv("TK_BAD_WORKER");
  Channel channel{Descriptor(3)};
  std::vector<Descriptor> memory;
  auto first = channel.receive(kNoDeadline, &memory);
  if (!first.ok()) return 0;
  if (mode == "refuses to start") return 5;
  auto hello = decode_hello(first->body);
  auto shared = Mapping::make(memory.at(0).get(), hello->shared_bytes);
  if (!channel.send(Kind::welcome, first->header.sequence, encode(Welcome{{}, 1, "bad", true}), kNoDeadline).ok())
    return 0;
  for (;;) {
    auto message = channel.receive(kNoDeadline);
    if (!message.ok()) return 0;
    Header header{Kind::answer, 0, message->header.sequence};
    const std::string reply = encode(Reply{});
    header.length = static_cast<std::uint32_t>(reply.size());
    if (mode == "garbage") say(std::string(64, '\xa7'));
    if (mode == "wrong sequence") header.sequence += 1;
    if (mode == "wrong kind") header.kind = Kind::welcome;
    if (mode == "says nothing") continue;
    if (mode == "leaves") return 7;
    if (mode == "crashes") std::abort();
    if (mode == "huge length") header.length = 0xffffffffu;
    if (mode == "short body") header.length -= 1;
    auto bytes = encode(header);
    if (mode == "next version") bytes[4] = kVersion + 1;
    if (mode == "leaves half way") {  // what it has done, it has done right
      auto call = call_over(message->body, shared->data(), hello->shared_bytes);
      call->call.list.resize(1);
      Outcome outcome;
      Device reference = open("reference").value();
      if (!run_behind(call->journal, reference, call->call, outcome).ok()) std::abort();
      return 7;
    }
    if (mode == "writes over inputs") {  // what a worker must never do
      auto placed = decode_call(message->body, hello->shared_bytes);
      std::memset(shared->data() + placed->places[0][0].read, 0xee, 64);
      return 7;
    }
    say({bytes.data(), mode == "half a header" ? bytes.size() / 2 : bytes.size()});
    if (mode == "half a header") return 0;
    say(reply);
  }
}
