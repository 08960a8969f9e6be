// Random numbers by index: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
// 1, 2, 3", 2011). Counter-based, so draw i has the same bits whoever makes it, in any order, on any machine;
// the deviates are made of correctly rounded operations and our own log only.
#pragma once
#include <cstdint>

#include "numerics/base.h"
#include "numerics/elementary.h"

namespace tokitai {

struct PhiloxWords {
  std::uint32_t word[4];
};

// The published function: ten rounds of two 32 x 32 -> 64 bit products, 128-bit counter, 64-bit key.
TK_FN PhiloxWords philox4x32_10(PhiloxWords counter, std::uint32_t key0, std::uint32_t key1) {
  PhiloxWords c = counter;
  for (int round = 0; round < 10; ++round) {
    std::uint64_t product0 = std::uint64_t{0xD2511F53u} * c.word[0];
    std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * c.word[2];
    c = {{static_cast<std::uint32_t>(product1 >> 32) ^ c.word[1] ^ key0, static_cast<std::uint32_t>(product1),
          static_cast<std::uint32_t>(product0 >> 32) ^ c.word[3] ^ key1, static_cast<std::uint32_t>(product0)}};
    key0 += 0x9E3779B9u;  // the golden ratio and sqrt(3) - 1: a Weyl sequence of round keys
    key1 += 0xBB67AE85u;
  }
  return c;
}

// The top 24 bits as k / 2^24 in [0, 1): exact, so unbiased and the same everywhere.
TK_FN float uniform_from_word(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word >> 8)) * 0x1p-24f;
}

// A standard normal deviate from one word, by the inverse of the distribution function. The word's top bit is
// the sign; the other 31, as m, give the tail probability p = (2m + 1) / 2^33 < 1/2, so |z| goes up to 6.3.
// With d = 1 - 2p and w = -log(1 - d^2), z / d is smooth in w near 0 and in sqrt(w) far out: one polynomial
// each.
TK_FN float normal_from_word(std::uint32_t word) {
  std::uint32_t odd = (word << 1) | 1u;
  float p = static_cast<float>(odd) * 0x1p-33f;
  float d = static_cast<float>(0u - odd) * 0x1p-32f;  // 1 - 2p from the integers: no cancellation
  float w = 0.0f - log(4.0f * p * (1.0f - p));

  float t = w - 3.0f;
  float centre = fma(t, -0x1.f5819ap-28f, -0x1.42106ep-28f);
  centre = fma(centre, t, 0x1.5044dep-21f);
  centre = fma(centre, t, -0x1.6951d6p-19f);
  centre = fma(centre, t, -0x1.2cd95cp-16f);
  centre = fma(centre, t, 0x1.22052ap-12f);
  centre = fma(centre, t, -0x1.360410p-10f);
  centre = fma(centre, t, -0x1.09f05ap-7f);
  centre = fma(centre, t, 0x1.5deb10p-2f);
  centre = fma(centre, t, 0x1.25e47cp+1f);

  float s = sqrt(w) - 3.5f;
  float tail = fma(s, 0x1.42f90ep-15f, -0x1.2e3d6ap-12f);
  tail = fma(tail, s, 0x1.6d52f6p-11f);
  tail = fma(tail, s, -0x1.04ae28p-10f);
  tail = fma(tail, s, 0x1.8909bep-10f);
  tail = fma(tail, s, -0x1.7d5802p-9f);
  tail = fma(tail, s, 0x1.305fb0p-8f);
  tail = fma(tail, s, 0x1.6cb4d8p+0f);
  tail = fma(tail, s, 0x1.2de4c8p+2f);

  float z = d * select(w < 6.0f, centre, tail);
  return from_bits(bits(z) | (word & 0x80000000u));
}

// The generator: a seed names the family, a stream one member of it (a tensor, a layer, a step), an index one
// draw. Nothing is stored, so nothing has to be saved, split or advanced.
struct Philox {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;

  // Four words at once; words 4c to 4c + 3 of the stream.
  TK_FN PhiloxWords at(std::uint64_t counter) const {
    PhiloxWords c = {{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                      static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}};
    return philox4x32_10(c, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  }
  TK_FN std::uint32_t word(std::uint64_t index) const { return at(index >> 2).word[index & 3]; }
  TK_FN float uniform(std::uint64_t index) const { return uniform_from_word(word(index)); }
  TK_FN float normal(std::uint64_t index) const { return normal_from_word(word(index)); }
};

}  // namespace tokitai
