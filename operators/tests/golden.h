// The frozen bits of each operator: a 64-bit hash over everything the reference device writes for a fixed line of
// problems. A changed hash is a changed promise: it needs a new release, not a new table.
// TOKITAI_PRINT_GOLDEN=1 golden_test --gtest_filter='Golden*' prints the table.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "problems/instance.h"
#include "tokitai/device.h"

namespace tokitai::golden {

struct Entry {
  std::string_view line;  // problems; all combinations are hashed one after the other
  std::uint64_t hash;
};

// Sizes cross the lanes (256) and blocks (2048) of a row, the chains of 32 and of 1024 rows. No spread=zipf: its
// indices come from the C library's pow.
inline constexpr Entry kTable[] = {
#include "golden_lines.inc"  // of every family's golden.inc, made by the build
};

// FNV-1a.
class Hash {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) value_ = (value_ ^ p[i]) * 0x100000001b3u;
  }
  void add(const View& view) {  // elements only, row by row
    const std::size_t size = size_of(view.type);
    for (std::int64_t r = 0; r < view.lines(); ++r)
      add(static_cast<const std::byte*>(view.data) + static_cast<std::size_t>(view.line_offset(r)) * size,
          static_cast<std::size_t>(view.line_elements()) * size);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

// Runs a line's problems on a device and hashes every output, or says why it could not.
inline Result<std::uint64_t> hash_of(std::string_view line, Device& device) {
  auto problems = problems::parse_problems(line);
  if (!problems.ok()) return problems.status();
  Hash hash;
  for (const problems::Problem& problem : problems.value()) {
    auto instance = problems::Instance::make(problem);
    if (!instance.ok()) return instance.status();
    instance->reset(std::byte{0xa5});
    Call call = instance->call();
    if (Status status = device.run(call); !status.ok()) return status;
    for (const Operands& set : instance->sets())
      for (std::size_t i = 0; i < problem.contract->operands.size(); ++i)
        if (set[i].present() && instance->written(i)) hash.add(set[i]);
  }
  return hash.value();
}

}  // namespace tokitai::golden
