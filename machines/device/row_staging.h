// Where a thread of the row pattern stands, which elements of a row it works on, and their way into shared memory.
#pragma once
#include "machines/device/memory.h"
#include "machines/device/place_row.h"
#include "machines/device/row_shape.h"
#include "patterns/names.h"

namespace tokitai::device {

template <class D, RowPlan P> struct RowStaging : D::Names {
  using Shape = RowShape<P>;
  using Cell = Words<Shape::kPiece / 4>;

  const Arguments& arguments_;
  const i64 rows_;
  const int n_;  // columns
  const Place<TeamThread, int> thread_;
  const Place<Team, int> team_;
  const Place<Rank, int> rank_;
  const Place<Lane, int> lane_;  // the first of this thread's
  const Place<ColumnBlock, int> first_block_;
  Place<Row, i64> row_{};
  Counter stage_ = 0;
  mutable Counter parity_ = 0;

  TK_FN explicit RowStaging(const Arguments& a)
      : arguments_(a),
        rows_(a.extent[0]),
        n_(P.cols > 0 ? P.cols : static_cast<int>(a.extent[1])),
        thread_(thread_in_team(thread_index(), Shape::kTeam)),
        team_(team_of(thread_index(), Shape::kTeam)),
        rank_(P.cluster > 1 ? Place<Rank, int>(cluster_rank()) : Place<Rank, int>(0)),
        lane_(first_lane(thread_, P.wide)),
        first_block_(first_block_of(rank_, thread_, Shape::kHeld, P.wide)) {}

  TK_FN float cols() const { return static_cast<float>(n_); }
  TK_FN i64 width() const { return n_; }
  template <int I> TK_FN float value(Scalar<I>) const {
    if constexpr ((P.zeros >> I) & 1u)
      return 0.0f;
    else
      return arguments_.scalar[I];
  }
  template <int I> TK_FN i64 value(IntegerOption<I>) const { return arguments_.option[I]; }
  template <int I> TK_FN bool has(IntegerOption<I>) const { return (arguments_.options_set >> I) & 1u; }
  template <class O> static constexpr Kind kind = kind_at(P.kinds, O::index);
  // An operand that is absent is known to the compiler, which drops what is done with it.
  template <class O> static TK_FN constexpr bool has(O) { return kind<O> != Kind::absent; }
  // v as the operand will hold it.
  template <class O> static TK_FN float rounded(O, float v) {
    if constexpr (bytes_of(kind<O>) == 2)
      return widen<kind<O>>(narrow<kind<O>>(v));
    else
      return v;
  }
  // Bytes of one access to elements of that kind.
  template <Kind K> static constexpr int kAccess = P.access < P.wide * bytes_of(K) ? P.access : P.wide * bytes_of(K);

  // --- Which elements exist.
  TK_FN int blocks_() const { return column_blocks(n_); }
  TK_FN Place<Column, int> column_(At i) const { return column_of(i.block, i.chunk, lane_of(lane_, i.element)); }
  // How many of the vector's elements exist; `wide` and 0 are the usual answers.
  TK_FN Place<Existing, int> existing_(Place<ColumnBlock, int> block, Counter chunk) const {
    if constexpr (P.guard == Guard::none) return P.wide;
    return tokitai::device::existing(left_of(n_, column_of(block, chunk, lane_)), P.wide);
  }
  // Calls f(block) for the blocks of columns this thread works on.
  template <class F> TK_FN void for_blocks_(F f) const {
    if constexpr (P.on_chip) {
      f(first_block_);
    } else {
      for (Place<ColumnBlock, int> block = first_block_; block < blocks_(); block += Shape::kHeld) f(block);
    }
  }
  // Calls f(chunk, count) for the vectors of a block that have any element; where the plan is blind, for all of them:
  // every thread then runs the same text, and no barrier waits for the slower one of the last block. Otherwise a whole
  // block is asked for once, so that its vectors need not be.
  template <class F> TK_FN void for_chunks_(Place<ColumnBlock, int> block, F f) const {
    if (P.guard == Guard::none || (!P.blind && P.chunks == kChunks && whole_block(block, n_))) {
      TK_UNROLL
      for (Counter chunk = 0; chunk < P.chunks; ++chunk) f(chunk, P.wide);
    } else {
      TK_UNROLL
      for (Counter chunk = 0; chunk < P.chunks; ++chunk) {
        const Place<Existing, int> count = existing_(block, chunk);
        if (P.blind || count > 0) f(chunk, count);
      }
    }
  }
  static TK_FN bool inside_(int element, int count) { return P.guard != Guard::elements || element < count; }

  // --- Rows on chip.
  template <int O> TK_FN SharedSpot<Cell> cell_(Counter which_stage, Counter chunk, Counter piece) const {
    return shared<Cell, StagedCell>(cells_byte(P)) + staged_cell(which_stage, chunk, piece, thread_index(),
                                                                 pieces_before(P, O), pieces_of_operand(P, O),
                                                                 Shape::kPieces, P.chunks, P.threads);
  }
  // Sends for a row's elements of this thread.
  template <int O> TK_FN void fetch_(Place<Row, i64> from_row, Counter into) const {
    constexpr Kind K = kind_at(P.kinds, O);
    constexpr int kPieces = pieces_of_operand(P, O);
    const Global<const Raw<K>, Column> from = elements<K>(arguments_.operand[O], from_row);
    for_chunks_(first_block_, [&](Counter chunk, Place<Existing, int> count) {
      if (P.blind && count == 0) return;
      const GlobalSpot<const Raw<K>> at = from + column_of(first_block_, chunk, lane_);
      if constexpr (P.access < 4 || P.guard == Guard::elements) {
        const Packed<K, P.wide> p = load_some<K, P.wide>(at, count);
        TK_UNROLL
        for (Counter piece = 0; piece < kPieces; ++piece) {
          Cell c;
          TK_UNROLL
          for (int w = 0; w < Shape::kPiece / 4; ++w) c.word[w] = p.word[piece * (Shape::kPiece / 4) + w];
          *cell_<O>(into, chunk, piece) = c;
        }
      } else {
        constexpr int kBytes = P.access < Shape::kPiece ? P.access : Shape::kPiece;
        using Part = Words<kBytes / 4>;
        TK_UNROLL
        for (Counter piece = 0; piece < kPieces; ++piece) {
          TK_UNROLL
          for (Counter part = 0; part < Shape::kPiece / kBytes; ++part)
            copy_async<kBytes>(cast<Part>(cell_<O>(into, chunk, piece)) + part,
                               cast<const Part>(at) + part_of(piece, part, Shape::kPiece / kBytes));
        }
      }
    });
  }
  // Where vectors that do not exist are worked on: they are zeros.
  TK_FN void clear_missing_() const {
    if constexpr (P.blind)
      for_chunks_(first_block_, [&](Counter chunk, Place<Existing, int> count) {
        if (count > 0) return;
        for (Counter s = 0; s < P.stages; ++s) clear_operands_<0>(s, chunk);
      });
  }
  template <int O> TK_FN void clear_operands_(Counter of_stage, Counter chunk) const {
    if constexpr (P.staged >> O != 0) {
      if constexpr ((P.staged >> O) & 1u)
        for (Counter piece = 0; piece < pieces_of_operand(P, O); ++piece) *cell_<O>(of_stage, chunk, piece) = Cell{};
      clear_operands_<O + 1>(of_stage, chunk);
    }
  }
  TK_FN void fetch_row_(Place<Row, i64> from_row, Counter into) const {
    if constexpr (P.on_chip) {
      if (from_row < rows_) fetch_operands_<0>(from_row, into);
      copy_commit();
    }
  }
  template <int O> TK_FN void fetch_operands_(Place<Row, i64> from_row, Counter into) const {
    if constexpr (P.staged >> O != 0) {
      if constexpr ((P.staged >> O) & 1u) fetch_<O>(from_row, into);
      fetch_operands_<O + 1>(from_row, into);
    }
  }

  template <Kind K> static TK_FN float value_in_(const Cell& c, int e) {
    if constexpr (bytes_of(K) == 2)
      return widen<K>(static_cast<u16>(c.word[e / 2] >> (16 * (e % 2))));
    else
      return widen<K>(c.word[e]);
  }
};

}  // namespace tokitai::device
