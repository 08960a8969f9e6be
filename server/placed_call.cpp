#include "server/placed_call.h"

#include <cstring>

namespace tokitai::server {

Result<CallOverMemory> call_over(std::string_view body, std::byte* shared, std::int64_t bytes) {
  auto placed = decode_call(body, bytes);
  if (!placed.ok()) return placed.status();
  CallOverMemory out{std::move(placed->call)};
  Call& call = out.call;
  for (std::size_t t = 0; t < placed->places.size(); ++t)
    for (std::size_t i = 0; i < call.contract->operands.size(); ++i) {
      const Place& place = placed->places[t][i];
      View& view = call.contract->list ? call.list[t][i] : call.operands[i];
      view.data = shared + place.write;
      if (view.present() && place.read != place.write)
        std::memmove(view.data, shared + place.read, static_cast<std::size_t>(extent_of(view)));
    }
  if (placed->journal != kNoJournal) out.journal = shared + placed->journal;
  return out;
}

}  // namespace tokitai::server
