// What the parsers of requests are put together from.
#pragma once
#include <fmt/format.h>

#include "contract/contract.h"
#include "requests/request.h"
#include "requests/tokens.h"

namespace tokitai::requests {

inline f16* pointer(std::vector<std::uint16_t>& values) { return reinterpret_cast<f16*>(values.data()); }

// Reads arrays in order; the first that is short or holds no number keeps its status code and name.
class Arrays {
 public:
  Arrays(Tokens& tokens, ParsedRequest& parsed, int first_status)
      : tokens_(tokens), parsed_(parsed), status_(first_status) {}

  std::vector<std::uint16_t>& halves(std::string_view name, std::int64_t count) {
    return read(parsed_.request.halves, name, count, "16-bit patterns");
  }
  std::vector<float>& singles(std::string_view name, std::int64_t count) {
    return read(parsed_.request.singles, name, count, "numbers");
  }
  std::vector<std::int64_t>& integers(std::string_view name, std::int64_t count) {
    return read(parsed_.request.integers, name, count, "integers");
  }
  // All arrays were there, and nothing more. Where not, views of the request must not be used.
  bool finish() {
    if (parsed_.status != 0) return false;
    if (tokens_.at_end()) return true;
    parsed_.status = kTooMuch;
    parsed_.error = "something follows the last array";
    return false;
  }

 private:
  template <class T>
  std::vector<T>& read(std::deque<std::vector<T>>& kept, std::string_view name, std::int64_t count,
                       std::string_view what) {
    std::vector<T>& values = kept.emplace_back();
    if (parsed_.status == 0 && !tokens_.get(values, count)) {
      parsed_.status = status_;
      parsed_.error = fmt::format("{} does not hold {} {}", name, count, what);
    }
    ++status_;
    return values;
  }
  Tokens& tokens_;
  ParsedRequest& parsed_;
  int status_;
};

inline std::vector<std::uint16_t>& output_halves(Request& r, std::int64_t count) {
  return r.halves.emplace_back(static_cast<std::size_t>(count));
}
inline std::vector<float>& output_singles(Request& r, std::int64_t count) {
  return r.singles.emplace_back(static_cast<std::size_t>(count));
}

inline ParsedRequest refused(int status, std::string error) { return {status, std::move(error), {}}; }

// Whether rows times cols is a number of elements we take.
inline bool fits(std::int64_t rows, std::int64_t cols) {
  std::int64_t elements = 0;
  return rows > 0 && cols > 0 && !__builtin_mul_overflow(rows, cols, &elements) && elements <= kMostElements;
}

// The adamw call over arrays that are there; text and binary make the same.
struct AdamwHeader {
  std::int64_t n = 0, t = 0;
  float lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
};
void bind_adamw(Request& request, const AdamwHeader& header);

}  // namespace tokitai::requests
