// What an access of a kernel takes: a place, made by a proved function (place_*.h), in the space that the memory is
// indexed by. On a GPU a place is a plain integer and memory a plain pointer, so that none of this is in the machine
// code. Kernels that are compiled for the lockstep machine see classes instead (machines/lockstep/strict.h): there an
// integer is no place, and the text of a kernel that goes around the proved functions does not compile.
#pragma once
#include <cstdint>

namespace tokitai::device {

// The spaces. What memory is indexed by:
struct Row;         // what a call has many of: rows, queries, sorted positions, indices, chains
struct Column;      // of a row
struct Element;     // of a tensor of a list
struct InList;      // a tensor of the list
struct StagedCell;  // of a thread, staged in shared memory
struct BoxSlot;     // where groups exchange their values
struct InMatrix;    // row * cols + column, where the columns are not known to the compiler
struct Digit;       // of the sort
struct GroupDigit;  // of a group of 32 threads
struct StagedWord;  // of a factor of a product
struct TileLine;    // one inner index of a staged factor, along the output
struct Workspace;   // what its regions begin at
struct RingHalf;    // of the slots that factors pass through
struct ScaleHalf;   // of a packed factor's scales
struct OutWord;     // of outputs that are staged in shared memory
struct OutElement;  // the same, where outputs are halves
struct PlaneWord;   // of a packed factor's integers
struct SlotWord;    // of the table that says which rows a slot has
struct PlanePiece;  // the same, 16 bytes of them
struct LinePiece;   // the same of a line that is staged in shared memory
struct LineScale;   // of such a line
struct TurnedWord;  // of integers that change their order in shared memory
// What places are made of:
struct Thread;                        // of a block
struct Block;                         // of a launch
struct Rank;                          // a block of a cluster
struct TeamThread;                    // a thread of a team
struct Team;                          // of a block
struct ColumnBlock;                   // of 2048 columns
struct Lane;                          // of 256
struct Group;                         // of 32 threads, among all that share a row
struct InTile;                        // a row or column of a tile
struct ClusterTile;                   // of all tiles, those of one cluster count as one
struct ClusterLine;                   // its row or column among them
struct Corner;                        // of a box, in the matrix that it is a part of
struct Left;                          // what is left of an extent from a place on
struct Existing;                      // how many elements of a vector exist
struct Span;                          // positions from one partial result to the next
struct Counted;                       // by a loop, from a constant on
template <class Space> struct Step;   // from one place to the next of the same worker
template <class Space> struct Begin;  // of a region, in elements
template <class Space> struct Byte;   // of shared memory where a region begins
template <class Space> struct Given;  // the same as Space, made by a proved function and not of a constant

}  // namespace tokitai::device

#if defined(TK_LOCKSTEP_LIBRARY)
#include "machines/lockstep/strict.h"
#else
namespace tokitai::device {

template <class Space, class I> using Place = I;
template <class Pointer, class... Spaces> using Address = Pointer;
using Multiples = std::uint64_t;
template <class P>
concept Made = true;
template <class I> using CounterOf = I;
using Counter = int;

}  // namespace tokitai::device
#endif
