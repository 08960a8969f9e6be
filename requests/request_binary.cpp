// The binary AdamW request: a header of 36 bytes, then the four arrays.
#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "requests/request_parts.h"
#include "tokitai/adamw.h"

namespace tokitai::requests {
namespace {

constexpr std::uint32_t kAdamwMagic = 0x57414441;  // "ADAW"
constexpr std::size_t kAdamwHeader = 36;
constexpr std::int64_t kBytesPerElement = 2 + 4 + 4 + 2;

template <class T> void take(std::deque<std::vector<T>>& kept, const char*& from, std::int64_t count) {
  auto& values = kept.emplace_back(static_cast<std::size_t>(count));
  std::memcpy(values.data(), from, values.size() * sizeof(T));
  from += values.size() * sizeof(T);
}

bool text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return (c >= ' ' && c <= '~') || (c >= '\t' && c <= '\r'); });
}

}  // namespace

void bind_adamw(Request& request, const AdamwHeader& h) {
  const AdamwTensor tensor{vector(pointer(request.halves[0]), h.n), vector(request.singles[0].data(), h.n),
                           vector(request.singles[1].data(), h.n), vector(pointer(request.halves[1]), h.n)};
  request.call = bind(AdamwStep{.tensors = {&tensor, 1},
                                .lr = h.lr,
                                .beta1 = h.beta1,
                                .beta2 = h.beta2,
                                .eps = h.eps,
                                .weight_decay = h.weight_decay,
                                .t = h.t});
  request.shape = {{"N", h.n}};
  request.outputs = {{"THETA", tensor.theta, ','}, {"M", tensor.m, ','}, {"V", tensor.v, ','}};
}

ParsedRequest parse_binary_adamw(std::string_view bytes) {
  if (bytes.size() < kAdamwHeader)
    return refused(30, fmt::format("{} bytes; the header alone has {}", bytes.size(), kAdamwHeader));
  base::Reader header(bytes.substr(0, kAdamwHeader));
  if (const auto magic = header.get<std::uint32_t>(); magic != kAdamwMagic)
    return refused(31, fmt::format("it begins with {:#010x}, not {:#010x}", magic, kAdamwMagic));
  AdamwHeader h;
  h.n = header.get<std::uint32_t>();
  h.lr = header.get<float>();
  h.beta1 = header.get<float>();
  h.beta2 = header.get<float>();
  h.eps = header.get<float>();
  h.weight_decay = header.get<float>();
  h.t = header.get<std::int32_t>();
  if (h.n == 0 || h.n > kMostElements)
    return refused(32, fmt::format("n = {}; it must be in [1, {}]", h.n, kMostElements));
  if (h.t < 1) return refused(33, fmt::format("t = {}; it must be at least 1", h.t));
  const auto wanted = static_cast<std::size_t>(h.n * kBytesPerElement);
  if (bytes.size() - kAdamwHeader != wanted)
    return refused(
        bytes.size() - kAdamwHeader < wanted ? 34 : kTooMuch,
        fmt::format("{} bytes behind the header; n = {} needs {}", bytes.size() - kAdamwHeader, h.n, wanted));
  ParsedRequest parsed;
  Request& r = parsed.request;
  const char* from = bytes.data() + kAdamwHeader;
  take(r.halves, from, h.n);
  take(r.singles, from, h.n);
  take(r.singles, from, h.n);
  take(r.halves, from, h.n);
  bind_adamw(r, h);
  r.binary = true;
  return parsed;
}

ParsedRequest parse_framed_request(RequestFamily family, std::string_view bytes) {
  const bool binary = family == RequestFamily::adamw && (bytes.starts_with("ADAW") || !text(bytes));
  return binary ? parse_binary_adamw(bytes) : parse_text_request(family, bytes);
}

}  // namespace tokitai::requests
