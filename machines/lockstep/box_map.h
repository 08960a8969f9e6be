// A matrix in global memory as the copy engine knows it: on this machine what a kernel's Map holds (the machine fills
// it from a plan's MapPlan).
#pragma once
#include <cstdint>

namespace tokitai::lockstep {

struct BoxMap {
  static constexpr std::uint64_t kMark = 0x70616d206120736f;  // a map that was made
  std::uint64_t mark = 0;
  const void* data = nullptr;
  std::int64_t size[3] = {0, 0, 0};  // elements; the row first
  std::int64_t stride[2] = {0, 0};   // bytes
  std::int32_t box[2] = {0, 0};      // elements
  std::int32_t element = 0;          // bytes
  std::int32_t swizzled = 0;

  int line_bytes() const { return box[0] * element; }
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(data); }
  int bytes() const { return line_bytes() * box[1]; }
};

}  // namespace tokitai::lockstep
