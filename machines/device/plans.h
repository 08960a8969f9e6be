// The compile-time constants of a kernel, chosen by the planner (plan.cpp) and printed by `tokitai compile
// --explain`. Plain structural types: a kernel is a template over one of them, and two kernels of one problem
// differ in nothing else.
#pragma once
#include <cstdint>

#include "compiler/fragment.h"
#include "contract/arithmetic.h"

namespace tokitai::device {

// Which elements exist, and how often a kernel has to ask.
enum class Guard : int { none, vectors, elements };

struct RowPlan {
  std::uint64_t kinds;   // element types of the operands, four bits each
  std::uint32_t staged;  // bit i: operand i is a matrix that is read, staged through shared memory
  std::uint32_t ahead;   // bit i: operand i has one value per row, read while the row before is worked on
  std::uint32_t sums;    // bit i: operand i is a sum over rows; rows are then worked on in chains of 32, one block each
  std::uint32_t made;    // bit i: operand i is a matrix that is written: off chip, a row made in its name has memory
  std::uint32_t zeros;   // bit i: scalar i is +0, known to the compiler
  int cols;              // where the compiler is to know them: powers of two, and long rows; else 0
  int wide;              // neighbouring elements a thread holds: 8 or 4
  int chunks;            // of the eight chunks of a block, those that can hold anything
  int threads;           // of a block
  int teams;             // rows a block works on at once; more than one only where a team is 32 threads
  int cluster;           // blocks that share a row
  int stages;            // rows on their way or in use at once
  int access;            // bytes of one memory access at the most
  Guard guard;
  bool on_chip;   // a row stays on chip; otherwise it is read again for every pass
  bool blind;     // vectors beyond the row are worked on as zeros, so that its last block takes no longer
  bool held;      // a thread's elements are kept in its registers, not read from shared memory for every pass
  bool checked;   // a check ran before: write nothing where it refused
  bool finishes;  // the last block finishes the call
};

struct EachPlan {
  std::uint64_t kinds;  // of the operands that any tensor has
  int operands;         // of a tensor: its part of the table
  std::uint32_t mixed;  // bit i: some tensors have operand i and others lack it, so each is asked
  std::uint32_t zeros;
  int wide;   // neighbouring elements of a thread
  int turns;  // how often a thread takes such in one piece of work; of a single tensor at once
  int threads;
  bool checked;
  bool checked_once = false;  // by what a list's call has once, before any element
  // Of a single tensor; a list has none of these.
  int access = 0;             // bytes of one memory access
  int lanes = 0;              // threads that share a row; 0: its rows lie without gaps, as one
  int period = 0;             // columns of the table that repeats along a row; 0: there is none
  std::uint64_t choices = 0;  // four bits per option: the value of a flag or choice, and 1; 0: read by the kernel
};

// A sum over every element of a list. A group of 32 threads sums up a block of 2048, a block of threads a chain of 32.
struct ListSumPlan {
  std::uint64_t kinds[3];  // what tensors of the list have, ascending; 0: fewer kinds of them
  int operands;            // of a tensor
  int bytes;               // of a thread's neighbouring elements, one access
  int threads;
};

struct SegmentPlan {
  std::uint64_t kinds;
  int wide;    // neighbouring elements of a row a thread works on
  int access;  // bytes of one memory access
  bool whole;  // every vector is whole, and may be read and written in such accesses
  int threads;
  int ahead;           // rows of a sum on their way at once
  int digit_bits;      // of one pass of the sort
  int index;           // the operand that holds indices
  int padding_option;  // which option holds the padding index
  bool padding;        // whether it is set
  bool accumulate;
  bool gathers;  // rows by index, not sums of rows
};

struct TilePlan {
  std::uint64_t kinds;
  int rows, cols, inner;         // of a block's tile
  int thread_rows, thread_cols;  // of a thread's piece
  int access[3];                 // bytes of one memory access, by operand
  Arithmetic arithmetic = Arithmetic::chain;
  int offsets = -1;  // of grouped products: the operand that says which rows a group has
};

// What groups of rows cut where a product is one for each: the output's rows, or those that are summed over.
enum class Grouped : std::uint8_t { no, rows, sums };

// A product on Hopper's tensor cores. A block multiplies tiles of 128 rows, one after the other: one of its three
// groups of 128 threads has the copy engine fill a ring of slots, two multiply 64 rows each.
struct ProductPlan {
  std::uint64_t kinds;
  Arithmetic arithmetic;
  int cols;          // of a tile
  int slots;         // of the ring
  int cluster_rows;  // blocks of a cluster that lie below each other and share the right factor's tile
  int cluster_cols;  // beside each other: the left factor's
  int band;          // rows of clusters' tiles that are walked down before the next column
  int boxes;         // of outputs that a group of 32 threads may have on their way at once
  bool boxed;        // the copy engine writes the output
  int result;        // bytes of an output
  bool two_sums;     // block15: high parts and mixed parts apart, so that a block multiplies while the last is added
  Grouped grouped = Grouped::no;
  int offsets = -1;  // the operand that says which rows a group has
};

// What comes before such a product: factors whose rows begin anywhere get rows that the copy engine can fetch (hopper),
// or integers with their scales (block15).
struct PackPlan {
  std::uint64_t kinds;
  Arithmetic arithmetic;
  bool packed[2];   // the left factor, the right one
  bool aligned[2];  // all its rows begin at multiples of 16 bytes
  Grouped grouped = Grouped::no;
  int slot_rows = 0;  // of groups
};

// What comes before both where there are groups: offsets are asked, and slots of so many rows are told whose rows they
// have (place_product.h); 0: there are none.
struct SlotPlan {
  std::uint64_t kinds;
  int offsets;
  int slot_rows;
};

// The same product of integers where waves multiply bytes by themselves: a block of 256 threads has one tile of 128
// rows.
struct FragmentPlan {
  std::uint64_t kinds;
  Fragment fragment;
  int cols;    // of a tile
  int stages;  // blocks of the contracted index in shared memory: with one, the next waits in registers
  int band;    // rows of tiles that are walked down before the next column
  int access;  // bytes of an access to the output, whose vectors are whole then; 0: they need not be
};

}  // namespace tokitai::device
