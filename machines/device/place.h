// Which element a thread owns. Templates over the integer type, made of + - * / % by constants: a kernel runs
// them with int, a solver can run the same text with symbols.
#pragma once
#include "machines/device/alias.h"

namespace tokitai::device {

// The row pattern. A block of 2048 columns is held by 256 / wide threads; the canonical lane l belongs to
// thread l / wide, so a lane's whole chain lies in one thread.
template <class I> TK_FN I held_block(I thread, int wide) { return thread / (256 / wide); }
template <class I> TK_FN I first_lane(I thread, int wide) { return thread % (256 / wide) * wide; }
template <class I> TK_FN I column_of(I block, I chunk, I lane) { return block * 2048 + chunk * 256 + lane; }

// Where a column lies: the inverse of column_of.
template <class I> struct ColumnPlace {
  I block, chunk, lane;
};
template <class I> TK_FN ColumnPlace<I> place_of_column(I column) {
  return {column / 2048, column % 2048 / 256, column % 256};
}

// A thread's staged cell of shared memory: neighbouring threads lie side by side.
template <class I>
TK_FN I staged_cell(I stage, I operand, I chunk, I piece, I thread, int operands, int chunks, int pieces, int threads) {
  return (((stage * operands + operand) * chunks + chunk) * pieces + piece) * threads + thread;
}

// The box: one value per group of 32 threads and term, of two reductions in flight.
template <class I> TK_FN I box_slot(I parity, I term, I group, I groups) {
  return (parity * 3 + term) * groups + group;
}

}  // namespace tokitai::device
