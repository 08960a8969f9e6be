// The tile pattern on a GPU: matrix products on the ordinary arithmetic units, in any arithmetic. A block owns a tile
// of outputs, a thread a few rows and columns of it; the inner index runs upwards.
#pragma once
#include "machines/device/memory.h"
#include "machines/device/place_tile.h"
#include "machines/device/plans.h"
#include "numerics/block15.h"
#include "numerics/hopper.h"
#include "patterns/names.h"

namespace tokitai::device {

template <class D, TilePlan P> struct TileMachine : D::Names {
  static constexpr int kPitchA = tile_shape(P).pitch_a, kPitchB = tile_shape(P).pitch_b;
  static constexpr int kThreadsAcross = tile_shape(P).across;
  static constexpr int kThreads = tile_shape(P).threads;
  static constexpr int kBuffer = tile_shape(P).buffer;  // floats of one stage

  struct Sums {  // of the thread's outputs
    float v[P.thread_rows][P.thread_cols];
  };
  template <class F> static TK_FN void for_outputs_(F f) {
    TK_UNROLL
    for (int i = 0; i < P.thread_rows; ++i) {
      TK_UNROLL
      for (int j = 0; j < P.thread_cols; ++j) f(i, j);
    }
  }

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
    template <class Base>
    TK_FN void load(const Arguments& a, Base base, Place<InTile, i64> first_outer, Place<InTile, i64> first_inner,
                    i64 outers, i64 inners) {
      const Counter vector = vector_in(0);
      const Place<InTile, i64> o = in_tile(first_outer, outer_of(vector));
      const Place<InTile, i64> i = in_tile(first_inner, inner_of(vector));
      const Place<Row, i64> row = stored_row(along_outer, o, i);
      const i64 below = (along_outer ? inners : outers) - row;
      // Stored rows from this one on that exist, none where the vector itself lies beside them.
      const int left = !(along_outer ? o < outers : i < inners) ? 0
                       : below < outer + P.inner                ? static_cast<int>(below)
                                                                : outer + P.inner;
      GlobalSpot<const Raw<K>> from = elements<K>(a.operand[O], row_from_(base, row)) + stored_col(along_outer, o, i);
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

  // One inner index of both factors, as the thread's outputs need it.
  using LeftLine = float[P.thread_rows];
  using RightLine = float[P.thread_cols];
  TK_FN void read_(Shared<const float, TileLine> a, Shared<const float, TileLine> b, LeftLine& x, RightLine& y) const {
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
  }
  TK_FN void multiply_(Shared<const float, TileLine> a, Shared<const float, TileLine> b, Sums& sums) const {
    LeftLine x;
    RightLine y;
    read_(a, b, x, y);
    TK_UNROLL
    for (int i = 0; i < P.thread_rows; ++i) {
      TK_UNROLL
      for (int j = 0; j < P.thread_cols; ++j) sums.v[i][j] = tokitai::fma(x[i], y[j], sums.v[i][j]);
    }
  }

  // hopper: adds the 16 products of a stage to each output, as numerics/hopper.h says. Where the largest exponent is an
  // ordinary one and everything is finite, terms are cut in binary32 and added as 32-bit integers.
  TK_FN void add_group_(Shared<const float, StagedWord> a, Shared<const float, StagedWord> b, Sums& sums) const {
    constexpr int kSmallest = kind_at(P.kinds, 0) == Kind::f16 ? hopper::kSmallestF16 : hopper::kSmallestBf16;
    int largest[P.thread_rows][P.thread_cols], totals[P.thread_rows][P.thread_cols];
    for_outputs_([&](int i, int j) {
      largest[i][j] = hopper::quick_exponent(sums.v[i][j], hopper::kSmallestF32);
      totals[i][j] = 0;
    });
    for (Counter k = 0; k < hopper::kGroup; ++k) {
      LeftLine x;
      RightLine y;
      read_(a + line_(k, kPitchA), b + line_(k, kPitchB), x, y);
      int left[P.thread_rows], right[P.thread_cols];
      TK_UNROLL
      for (int i = 0; i < P.thread_rows; ++i) left[i] = hopper::quick_exponent(x[i], kSmallest);
      TK_UNROLL
      for (int j = 0; j < P.thread_cols; ++j) right[j] = hopper::quick_exponent(y[j], kSmallest);
      for_outputs_([&](int i, int j) {
        const int exponent = left[i] + right[j];
        largest[i][j] = exponent > largest[i][j] ? exponent : largest[i][j];
      });
    }
    bool quick = true;
    for_outputs_([&](int i, int j) { quick = quick && hopper::is_quick(largest[i][j]); });
    if (!quick) return add_group_slowly_(a, b, sums);
    for (Counter k = 0; k < hopper::kGroup; ++k) {
      LeftLine x;
      RightLine y;
      read_(a + line_(k, kPitchA), b + line_(k, kPitchB), x, y);
      for_outputs_([&](int i, int j) { totals[i][j] += hopper::quick_term(x[i] * y[j], largest[i][j]); });
    }
    for_outputs_([&](int i, int j) {
      const i64 sum = i64{totals[i][j]} + hopper::quick_term(sums.v[i][j], largest[i][j]);
      sums.v[i][j] = hopper::truncated(sum, hopper::quick_largest(largest[i][j]));
    });
  }
  TK_FN void add_group_slowly_(Shared<const float, StagedWord> a, Shared<const float, StagedWord> b, Sums& sums) const {
    constexpr int kSmallest = kind_at(P.kinds, 0) == Kind::f16 ? hopper::kSmallestF16 : hopper::kSmallestBf16;
    hopper::Group groups[P.thread_rows][P.thread_cols];
    i64 totals[P.thread_rows][P.thread_cols];
    for_outputs_([&](int i, int j) {
      groups[i][j] = {kSmallest};
      groups[i][j].meet(sums.v[i][j]);
    });
    for (Counter k = 0; k < hopper::kGroup; ++k) {
      LeftLine x;
      RightLine y;
      read_(a + line_(k, kPitchA), b + line_(k, kPitchB), x, y);
      for_outputs_([&](int i, int j) { groups[i][j].meet(x[i], y[j]); });
    }
    for_outputs_([&](int i, int j) { totals[i][j] = groups[i][j].kept(sums.v[i][j]); });
    for (Counter k = 0; k < hopper::kGroup; ++k) {
      LeftLine x;
      RightLine y;
      read_(a + line_(k, kPitchA), b + line_(k, kPitchB), x, y);
      for_outputs_([&](int i, int j) { totals[i][j] += groups[i][j].kept(x[i], y[j]); });
    }
    for_outputs_([&](int i, int j) { sums.v[i][j] = groups[i][j].rounded(totals[i][j]); });
  }

  // block15: a block of the thread's rows and columns.
  struct BlockOf_ {
    u32 rows[P.thread_rows], cols[P.thread_cols];   // largest magnitudes
    int left[P.thread_rows], right[P.thread_cols];  // exponents
    int sums[P.thread_rows][P.thread_cols];
    TK_FN void set_exponents() {
      TK_UNROLL
      for (int i = 0; i < P.thread_rows; ++i) left[i] = block15::exponent_of(rows[i]);
      TK_UNROLL
      for (int j = 0; j < P.thread_cols; ++j) right[j] = block15::exponent_of(cols[j]);
    }
  };
  static TK_FN u32 larger_(u32 a, u32 b) { return a > b ? a : b; }
  TK_FN void measure_(Shared<const float, StagedWord> a, Shared<const float, StagedWord> b, BlockOf_& block) const {
    for (Counter k = 0; k < P.inner; ++k) {
      LeftLine x;
      RightLine y;
      read_(a + line_(k, kPitchA), b + line_(k, kPitchB), x, y);
      TK_UNROLL
      for (int i = 0; i < P.thread_rows; ++i) block.rows[i] = larger_(block.rows[i], block15::magnitude_of(x[i]));
      TK_UNROLL
      for (int j = 0; j < P.thread_cols; ++j) block.cols[j] = larger_(block.cols[j], block15::magnitude_of(y[j]));
    }
  }
  TK_FN void multiply_integers_(Shared<const float, StagedWord> a, Shared<const float, StagedWord> b,
                                BlockOf_& block) const {
    for (Counter k = 0; k < P.inner; ++k) {
      LeftLine x;
      RightLine y;
      read_(a + line_(k, kPitchA), b + line_(k, kPitchB), x, y);
      block15::Integer left[P.thread_rows], right[P.thread_cols];
      TK_UNROLL
      for (int i = 0; i < P.thread_rows; ++i) left[i] = block15::integer_of(x[i], block.left[i]);
      TK_UNROLL
      for (int j = 0; j < P.thread_cols; ++j) right[j] = block15::integer_of(y[j], block.right[j]);
      for_outputs_([&](int i, int j) { block.sums[i][j] += block15::product(left[i], right[j]); });
    }
  }

  // A row of an operand, or of the part of it that begins with a row of it.
  static TK_FN Place<Row, i64> row_from_(Nothing, Place<Row, i64> row) { return row; }
  static TK_FN Place<Row, i64> row_from_(Place<Row, i64> base, Place<Row, i64> row) { return position_of(base, row); }

  // An operand that a definition may leave out, and a call as well.
  template <class O> static constexpr Kind optional_() {
    if constexpr (O::index < 0)
      return Kind::absent;
    else
      return kind_at(P.kinds, O::index);
  }
  // Calls f(i, q, row, col, left) for each four neighbouring outputs of the thread that exist, in part at least.
  template <class F>
  TK_FN void for_fours_(Place<InTile, i64> first_row, Place<InTile, i64> first_col, i64 rows, i64 cols, F f) const {
    TK_UNROLL
    for (Counter i = 0; i < P.thread_rows; ++i) {
      const Place<Row, i64> row = output_row(first_row, thread_row_(i));
      if (row >= rows) continue;
      TK_UNROLL
      for (Counter q = 0; q < P.thread_cols / 4; ++q) {
        const Place<Column, i64> col = output_col(first_col, thread_col_(four_(q)));
        const Place<Left, i64> left = left_of(cols, col);
        if (left > 0) f(i, q, row, col, at_most(left, 4));
      }
    }
  }

  template <class C, class A, class B, class Start = Nothing, class Bias = Nothing, class How = Nothing>
  TK_FN void product(C, A, B, Start = {}, Bias = {}, How = {}) const {
    const i64 rows = arguments_.extent[0], cols = arguments_.extent[1], inner = arguments_.extent[2];
    const i64 tiles_across = pieces_of(cols, P.cols);
    const Place<InTile, i64> first_row = tile_first_row(block_index(), tiles_across, P.rows);
    const Place<InTile, i64> first_col = tile_first_col(block_index(), tiles_across, P.cols);
    multiply_tile_<C, A, B, Start, Bias>(first_row, first_col, rows, cols, inner, Nothing{}, Nothing{}, Nothing{});
  }

  // One tile of a product. Each operand begins with the row of it that is given, where one is.
  template <class C, class A, class B, class Start, class Bias, class Base>
  TK_FN void multiply_tile_(Place<InTile, i64> first_row, Place<InTile, i64> first_col, i64 rows, i64 cols, i64 inner,
                            Base base_a, Base base_b, Base base_c) const {
    using FactorA = FactorOf<A>;
    using FactorB = FactorOf<B>;

    // A's rows are the output's; stored transposed, memory runs along them. B's columns likewise.
    Loader<FactorA::index, FactorA::transposed, P.rows, P.access[FactorA::index], kPitchA> load_a;
    Loader<FactorB::index, !FactorB::transposed, P.cols, P.access[FactorB::index], kPitchB> load_b;
    const Shared<float, StagedWord> memory = shared<float, StagedWord>(factors_byte());
    Sums sums;
    for_outputs_([&](int i, int j) { sums.v[i][j] = 0.0f; });
    if constexpr (optional_<Start>() == Kind::f32)
      for_fours_(first_row, first_col, rows, cols,
                 [&](Counter i, Counter q, Place<Row, i64> row, Place<Column, i64> col, Place<Existing, int> count) {
                   const Packed<Kind::f32, 4> v = load_some<Kind::f32, 4>(
                       elements<Kind::f32>(arguments_.operand[Start::index], row_from_(base_c, row)) + col, count);
                   TK_UNROLL
                   for (int e = 0; e < 4; ++e) sums.v[i][4 * q + e] = v[e];
                 });

    load_a.load(arguments_, base_a, first_row, 0, rows, inner);
    load_b.load(arguments_, base_b, first_col, 0, cols, inner);
    Counter stage = 0;
    // Stages what was loaded, loads what lies at `next` while the stage is worked on, and leaves it for the next. Where
    // there is nothing at `next`, the stage is the last.
    const auto staged = [&](Place<InTile, i64> next, auto work, auto work_on_last) {
      const Shared<float, StagedWord> a = memory + stage_begin(stage, kBuffer);
      const Shared<float, StagedWord> b = a + second_factor(kPitchA, P.inner);
      load_a.store(a);
      load_b.store(b);
      barrier();  // also orders this stage's last readers before its next writers, two turns on
      if (next < inner) {
        load_a.load(arguments_, base_a, first_row, next, rows, inner);
        load_b.load(arguments_, base_b, first_col, next, cols, inner);
        work(a, b);
      } else {
        work_on_last(a, b);
      }
      stage = other_side(stage);
    };
    if constexpr (P.arithmetic == Arithmetic::chain) {
      for (Place<InTile, i64> k = 0; k < inner; k += P.inner)
        staged(
            chain_next(k, P.inner),
            [&](auto a, auto b) {
              TK_UNROLL
              for (Counter i = 0; i < P.inner; ++i) multiply_(a + line_(i, kPitchA), b + line_(i, kPitchB), sums);
            },
            [&](auto a, auto b) {  // what is not there is not added: +0 would turn a -0 into +0
              const int left = static_cast<int>(inner - k);
              for (Counter i = 0; i < left; ++i) multiply_(a + line_(i, kPitchA), b + line_(i, kPitchB), sums);
            });
    } else if constexpr (P.arithmetic == Arithmetic::hopper) {
      static_assert(P.inner == hopper::kGroup);
      const auto add = [&](auto a, auto b) { add_group_(a, b, sums); };
      for (Place<InTile, i64> k = 0; k < inner; k += P.inner) staged(chain_next(k, P.inner), add, add);
    } else {
      // Every block is staged twice: for its exponents, and for its integers.
      for (Place<InTile, i64> first = 0; first < inner; first = chain_next(first, block15::kBlock)) {
        const Place<InTile, i64> behind = chain_next(first, block15::kBlock);
        const auto stages = [&](Place<InTile, i64> then, auto work) {
          for (Place<InTile, i64> k = first; k < inner && k < behind; k += P.inner) {
            const Place<InTile, i64> next = chain_next(k, P.inner);
            staged(next < inner && next < behind ? next : then, work, work);
          }
        };
        BlockOf_ block{};
        stages(first, [&](auto a, auto b) { measure_(a, b, block); });
        block.set_exponents();
        stages(behind, [&](auto a, auto b) { multiply_integers_(a, b, block); });
        for_outputs_([&](int i, int j) {
          sums.v[i][j] = block15::add_block(block.sums[i][j], block15::left_scale(block.left[i]),
                                            block15::right_scale(block.right[j]), sums.v[i][j]);
        });
      }
      for_outputs_([&](int i, int j) { sums.v[i][j] = block15::end_of(sums.v[i][j]); });
    }

    constexpr Kind K = kind_at(P.kinds, C::index);
    for_fours_(first_row, first_col, rows, cols,
               [&](Counter i, Counter q, Place<Row, i64> row, Place<Column, i64> col, Place<Existing, int> count) {
                 float v[4];
                 TK_UNROLL
                 for (int e = 0; e < 4; ++e) v[e] = sums.v[i][4 * q + e];
                 if constexpr (optional_<Bias>() != Kind::absent) {
                   constexpr Kind kBias = optional_<Bias>();
                   const Packed<kBias, 4> bias = load_some<kBias, 4>(
                       global<const Raw<kBias>, Column>(arguments_.operand[Bias::index].data) + col, count);
                   TK_UNROLL
                   for (int e = 0; e < 4; ++e) v[e] = v[e] + bias[e];
                 }
                 const Packed<K, 4> out = pack<K, 4>(v);
                 const GlobalSpot<Raw<K>> to = elements<K>(arguments_.operand[C::index], row_from_(base_c, row)) + col;
                 if constexpr (P.access[C::index] >= 4 * bytes_of(K))
                   store_packed<K, 4, 4 * bytes_of(K)>(to, out);
                 else
                   store_some<K, 4>(to, out, count);
               });
  }
};

template <class D, TilePlan P> TK_FN void tile_kernel(const Arguments& arguments) {
  const TileMachine<D, P> m(arguments);
  D::tile(m);
}

}  // namespace tokitai::device
