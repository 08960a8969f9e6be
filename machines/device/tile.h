// The tile pattern on a GPU: matrix products in canonical order on the ordinary arithmetic units. A block owns a
// tile of outputs, a thread a few rows and columns of it; the inner index runs upwards, one fma chain per output.
#pragma once
#include "machines/device/memory.h"
#include "machines/device/place_tile.h"
#include "machines/device/plans.h"
#include "patterns/names.h"

namespace tokitai::device {

template <class D, TilePlan P> struct TileMachine : D::Names {
  static constexpr int kPitchA = tile_shape(P).pitch_a, kPitchB = tile_shape(P).pitch_b;
  static constexpr int kThreadsAcross = tile_shape(P).across;
  static constexpr int kThreads = tile_shape(P).threads;
  static constexpr int kBuffer = tile_shape(P).buffer;  // floats of one stage

  const Arguments& arguments_;
  TK_FN explicit TileMachine(const Arguments& a) : arguments_(a) {}

  // One factor's share of a tile: `outer` is the tile's extent along the output, and memory runs along the inner
  // index unless the factor is stored the other way round.
  template <int O, bool along_outer, int outer, int access, int pitch> struct Loader {
    static constexpr Kind K = kind_at(P.kinds, O);
    static constexpr int kVector = loader_shape(P, O, along_outer, outer).vector;
    static constexpr int kAcross = loader_shape(P, O, along_outer, outer).across;  // vectors side by side
    static constexpr int kVectors = loader_shape(P, O, along_outer, outer).vectors;
    static constexpr int kEach = loader_shape(P, O, along_outer, outer).turns;
    static constexpr int kWords = access < 4 ? 1 : access / 4;
    u32 held[kEach][kWords];

    static TK_FN Counter vector_in(Counter turn) { return vector_of(turn, thread_index(), kThreads); }
    static constexpr TK_FN Counter outer_of(Counter vector) {
      return vector_outer(vector, along_outer, kAcross, kVector);
    }
    static constexpr TK_FN Counter inner_of(Counter vector) {
      return vector_inner(vector, along_outer, kAcross, kVector);
    }

    // A turn's vectors lie kRows stored rows below the last turn's.
    static constexpr int kRows = loader_shape(P, O, along_outer, outer).rows;
    static_assert(kThreads % kAcross == 0 && kRows > 0);
    TK_FN void load(const Arguments& a, Place<InTile, i64> first_outer, Place<InTile, i64> first_inner, i64 outers,
                    i64 inners) {
      const Counter vector = vector_in(0);
      const Place<InTile, i64> o = in_tile(first_outer, outer_of(vector));
      const Place<InTile, i64> i = in_tile(first_inner, inner_of(vector));
      const Place<Row, i64> row = stored_row(along_outer, o, i);
      const i64 below = (along_outer ? inners : outers) - row;
      // Stored rows from this one on that exist, none where the vector itself lies beside them.
      const int left = !(along_outer ? o < outers : i < inners) ? 0
                       : below < outer + P.inner                ? static_cast<int>(below)
                                                                : outer + P.inner;
      GlobalSpot<const Raw<K>> from = elements<K>(a.operand[O], row) + stored_col(along_outer, o, i);
      TK_UNROLL
      for (Counter turn = 0; turn < kEach; ++turn) {
        TK_UNROLL
        for (int w = 0; w < kWords; ++w) held[turn][w] = 0;
        if ((kVectors % kThreads == 0 || vector_in(turn) < kVectors) && turn * kRows < left) {
          if constexpr (access < 4) {
            held[turn][0] = from[0];
          } else {
            const Words<kWords> words = *cast<const Words<kWords>>(from);
            TK_UNROLL
            for (int w = 0; w < kWords; ++w) held[turn][w] = words.word[w];
          }
        }
        from += stored_step(i64{a.operand[O].stride}, kRows);
      }
    }
    // Widened, as [inner][outer].
    TK_FN void store(Shared<float, StagedWord> to) const {
      TK_UNROLL
      for (Counter turn = 0; turn < kEach; ++turn) {
        const Counter vector = vector_in(turn);
        if (kVectors % kThreads != 0 && vector >= kVectors) break;
        float v[kVector];
        TK_UNROLL
        for (int e = 0; e < kVector; ++e) {
          if constexpr (bytes_of(K) == 2)
            v[e] = widen<K>(static_cast<u16>(held[turn][e / 2] >> (16 * (e % 2))));
          else
            v[e] = widen<K>(held[turn][e]);
        }
        const SharedSpot<float> at = to + staged_word(inner_of(vector), outer_of(vector), pitch);
        if constexpr (along_outer && kVector >= 4) {
          TK_UNROLL
          for (Counter q = 0; q < kVector / 4; ++q)
            cast<Words<4>>(at)[q] = {{bits(v[4 * q]), bits(v[4 * q + 1]), bits(v[4 * q + 2]), bits(v[4 * q + 3])}};
        } else {
          TK_UNROLL
          for (Counter e = 0; e < kVector; ++e) at[staged_element(e, along_outer, pitch)] = v[e];
        }
      }
    }
  };

  static TK_FN Counter four_(Counter q) { return first_of_four(q); }
  static TK_FN Place<Begin<TileLine>, int> line_(Counter i, int pitch) { return line_begin(i, pitch); }
  static TK_FN Place<TileLine, int> thread_row_(Counter i) {
    return tile_row(thread_index(), i, P.rows, P.thread_rows, kThreadsAcross);
  }
  static TK_FN Place<TileLine, int> thread_col_(Counter j) {
    return tile_col(thread_index(), j, P.cols, P.thread_cols, kThreadsAcross);
  }

  TK_FN void multiply_(Shared<const float, TileLine> a, Shared<const float, TileLine> b,
                       float (&acc)[P.thread_rows][P.thread_cols]) const {
    float x[P.thread_rows], y[P.thread_cols];
    TK_UNROLL
    for (Counter q = 0; q < P.thread_rows / 4; ++q) {
      const Words<4> w = *cast<const Words<4>>(a + thread_row_(four_(q)));
      TK_UNROLL
      for (int e = 0; e < 4; ++e) x[4 * q + e] = from_bits(w.word[e]);
    }
    TK_UNROLL
    for (Counter q = 0; q < P.thread_cols / 4; ++q) {
      const Words<4> w = *cast<const Words<4>>(b + thread_col_(four_(q)));
      TK_UNROLL
      for (int e = 0; e < 4; ++e) y[4 * q + e] = from_bits(w.word[e]);
    }
    TK_UNROLL
    for (int i = 0; i < P.thread_rows; ++i) {
      TK_UNROLL
      for (int j = 0; j < P.thread_cols; ++j) acc[i][j] = tokitai::fma(x[i], y[j], acc[i][j]);
    }
  }

  template <class O> struct FactorOf {
    static constexpr int index = O::index;
    static constexpr bool transposed = false;
  };
  template <class O> struct FactorOf<Transposed<O>> {
    static constexpr int index = O::index;
    static constexpr bool transposed = true;
  };

  template <class C, class A, class B> TK_FN void product(C, A, B) const {
    using FactorA = FactorOf<A>;
    using FactorB = FactorOf<B>;
    const i64 rows = arguments_.extent[0], cols = arguments_.extent[1], inner = arguments_.extent[2];
    const i64 tiles_across = pieces_of(cols, P.cols);
    const Place<InTile, i64> first_row = tile_first_row(block_index(), tiles_across, P.rows);
    const Place<InTile, i64> first_col = tile_first_col(block_index(), tiles_across, P.cols);

    // A's rows are the output's; stored transposed, memory runs along them. B's columns likewise.
    Loader<FactorA::index, FactorA::transposed, P.rows, P.access[FactorA::index], kPitchA> load_a;
    Loader<FactorB::index, !FactorB::transposed, P.cols, P.access[FactorB::index], kPitchB> load_b;
    const Shared<float, StagedWord> memory = shared<float, StagedWord>(factors_byte());
    float acc[P.thread_rows][P.thread_cols];
    TK_UNROLL
    for (int i = 0; i < P.thread_rows; ++i) {
      TK_UNROLL
      for (int j = 0; j < P.thread_cols; ++j) acc[i][j] = 0.0f;
    }

    load_a.load(arguments_, first_row, 0, rows, inner);
    load_b.load(arguments_, first_col, 0, cols, inner);
    Counter stage = 0;
    for (Place<InTile, i64> k = 0; k < inner; k += P.inner) {
      const Shared<float, StagedWord> a = memory + stage_begin(stage, kBuffer);
      const Shared<float, StagedWord> b = a + second_factor(kPitchA, P.inner);
      load_a.store(a);
      load_b.store(b);
      barrier();  // also orders this stage's last readers before its next writers, two turns on
      if (k + P.inner < inner) {
        load_a.load(arguments_, first_row, chain_next(k, P.inner), rows, inner);
        load_b.load(arguments_, first_col, chain_next(k, P.inner), cols, inner);
        TK_UNROLL
        for (Counter i = 0; i < P.inner; ++i) multiply_(a + line_(i, kPitchA), b + line_(i, kPitchB), acc);
      } else {  // what is not there is not added: +0 would turn a -0 into +0
        const int left = static_cast<int>(inner - k);
        for (Counter i = 0; i < left; ++i) multiply_(a + line_(i, kPitchA), b + line_(i, kPitchB), acc);
      }
      stage = other_side(stage);
    }

    constexpr Kind K = kind_at(P.kinds, C::index);
    TK_UNROLL
    for (Counter i = 0; i < P.thread_rows; ++i) {
      const Place<Row, i64> row = output_row(first_row, thread_row_(i));
      if (row >= rows) continue;
      TK_UNROLL
      for (Counter q = 0; q < P.thread_cols / 4; ++q) {
        const Place<Column, i64> col = output_col(first_col, thread_col_(four_(q)));
        const Place<Left, i64> left = left_of(cols, col);
        if (left <= 0) continue;
        const Packed<K, 4> out = pack<K, 4>({acc[i][4 * q], acc[i][4 * q + 1], acc[i][4 * q + 2], acc[i][4 * q + 3]});
        const GlobalSpot<Raw<K>> to = elements<K>(arguments_.operand[C::index], row) + col;
        if constexpr (P.access[C::index] >= 4 * bytes_of(K))
          store_packed<K, 4, 4 * bytes_of(K)>(to, out);
        else
          store_some<K, 4>(to, out, at_most(left, 4));
      }
    }
  }
};

template <class D, TilePlan P> TK_FN void tile_kernel(const Arguments& arguments) {
  const TileMachine<D, P> m(arguments);
  D::tile(m);
}

}  // namespace tokitai::device
