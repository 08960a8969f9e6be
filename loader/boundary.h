// The boundary between the library and what is compiled from a folder of operators: a table of each side's functions.
// Both sides are compiled from the same headers, and the digest of them says so. This text is part of what is compiled.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "contract/kernel_table.h"
#include "contract/record.h"
#include "contract/roles.h"
#include "machines/cpu/pool.h"

namespace tokitai::analysis {
struct Kernels;
}

namespace tokitai::loader {

inline constexpr std::uint32_t kVersion = 1;

// What kernels call of ours.
struct Words {
  Record (*describe)(const Call& call);
  std::span<const Operands> (*sets_of)(const Call& call);
  void (*dispatch)(cpu::Pool& pool, std::int64_t units, cpu::Pool::Work work, void* context);
  void* (*reserve)(cpu::Scratch& scratch, std::size_t bytes);
  const void* intervals;  // machines/analysis/interval_words.h, for the analysis machines
};

// One operator; what this part does not have is null.
struct Entry {
  const char* name;
  Describe describe;
  reference::Kernel reference;
  cpu::Kernel cpu;
  const analysis::Kernels* analysis;
};

struct Table {
  std::uint32_t version;
  std::uint32_t call_bytes, record_bytes;  // sizes that only equal headers and equal compilers give
  const char* headers;                     // their digest
  std::uint64_t count;
  const Entry* entries;
};

// The name of the function that answers with the table, and is given the words.
using Part = const Table* (*)(const Words*);
inline constexpr char kPart[] = "tokitai_operators_part";

}  // namespace tokitai::loader
