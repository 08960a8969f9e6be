// The angles of rotary embeddings in fixed point: theta_j = base^(-2j/D) as a real number, p*theta_j in turns, and the
// f32 nearest to its cosine and sine. No C library's power or sine takes part, so that the bits are the same
// everywhere.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace tokitai::rope {

// A number that is not negative: 64 bits before the point and 256 behind it, the least significant limb first. Results
// are cut, not rounded: an operation is off by a few 2^-256.
struct Fixed {
  std::array<std::uint64_t, 5> limb{};
};

struct CosSin {
  float cos, sin;
};

class Angles {
 public:
  // `half` is D/2; base is at least 1 and at most kMostBase.
  Angles(std::int64_t half, float base);
  // 0 <= j < half, 0 <= position < 2^31.
  CosSin at(std::int64_t position, std::int64_t j) const;

  static constexpr float kMostBase = 0x1p40f;  // so that no angle but 0 is below 2^-43, where 126 bits leave 83
 private:
  std::vector<Fixed> turns_;  // theta_j / (2 pi)
};

}  // namespace tokitai::rope
