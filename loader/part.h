// What every part of a folder's kernels has, compiled on the user's machine: the words, and the table. A part's own
// header says what an entry holds.
#pragma once
#include "loader/boundary.h"
#include "numerics/elementary.h"
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai {

namespace loader {
static const Words* words = nullptr;
}

Record describe(const Call& call) { return loader::words->describe(call); }
std::span<const Operands> sets_of(const Call& call) { return loader::words->sets_of(call); }

namespace cpu {
void Pool::dispatch(std::int64_t units, Work work, void* context) {
  loader::words->dispatch(*this, units, work, context);
}
void* Scratch::reserve(std::size_t bytes) { return loader::words->reserve(*this, bytes); }
}  // namespace cpu

}  // namespace tokitai

#define TK_PART(...)                                                                                      \
  extern "C" __attribute__((visibility("default"))) const tokitai::loader::Table* tokitai_operators_part( \
      const tokitai::loader::Words* words) {                                                              \
    using namespace tokitai::loader;                                                                      \
    tokitai::loader::words = words;                                                                       \
    static const Entry entries[] = {__VA_ARGS__};                                                         \
    static const Table table{kVersion,   sizeof(tokitai::Call),          sizeof(tokitai::Record),         \
                             TK_HEADERS, sizeof entries / sizeof(Entry), entries};                        \
    return &table;                                                                                        \
  }
