// libFuzzer: every message of our own format. The first byte chooses which; what is read is written back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/message.h"

using namespace tokitai;
using namespace tokitai::server;

namespace {

constexpr std::int64_t kShared = 1 << 20;

void same(std::string_view a, std::string_view b) {
  if (a != b) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 10) {
    case 0: static_cast<void>(decode_header(body)); break;
    case 1:
      if (auto hello = decode_hello(body); hello.ok()) same(encode(hello.value()), body);
      break;
    case 2:
      if (auto welcome = decode_welcome(body); welcome.ok() && !welcome->status.ok())
        same(encode(welcome.value()), body);
      break;
    case 3:
      if (auto reply = decode_reply(body); reply.ok() && !reply->status.ok()) same(encode(reply.value()), body);
      break;
    case 4: static_cast<void>(decode_bytes_needed(body)); break;
    case 6:
      if (auto attach = decode_attach(body); attach.ok()) same(encode(attach.value()), body);
      break;
    case 7:
      if (auto memory = decode_detach(body); memory.ok()) same(encode_detach(memory.value()), body);
      break;
    case 8:
      if (auto told = decode_told(body); told.ok() && !told->status.ok()) same(encode(told->status), body);
      break;
    case 9:
      if (auto state = decode_state(body); state.ok()) same(encode(state.value()), body);
      break;
    default:
      if (auto placed = decode_call(body, kShared); placed.ok()) {
        same(std::string_view(encode(placed.value())).substr(kMemoryBytes), body.substr(kMemoryBytes));
        std::string sent(body);
        set_memory_of_call(sent, 77);
        if (memory_of_call(sent).value() != 77 || !decode_call(sent, kShared).ok()) std::abort();
        if (placed->journal != kNoJournal && (placed->journal < 0 || placed->journal >= kShared)) std::abort();
        // Whatever has come through is safe to check, and every operand lies in the shared memory.
        const bool list = placed->call.contract->list;
        for (std::size_t t = 0; t < placed->places.size(); ++t)
          for (std::size_t i = 0; i < placed->call.contract->operands.size(); ++i) {
            View& view = list ? placed->call.list[t][i] : placed->call.operands[i];
            const std::int64_t extent = extent_of(view), from = placed->places[t][i].read;
            if (view.present() && (extent < 0 || from < 0 || from + extent > kShared)) std::abort();
            view.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(from) + 4096);  // never read
          }
        if (check(placed->call).code() == Code::internal) std::abort();
      }
  }
  return 0;
}
