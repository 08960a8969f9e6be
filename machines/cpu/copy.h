// Bytes from one place to another, past the cache where that pays.
#pragma once
#include <algorithm>

#include "machines/cpu/lanes.h"

namespace tokitai::cpu::TK_ISA {

// `next` is what is copied some time after this, kCopyAhead further on: as much of it is fetched as lies within that,
// and only to the second-level cache, which can wait for more of it at once than the first.
inline constexpr std::int64_t kCopyAhead = 8192;
TK_FN void copy_row(void* to, const void* from, std::int64_t bytes, bool streamed, const void* next = nullptr) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  auto* out = static_cast<std::uint8_t*>(to);
  const auto* in = static_cast<const std::uint8_t*>(from);
  std::int64_t i = 0;
  if (streamed) {
    const std::int64_t over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out)) % step;
    i = std::min(bytes, (step - over) % step);
    std::memcpy(out, in, static_cast<std::size_t>(i));
    const std::int64_t ahead = next == nullptr ? bytes : std::max<std::int64_t>(0, bytes - kCopyAhead);
    const auto* line = static_cast<const std::uint8_t*>(next);
    for (; i + 4 * step <= bytes; i += 4 * step) {
      for (std::int64_t k = 0; k < 4 * step && i >= ahead; k += 64) __builtin_prefetch(line + i - ahead + k, 0, 2);
      const auto a = hn::LoadU(d, in + i), b = hn::LoadU(d, in + i + step);
      const auto e = hn::LoadU(d, in + i + 2 * step), f = hn::LoadU(d, in + i + 3 * step);
      hn::Stream(a, d, out + i);
      hn::Stream(b, d, out + i + step);
      hn::Stream(e, d, out + i + 2 * step);
      hn::Stream(f, d, out + i + 3 * step);
    }
  }
  std::memcpy(out + i, in + i, static_cast<std::size_t>(bytes - i));
}

}  // namespace tokitai::cpu::TK_ISA
