// What a definition asks for, written down by the machine `describe` (machines/describe/), which runs it over nothing.
// Planners, scratch memory, cost and documentation go by this record and by no operator's or option's name.
#pragma once
#include <bit>
#include <cstdint>

#include "contract/arithmetic.h"
#include "tokitai/call.h"

namespace tokitai {

enum class Pattern : std::uint8_t { each, list_sum, row, segment, tile };

using Set = std::uint32_t;  // bit i: operand, option or scalar i of the contract
constexpr Set set_of(int index) { return Set{1} << index; }
constexpr int count_of(Set set) { return std::popcount(set); }
constexpr bool holds(Set set, int index) { return ((set >> index) & 1u) != 0; }

// One way a definition can be asked: the operands, options and scalars of a call.
struct Record {
  Pattern pattern = Pattern::row;
  Set reads = 0, writes = 0;     // operands
  Set options = 0, scalars = 0;  // asked for
  std::int64_t operations = 0;   // of binary32 for each element of the first operand; of a product, for each term
  bool checks = false;           // asks what lies in memory before anything is written
  bool checks_once = false;      // each: asks what the call has once
  bool asks_rows = false;        // each: of every row, before the elements
  Set tables = 0;                // each: read by the row of a table
  Set loaded = 0, read = 0;      // row: operands that are rows, kept as f32 or widened where they lie
  Set made = 0;                  // rows on chip that are not read
  Set columns = 0;               // parameters per column
  Set row_values = 0;            // one value per row, read
  Set stored = 0;                // rows that are written
  Set totals = 0, once = 0;      // after everything: values per row that are added up; values of the whole call
  int terms = 0;                 // the most that one pass over a row reduces
  bool counted = false;          // asks how many rows count
  Set column_sums = 0;           // outputs that are sums over rows
  int index = -1, padding = -1;  // segment: the operand that holds indices, the option that one may equal
  int table = -1,
      queries = -1;          // the operand with a row per index (each: whose columns repeat along a row), and per query
  bool sums = false;         // rows that share an index are added up, not looked up
  bool accumulates = false;  // onto what was there
  int out = -1, a = -1, b = -1;  // tile: out = a b, from `start` on where it is given, plus `bias`
  int start = -1, bias = -1;
  int offsets = -1;  // where it is one product per group: the operand that says which rows a group has
  Arithmetic arithmetic = Arithmetic::chain;
  bool a_transposed = false, b_transposed = false;
};

// A definition, described: it may be asked about any call of its contract, and reads through no pointer.
using Describe = Record (*)(const Call& call);

// What the call's definition asks for.
Record describe(const Call& call);

}  // namespace tokitai
