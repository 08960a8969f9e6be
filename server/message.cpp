#include "server/message.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "patterns/journal.h"

namespace tokitai::server {
namespace {

Status nonsense(std::string_view what) { return Status::invalid(fmt::format("a malformed message: {}", what)); }

void put(base::Writer& w, const Status& status) {
  w.put(static_cast<std::uint32_t>(status.code()));
  w.put_text(std::string_view(status.message()).substr(0, kMostText));
}
Status get_status(base::Reader& r) {
  const auto code = r.get<std::uint32_t>();
  const std::string_view message = r.get_text(kMostText);
  if (code > static_cast<std::uint32_t>(Code::internal)) r.fail();
  return r.failed() || code == 0 ? Status() : Status(static_cast<Code>(code), std::string(message));
}

void put(base::Writer& w, const View& view, const Place& place) {
  w.put(static_cast<std::uint8_t>(view.rank));
  if (!view.present()) return;
  w.put(static_cast<std::uint8_t>(view.type));
  for (int d = 0; d < view.rank; ++d) w.put(view.shape[static_cast<std::size_t>(d)]);
  for (int d = 0; d + 1 < view.rank; ++d) w.put(view.stride(d));
  w.put(place.read);
  w.put(place.write);
}

bool inside(std::int64_t offset, std::int64_t extent, std::int64_t shared_bytes) {
  return offset >= 0 && extent >= 0 && extent <= shared_bytes && offset <= shared_bytes - extent;
}

// Such a call is updated in place, and taken on in place.
bool may_keep_journal(const PlacedCall& placed, std::int64_t shared_bytes) {
  for (const Places& set : placed.places)
    for (const Place& place : set)
      if (place.read != place.write) return false;
  std::int64_t elements = 0;
  for (const Operands& set : placed.call.list)
    if (__builtin_add_overflow(elements, set[0].elements(), &elements)) return false;
  return Journal::suits(*placed.call.contract) && placed.journal % Journal::kLine == 0 &&
         inside(placed.journal, Journal::bytes(elements), shared_bytes);
}

// False: not an operand, or not one inside the shared memory.
bool get(base::Reader& r, View& view, Place& place, std::int64_t shared_bytes) {
  const auto rank = r.get<std::uint8_t>();
  if (r.failed() || rank > kMaxRank) return false;
  if (rank == 0) return true;
  const auto type = r.get<std::uint8_t>();
  view.rank = rank;
  for (int d = 0; d < view.rank; ++d) view.shape[static_cast<std::size_t>(d)] = r.get<std::int64_t>();
  for (int d = 0; d + 1 < view.rank; ++d)
    (d + 2 == view.rank ? view.row_stride : view.outer_stride[static_cast<std::size_t>(d)]) = r.get<std::int64_t>();
  place.read = r.get<std::int64_t>();
  place.write = r.get<std::int64_t>();
  if (r.failed() || type > static_cast<std::uint8_t>(Type::i64)) return false;
  view.type = static_cast<Type>(type);
  const std::int64_t extent = extent_of(view);
  const auto size = static_cast<std::int64_t>(size_of(view.type));
  return inside(place.read, extent, shared_bytes) && inside(place.write, extent, shared_bytes) &&
         place.read % size == 0 && place.write % size == 0;
}

}  // namespace

std::int64_t extent_of(const View& view) {
  if (view.rank == 2 && view.row_stride < view.cols()) return -1;
  const std::int64_t elements = elements_of(view.shape, view.rank);
  if (elements <= 0) return elements;
  // Each step is checked: nobody has looked at these numbers before.
  std::int64_t last = 0;
  for (int d = 0; d < view.rank; ++d) {
    std::int64_t step = 0;
    if (view.stride(d) < 1 ||
        __builtin_mul_overflow(view.shape[static_cast<std::size_t>(d)] - 1, view.stride(d), &step) ||
        __builtin_add_overflow(last, step, &last))
      return -1;
  }
  std::int64_t bytes = 0;
  const auto size = static_cast<std::int64_t>(size_of(view.type));
  return __builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, size, &bytes) ? -1 : bytes;
}

std::array<char, kHeaderBytes> encode(const Header& header) {
  base::Writer w;
  w.put(kMagic);
  w.put(kVersion);
  w.put(static_cast<std::uint16_t>(header.kind));
  w.put(header.length);
  w.put(header.sequence);
  std::array<char, kHeaderBytes> bytes{};
  std::memcpy(bytes.data(), w.bytes().data(), bytes.size());
  return bytes;
}
Result<Header> decode_header(std::string_view bytes) {
  base::Reader r(bytes);
  const auto magic = r.get<std::uint32_t>();
  const auto version = r.get<std::uint16_t>();
  const auto kind = r.get<std::uint16_t>();
  const Header header{static_cast<Kind>(kind), r.get<std::uint32_t>(), r.get<std::uint32_t>()};
  if (!r.complete()) return nonsense(fmt::format("a header of {} bytes; it has {}", bytes.size(), kHeaderBytes));
  if (magic != kMagic) return nonsense(fmt::format("it begins with {:#010x}, not {:#010x}", magic, kMagic));
  if (version != kVersion) return nonsense(fmt::format("version {}; this is version {}", version, kVersion));
  if (kind < static_cast<int>(Kind::hello) || kind > static_cast<int>(Kind::goodbye))
    return nonsense(fmt::format("kind {}; there are 1 to {}", kind, static_cast<int>(Kind::goodbye)));
  if (header.length > kMostBody)
    return nonsense(fmt::format("a body of {} bytes; the most is {}", header.length, kMostBody));
  return header;
}

std::string encode(const Hello& hello) {
  base::Writer w;
  w.put_text(hello.device);
  w.put(static_cast<std::int32_t>(hello.options.threads));
  w.put(static_cast<std::int32_t>(hello.options.plan));
  w.put_text(hello.options.isa);
  w.put(hello.options.call_seconds);
  w.put(hello.shared_bytes);
  return w.take();
}
Result<Hello> decode_hello(std::string_view body) {
  base::Reader r(body);
  Hello hello;
  hello.device = r.get_text(kMostText);
  hello.options.threads = r.get<std::int32_t>();
  hello.options.plan = r.get<std::int32_t>();
  hello.options.isa = r.get_text(kMostText);
  hello.options.call_seconds = r.get<double>();
  hello.shared_bytes = r.get<std::int64_t>();
  if (!r.complete() || hello.shared_bytes < 0) return nonsense("not a hello");
  return hello;
}

std::string encode(const Welcome& welcome) {
  base::Writer w;
  put(w, welcome.status);
  w.put(welcome.threads);
  w.put_text(std::string_view(welcome.description).substr(0, kMostText));
  w.put(static_cast<std::uint8_t>(welcome.keeps_journal ? 1 : 0));
  return w.take();
}
Result<Welcome> decode_welcome(std::string_view body) {
  base::Reader r(body);
  Welcome welcome;
  welcome.status = get_status(r);
  welcome.threads = r.get<std::int32_t>();
  welcome.description = r.get_text(kMostText);
  const auto keeps_journal = r.get<std::uint8_t>();
  welcome.keeps_journal = keeps_journal == 1;
  if (!r.complete() || keeps_journal > 1) return nonsense("not a welcome");
  if (welcome.status.ok() && (welcome.threads < 1 || welcome.threads > kMostThreads))
    return nonsense(fmt::format("a device of {} threads; there are 1 to {}", welcome.threads, kMostThreads));
  return welcome;
}

std::string encode(const PlacedCall& placed) {
  const Call& call = placed.call;
  base::Writer w;
  w.put(std::uint32_t{0});
  w.put(placed.journal);
  w.put_text(call.contract->name);
  for (std::size_t i = 0; i < call.contract->options.size(); ++i) {
    w.put(static_cast<std::uint8_t>(call.options[i].set ? 1 : 0));
    w.put(call.options[i].f);
    w.put(call.options[i].i);
  }
  const bool list = call.contract->list;
  w.put(static_cast<std::uint32_t>(list ? call.list.size() : 1));
  for (std::size_t t = 0; t < placed.places.size(); ++t)
    for (std::size_t i = 0; i < call.contract->operands.size(); ++i)
      put(w, (list ? call.list[t] : call.operands)[i], placed.places[t][i]);
  return w.take();
}
Result<std::uint32_t> memory_of_call(std::string_view body) {
  base::Reader r(body);
  const auto memory = r.get<std::uint32_t>();
  if (r.failed()) return nonsense("a call without the number of a memory");
  return memory;
}
void set_memory_of_call(std::string& body, std::uint32_t memory) { std::memcpy(body.data(), &memory, kMemoryBytes); }
Result<PlacedCall> decode_call(std::string_view body, std::int64_t shared_bytes) {
  base::Reader r(body);
  PlacedCall placed;
  static_cast<void>(r.get<std::uint32_t>());  // memory_of_call reads it
  placed.journal = r.get<std::int64_t>();
  const std::string_view name = r.get_text(kMostText);
  if (r.failed()) return nonsense("a call without an operator's name");
  placed.call.contract = find_contract(name);
  if (placed.call.contract == nullptr) return nonsense(fmt::format("no operator '{}'", name));
  const Contract& contract = *placed.call.contract;
  for (std::size_t i = 0; i < contract.options.size(); ++i) {
    const auto set = r.get<std::uint8_t>();
    if (set > 1) r.fail();
    placed.call.options[i] = {set == 1, r.get<float>(), r.get<std::int64_t>()};
  }
  const auto sets = r.get<std::uint32_t>();
  // A set takes at least a byte for each operand, so that a count that lies cannot make us allocate.
  if (r.failed() || sets > r.left() / contract.operands.size() || (!contract.list && sets != 1))
    return nonsense(fmt::format("{}: options or the number of operand sets", name));
  if (contract.list) placed.call.list.resize(sets);
  placed.places.resize(sets);
  for (std::size_t t = 0; t < sets; ++t)
    for (std::size_t i = 0; i < contract.operands.size(); ++i)
      if (!get(r, contract.list ? placed.call.list[t][i] : placed.call.operands[i], placed.places[t][i], shared_bytes))
        return nonsense(fmt::format("{}: {} of set {} is cut short, no operand, or outside of the shared memory", name,
                                    contract.operands[i].name, t));
  if (!r.complete()) return nonsense(fmt::format("{}: {} bytes behind the last operand", name, r.left()));
  if (placed.journal != kNoJournal && !may_keep_journal(placed, shared_bytes))
    return nonsense(fmt::format("{}: a journal where it has none, or outside of the shared memory", name));
  return placed;
}

std::string encode(const Reply& reply) {
  base::Writer w;
  put(w, reply.status);
  w.put(static_cast<std::uint8_t>(reply.outcome.skipped ? 1 : 0));
  w.put(reply.outcome.skipped_tensor);
  w.put(reply.outcome.skipped_position);
  w.put(reply.outcome.host_bytes_copied);
  return w.take();
}
Result<Reply> decode_reply(std::string_view body) {
  base::Reader r(body);
  Reply reply;
  reply.status = get_status(r);
  const auto skipped = r.get<std::uint8_t>();
  reply.outcome.skipped = skipped == 1;
  reply.outcome.skipped_tensor = r.get<std::int64_t>();
  reply.outcome.skipped_position = r.get<std::int64_t>();
  reply.outcome.host_bytes_copied = r.get<std::int64_t>();
  if (!r.complete() || skipped > 1) return nonsense("not an answer");
  return reply;
}

std::string encode(const BytesNeeded& answer) {
  base::Writer w;
  put(w, answer.status);
  w.put(answer.bytes);
  return w.take();
}
Result<BytesNeeded> decode_bytes_needed(std::string_view body) {
  base::Reader r(body);
  BytesNeeded answer;
  answer.status = get_status(r);
  answer.bytes = r.get<std::int64_t>();
  if (!r.complete()) return nonsense("not a number of bytes");
  return answer;
}

std::string encode(const Attach& attach) {
  base::Writer w;
  w.put(attach.memory);
  w.put(attach.bytes);
  return w.take();
}
Result<Attach> decode_attach(std::string_view body) {
  base::Reader r(body);
  Attach attach;
  attach.memory = r.get<std::uint32_t>();
  attach.bytes = r.get<std::int64_t>();
  if (!r.complete() || attach.bytes <= 0) return nonsense("not an attach");
  return attach;
}
std::string encode_detach(std::uint32_t memory) {
  base::Writer w;
  w.put(memory);
  return w.take();
}
Result<std::uint32_t> decode_detach(std::string_view body) {
  base::Reader r(body);
  const auto memory = r.get<std::uint32_t>();
  if (!r.complete()) return nonsense("not a detach");
  return memory;
}

std::string encode(const Status& status) {
  base::Writer w;
  put(w, status);
  return w.take();
}
Result<Told> decode_told(std::string_view body) {
  base::Reader r(body);
  Told told{get_status(r)};
  if (!r.complete()) return nonsense("not a status");
  return told;
}

namespace {

// Its numbers in the order in which they are sent.
constexpr std::int64_t ServerState::* kStateNumbers[] = {
    &ServerState::uptime_seconds,
    &ServerState::connections,
    &ServerState::clients,
    &ServerState::connections_taken,
    &ServerState::connections_refused,
    &ServerState::queued,
    &ServerState::running,
    &ServerState::calls,
    &ServerState::calls_failed,
    &ServerState::calls_late,
    &ServerState::workers,
    &ServerState::restarts,
    &ServerState::mapped_bytes,
    &ServerState::latency_us_50,
    &ServerState::latency_us_90,
    &ServerState::latency_us_99,
    &ServerState::latency_us_most,
};

}  // namespace

std::string encode(const ServerState& state) {
  base::Writer w;
  w.put_text(state.device);
  for (const auto number : kStateNumbers) w.put(state.*number);
  return w.take();
}
Result<ServerState> decode_state(std::string_view body) {
  base::Reader r(body);
  ServerState state;
  state.device = r.get_text(kMostText);
  for (const auto number : kStateNumbers) state.*number = r.get<std::int64_t>();
  if (!r.complete()) return nonsense("not a server's state");
  return state;
}

}  // namespace tokitai::server
