// Requests in the formats of an older protocol: `tokitai worker FAMILY` reads them and answers. A request names one
// call and carries its tensors, as text or, for adamw, in binary. docs/wire.md has the layouts and status codes.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokitai/device.h"

namespace tokitai::requests {

enum class RequestFamily : std::uint8_t { adamw, layernorm, gemm_backward, embedding, softmax };
inline constexpr std::pair<std::string_view, RequestFamily> kRequestFamilies[] = {
    {"adamw", RequestFamily::adamw},
    {"layernorm", RequestFamily::layernorm},
    {"gemm_backward", RequestFamily::gemm_backward},
    {"embedding", RequestFamily::embedding},
    {"softmax", RequestFamily::softmax}};

// Status codes beyond those a format gives its fields.
inline constexpr int kBadHeader = 2;
inline constexpr int kRefused = 40;                                   // the operator's contract refused it
inline constexpr int kDeviceFailed = 41;                              // the device could not run it
inline constexpr int kTooMuch = 42;                                   // something follows the last array
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 28;  // of one array

struct Request {
  Call call;
  struct Output {
    std::string_view name;
    View view;
    char separator;
  };
  std::vector<Output> outputs;
  std::vector<std::pair<std::string_view, std::int64_t>> shape;
  bool binary = false;
  // The tensors; a deque, so that views stay good.
  std::deque<std::vector<std::uint16_t>> halves;
  std::deque<std::vector<float>> singles;
  std::deque<std::vector<std::int64_t>> integers;
};

// The request, or the status code and the sentence it is refused with. Nothing is read beyond `bytes`, and no array is
// larger than what they can hold.
struct ParsedRequest {
  int status = 0;
  std::string error;
  Request request;
};
ParsedRequest parse_text_request(RequestFamily family, std::string_view text);
ParsedRequest parse_binary_adamw(std::string_view bytes);
// What a frame of --server holds: text, or for adamw also the binary request. A frame with the binary request's first
// four bytes, or with any byte that no text has, is binary.
ParsedRequest parse_framed_request(RequestFamily family, std::string_view bytes);

// Runs it. `text` is the answer, or the error's sentence where `status` is not 0.
struct Response {
  int status = 0;
  std::string bytes;
};
Response respond(ParsedRequest parsed, Device& device);

}  // namespace tokitai::requests
