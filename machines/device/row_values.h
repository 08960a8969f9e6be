// What a definition of the row pattern reads: one value of a row, rows, parameters per column, and the rows it makes.
#pragma once
#include "machines/device/row_staging.h"

namespace tokitai::device {

template <class D, RowPlan P> struct RowValues : RowStaging<D, P> {
  using Staging = RowStaging<D, P>;
  using Shape = RowShape<P>;
  using Staging::arguments_, Staging::rows_, Staging::n_, Staging::lane_, Staging::row_, Staging::blocks_;
  using typename Staging::Cell;
  template <class O> static constexpr Kind kind = Staging::template kind<O>;
  template <Kind K> static constexpr int kAccess = Staging::template kAccess<K>;

  TK_FN explicit RowValues(const Arguments& a) : Staging(a) {}

  template <class O> TK_FN float number(O) const {
    static_assert(kind<O> == Kind::f32 || kind<O> == Kind::absent);
    if constexpr (kind<O> == Kind::absent)
      return 0.0f;
    else
      return from_bits(holds_ ? static_cast<u32>(held_[one_<O::index>()])
                              : static_cast<u32>(fetch_one_<O::index>(row_)));
  }
  template <class O> TK_FN i64 integer(O) const {
    return static_cast<i64>(holds_ ? held_[one_<O::index>()] : fetch_one_<O::index>(row_));
  }

  // --- One value per row: the next row's are read while this one is worked on.
  static constexpr int kOnes = count_set(P.ahead) > 0 ? count_set(P.ahead) : 1;
  u64 held_[kOnes], next_[kOnes];
  bool holds_ = false;
  template <int O> static constexpr int one_() { return count_set(P.ahead & ((1u << O) - 1u)); }
  template <int O> TK_FN u64 fetch_one_(Place<Row, i64> of_row) const {
    constexpr Kind K = kind_at(P.kinds, O);
    if constexpr (K == Kind::f32)
      return global<const u32, Row>(arguments_.operand[O].data)[of_row];
    else
      return static_cast<u64>(load_integer<K>(arguments_.operand[O], of_row));
  }
  template <int O> TK_FN void fetch_ones_(Place<Row, i64> of_row) {
    if constexpr (P.ahead >> O != 0) {
      if constexpr ((P.ahead >> O) & 1u) next_[one_<O>()] = fetch_one_<O>(of_row);
      fetch_ones_<O + 1>(of_row);
    }
  }
  TK_FN void look_ahead_(Place<Row, i64> of_row) {
    TK_UNROLL
    for (int i = 0; i < kOnes; ++i) held_[i] = next_[i];
    if (of_row < rows_) fetch_ones_<0>(of_row);
  }

  // A row that was read: its cells in shared memory, or global memory where it does not stay on chip. Nothing reads one
  // that is absent.
  template <int O> struct Read {
    static constexpr Kind K = kind_at(P.kinds, O);
    static constexpr bool kHeld = P.held && K != Kind::absent;
    static constexpr int kPieces = pieces_of_operand(P, O);
    const RowValues& m;
    Cell held_[kHeld ? P.chunks * kPieces : 1];

    TK_FN explicit Read(const RowValues& machine) : m(machine) {
      if constexpr (kHeld)
        m.for_chunks_(m.first_block_, [&](Counter chunk, int) {
          TK_UNROLL
          for (Counter piece = 0; piece < kPieces; ++piece)
            held_[chunk * kPieces + piece] = *m.template cell_<O>(m.stage_, chunk, piece);
        });
    }
    TK_FN float operator[](At i) const {
      if constexpr (K == Kind::absent) {
        return 0.0f;
      } else if constexpr (P.held) {
        constexpr int kPerPiece = Shape::kPiece / bytes_of(K);
        return Staging::template value_in_<K>(held_[i.chunk * kPieces + i.element / kPerPiece], i.element % kPerPiece);
      } else if constexpr (P.on_chip) {
        constexpr int kPerPiece = Shape::kPiece / bytes_of(K);
        return Staging::template value_in_<K>(*m.template cell_<O>(m.stage_, i.chunk, piece_of(i.element, kPerPiece)),
                                              i.element % kPerPiece);
      } else {
        return m.template element_<K>(elements<K>(m.arguments_.operand[O], m.row_), i);
      }
    }
  };
  // One element by a read of its whole vector, which the compiler makes once for all of them.
  template <Kind K> TK_FN float element_(Global<const Raw<K>, Column> from, At i) const {
    const GlobalSpot<const Raw<K>> at = from + column_of(i.block, i.chunk, lane_);
    if constexpr (P.guard == Guard::elements)
      return widen<K>(at[i.element]);
    else
      return load_packed<K, P.wide, kAccess<K>>(at)[i.element];
  }
  template <class O> TK_FN Read<O::index> load(O) const { return Read<O::index>(*this); }
  template <class O> TK_FN Read<O::index> read(O) const { return Read<O::index>(*this); }

  // Parameters per column. Elements of a vector are asked for in order; the first one brings them all. The compiler may
  // then keep them in registers from row to row; large blocks with column sums have none to spare.
  template <int O> struct Columns {
    static constexpr Kind K = kind_at(P.kinds, O) == Kind::absent ? Kind::f32 : kind_at(P.kinds, O);
    const RowValues& m;
    mutable Packed<K, P.wide> vector{};
    TK_FN float operator[](At i) const {
      if constexpr (kind_at(P.kinds, O) == Kind::absent) return 0.0f;  // nothing reads it
      const Global<const Raw<K>, Column> from = global<const Raw<K>, Column>(m.arguments_.operand[O].data);
      if constexpr (P.guard == Guard::elements || (P.sums != 0 && P.threads > 256)) {
        return m.template element_<K>(from, i);
      } else {
        if (i.element == 0)
          vector = load_packed<K, P.wide, kAccess<K>, true>(from + column_of(i.block, i.chunk, m.lane_));
        return vector[i.element];
      }
    }
  };
  template <class O> TK_FN Columns<O::index> columns(O) const { return Columns<O::index>{*this}; }

  // A row that is made: registers, or a scratch row of this team in global memory.
  struct Registers {
    float value[P.chunks * P.wide];
    TK_FN float operator[](At i) const { return value[i.chunk * P.wide + i.element]; }
    TK_FN float keep(At i, float v) { return value[i.chunk * P.wide + i.element] = v; }
  };
  struct Scratch {
    Global<float, Column> p;
    const RowValues& m;
    TK_FN float operator[](At i) const { return p[m.column_(i)]; }
    TK_FN float keep(At i, float v) const {
      p[m.column_(i)] = v;
      return v;
    }
  };
  template <class O> TK_FN auto make(O) const {
    if constexpr (P.on_chip)
      return Registers{};
    else
      return Scratch{global<float, Workspace>(arguments_.workspace) +
                         made_begin(scratch_offset_(), made_row_<O::index>(), i64{n_}),
                     *this};
  }
  static constexpr int kMade = count_set(P.made);
  template <int O> static constexpr int made_row_() { return count_set(P.made & ((1u << O) - 1u)); }
  // Where a row does not stay on chip each block of threads has its made rows and a box in the workspace.
  TK_FN i64 scratch_floats_() const { return scratch_size(i64{n_}, kMade, blocks_(), Shape::kGroups); }
  TK_FN Place<Begin<Column>, i64> scratch_offset_() const { return scratch_begin(block_index(), scratch_floats_()); }
};

}  // namespace tokitai::device
