// Tokitai's own messages between a caller and a worker or server: versioned, little-endian, length-checked.
// docs/wire.md has the layout byte by byte. Tensors are not in them, only where they lie in the shared memory.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "contract/contract.h"
#include "tokitai/device.h"

namespace tokitai::server {

inline constexpr std::uint32_t kMagic = 0x57696b54;  // "TkiW"
inline constexpr std::uint16_t kVersion = 3;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::uint32_t kMostBody = 64u << 20;
inline constexpr std::size_t kMostText = 1u << 16;
inline constexpr std::int32_t kMostThreads = 1024;  // of a device

enum class Kind : std::uint16_t {
  hello = 1,
  welcome = 2,
  call = 3,
  answer = 4,
  workspace = 5,
  bytes_needed = 6,
  attach = 7,
  detach = 8,
  done = 9,
  inquiry = 10,
  state = 11,
  goodbye = 12,
};

struct Header {
  Kind kind{};
  std::uint32_t length = 0;    // of the body
  std::uint32_t sequence = 0;  // an answer carries its call's
};
std::array<char, kHeaderBytes> encode(const Header& header);
Result<Header> decode_header(std::string_view bytes);

// The first message; the shared memory's descriptor comes with it. A worker of a server is told of none: its memories
// are attached later.
struct Hello {
  std::string device;
  DeviceOptions options;
  std::int64_t shared_bytes = 0;
};
std::string encode(const Hello& hello);
Result<Hello> decode_hello(std::string_view body);

struct Welcome {
  Status status;
  std::int32_t threads = 0;
  std::string description;
  bool keeps_journal = false;
};
std::string encode(const Welcome& welcome);
Result<Welcome> decode_welcome(std::string_view body);

// Where an operand lies in the shared memory: where it is read, and where it is written, which may be the same.
struct Place {
  std::int64_t read = 0, write = 0;
};
using Places = std::array<Place, kMaxOperands>;

// A call in the caller's own memory (number 0), for each of its operand sets the places, and where its journal lies;
// pointers are not sent.
inline constexpr std::int64_t kNoJournal = -1;
struct PlacedCall {
  Call call;
  std::vector<Places> places;
  std::int64_t journal = kNoJournal;
};
std::string encode(const PlacedCall& placed);
// A call's body begins with the number of the memory its places are in. A caller has one, number 0; a server numbers
// those of its clients for its workers.
inline constexpr std::size_t kMemoryBytes = sizeof(std::uint32_t);
Result<std::uint32_t> memory_of_call(std::string_view body);
void set_memory_of_call(std::string& body, std::uint32_t memory);
// Every place, over the whole of its operand, lies inside the shared memory, and so does the journal.
Result<PlacedCall> decode_call(std::string_view body, std::int64_t shared_bytes);

struct Reply {
  Status status;
  Outcome outcome;
};
std::string encode(const Reply& reply);
Result<Reply> decode_reply(std::string_view body);

struct BytesNeeded {
  Status status;
  std::int64_t bytes = 0;
};
std::string encode(const BytesNeeded& answer);
Result<BytesNeeded> decode_bytes_needed(std::string_view body);

// A server tells its worker of a client's memory, whose descriptor comes with the message, and when it is gone.
struct Attach {
  std::uint32_t memory = 0;
  std::int64_t bytes = 0;
};
std::string encode(const Attach& attach);
Result<Attach> decode_attach(std::string_view body);
std::string encode_detach(std::uint32_t memory);
Result<std::uint32_t> decode_detach(std::string_view body);

// A status alone: done, and goodbye, with which a server closes a connection.
std::string encode(const Status& status);
struct Told {
  Status status;
};
Result<Told> decode_told(std::string_view body);

// What a server says of itself. Latencies are from a whole call's arrival to its answer, over the last calls.
struct ServerState {
  std::string device;
  std::int64_t uptime_seconds = 0;
  std::int64_t connections = 0, clients = 0, connections_taken = 0, connections_refused = 0;
  std::int64_t queued = 0, running = 0;
  std::int64_t calls = 0, calls_failed = 0, calls_late = 0;
  std::int64_t workers = 0, restarts = 0;
  std::int64_t mapped_bytes = 0;
  std::int64_t latency_us_50 = 0, latency_us_90 = 0, latency_us_99 = 0, latency_us_most = 0;
  bool operator==(const ServerState&) const = default;
};
std::string encode(const ServerState& state);
Result<ServerState> decode_state(std::string_view body);

// Bytes from an operand's first element to behind its last, padding between rows included; -1: more than 2^63.
std::int64_t extent_of(const View& view);

}  // namespace tokitai::server
