// Bytes from one place to another, past the cache where that pays.
#pragma once
#include <algorithm>

#include "machines/cpu/lanes.h"

namespace tokitai::cpu::TK_ISA {

TK_FN void copy_row(void* to, const void* from, std::int64_t bytes, bool streamed) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  auto* out = static_cast<std::uint8_t*>(to);
  const auto* in = static_cast<const std::uint8_t*>(from);
  std::int64_t i = 0;
  if (streamed) {
    const std::int64_t over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out)) % step;
    i = std::min(bytes, (step - over) % step);
    std::memcpy(out, in, static_cast<std::size_t>(i));
    for (; i + 4 * step <= bytes; i += 4 * step) {
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
