// Tokitai's own messages between a caller and a worker: versioned, little-endian, length-checked. docs/wire.md has the
// layout byte by byte. Tensors are not in them, only where they lie in the shared memory.
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
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::uint32_t kMostBody = 64u << 20;
inline constexpr std::size_t kMostText = 1u << 16;

enum class Kind : std::uint16_t { hello = 1, welcome = 2, call = 3, answer = 4, workspace = 5, bytes_needed = 6 };

struct Header {
  Kind kind{};
  std::uint32_t length = 0;    // of the body
  std::uint32_t sequence = 0;  // an answer carries its call's
};
std::array<char, kHeaderBytes> encode(const Header& header);
Result<Header> decode_header(std::string_view bytes);

// The first message; the shared memory's descriptor comes with it.
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
};
std::string encode(const Welcome& welcome);
Result<Welcome> decode_welcome(std::string_view body);

// Where an operand lies in the shared memory: where it is read, and where it is written, which may be the same.
struct Place {
  std::int64_t read = 0, write = 0;
};
using Places = std::array<Place, kMaxOperands>;

// A call, and for each of its operand sets the places; views' pointers are not sent.
std::string encode(const Call& call, const std::vector<Places>& places);
struct PlacedCall {
  Call call;
  std::vector<Places> places;
};
// Every place, over the whole of its operand, lies inside the shared memory.
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

// Bytes from an operand's first element to behind its last, padding between rows included; -1: more than 2^63.
std::int64_t extent_of(const View& view);

}  // namespace tokitai::server
