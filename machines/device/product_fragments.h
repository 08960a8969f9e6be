// Matrix products in the arithmetic block15 where waves multiply bytes by themselves: every GPU without warpgroups, and
// Hopper too. Both factors have been packed (product_pack.h). A block of 256 threads has one tile of the output; it
// stages a block of 128 of the contracted index after the other, and every wave multiplies its part of the tile.
#pragma once
#include "machines/device/alias_bytes.h"
// The words come first: behind memory.h no kernel may say what they are made of.
#include "machines/device/memory.h"
#include "machines/device/place_fragments.h"
#include "machines/device/plans.h"
#include "numerics/block15.h"
#include "patterns/names.h"

namespace tokitai::device {

template <class D, FragmentPlan P> struct FragmentMachine : D::Names {
  static constexpr Fragment F = P.fragment;
  static constexpr FragmentShape S = fragment_shape(F);
  static constexpr FragmentTile T = fragment_tile(P);
  static constexpr int kBelow = T.wave_rows / S.rows, kBeside = T.wave_cols / S.cols;  // fragments of a wave
  static constexpr int kSums = S.sum_rows * S.run;                                     // of a lane in a fragment
  static constexpr int kSteps = kLinePieces / step_pieces(F);                          // through a line
  static constexpr int kHalves = P.cols > 64 ? 2 : 1;  // of a wave's columns, that a compiler sees one at a time
  static constexpr int kRun = run_of(F);
  static_assert(T.turns * kFragmentThreads == 2 * T.lines * kLinePieces && kSums * S.lanes == S.rows * S.cols);
  using Piece = Words<4>;
  using Sums = float[kBelow][kBeside][kSums];

  const Arguments& arguments_;
  TK_FN explicit FragmentMachine(const Arguments& a) : arguments_(a) {}

  TK_FN int rows_() const { return static_cast<int>(arguments_.extent[0]); }
  TK_FN int cols_() const { return static_cast<int>(arguments_.extent[1]); }
  TK_FN int blocks_() const { return pieces_of(static_cast<int>(arguments_.extent[2]), block15::kBlock); }

  // --- Staging.
  struct Corners {
    Place<Corner, int> row, col;
  };
  static TK_FN Shared<Piece, LinePiece> pieces_() { return shared<Piece, LinePiece>(pieces_byte()); }
  static TK_FN Shared<float, LineScale> scales_() { return shared<float, LineScale>(line_scales_byte(P)); }
  TK_FN Global<const Piece, Workspace> packed_() const { return global<const Piece, Workspace>(arguments_.workspace); }
  TK_FN GlobalSpot<const Piece> packed_piece_(const Corners& tile, bool left, Counter plane, Counter line,
                                              Counter block, Counter piece) const {
    const i64 rows = arguments_.extent[0], cols = arguments_.extent[1],
              padded = padded_inner(i64{arguments_.extent[2]});
    const int pieces = static_cast<int>(padded / 16);
    if (left)
      return packed_() + plane_begin(i64{0}, plane, rows, padded) +
             packed_piece(Counter(fetched_line(tile.row, line, rows_())), block, piece, pieces);
    return packed_() + plane_begin(planes_bytes(rows, padded), plane, cols, padded) +
           packed_piece(Counter(fetched_line(tile.col, Counter(line_behind_left(line)), cols_())), block, piece,
                        pieces);
  }
  // The scale of this thread's line of a block, and its way into a stage.
  static TK_FN bool brings_scale_() { return T.lines == kFragmentThreads || thread_index() < T.lines; }
  TK_FN float fetched_scale_(const Corners& tile, Counter block) const {
    if (!brings_scale_()) return 0.0f;
    const i64 rows = arguments_.extent[0], cols = arguments_.extent[1], inner = arguments_.extent[2];
    const Counter line = scaled_line(thread_anew());
    const bool left = line < kTileRows;
    const Global<const u16, ScaleHalf> scales =
        global<const u16, Workspace>(arguments_.workspace) +
        packed_scales_begin(planes_bytes(rows, inner) + planes_bytes(cols, inner) +
                            (left ? 0 : scales_bytes(rows, inner)));
    const Counter at =
        left ? fetched_line(tile.row, line, rows_()) : fetched_line(tile.col, Counter(line_behind_left(line)), cols_());
    return widen<Kind::bf16>(scales[fetched_scale(block, at, padded_lines(left ? rows_() : cols_()))]);
  }
  static TK_FN void put_scale_(Counter stage, float scale) {
    if (brings_scale_()) scales_()[staged_scale(stage, Counter(scaled_line(thread_index())), T.lines)] = scale;
  }
  // Calls piece(i, to, from) for each piece of 16 bytes that this thread brings of a block. Places are asked for anew,
  // because a loop over blocks would keep them all in registers.
  template <class F_> TK_FN void for_pieces_(const Corners& tile, Counter block, Counter stage, F_ f) const {
    const Place<Thread, int> thread = thread_anew();
    const Counter piece = brought_piece(thread);
    TK_UNROLL
    for (Counter turn = 0; turn < T.turns; ++turn) {
      const Counter plane = turn_plane(turn, T.lines), first = turn_line(turn, T.lines);
      const Counter line = brought_line(first, thread);
      f(turn, pieces_() + staged_piece(stage, plane, line, piece, T.lines),
        packed_piece_(tile, first < kTileRows, plane, line, block, piece));
    }
  }

  // --- Multiplying. What a lane has of one step, as instructions take it one after the other: of high and low parts.
  template <int lines, int turns> struct Bytes {
    static constexpr int kWords = 4 * turns / S.instructions;  // of a line
    u32 word[2][S.instructions][kWords * lines];

    // `at(i, turn)`: the piece of the i-th line of the wave's first fragment; another begins so many lines behind.
    template <class At> TK_FN void load(At at, Counter begin) {
      TK_UNROLL
      for (Counter i = 0; i < lines; ++i) {
        TK_UNROLL
        for (Counter turn = 0; turn < turns; ++turn) {
          const SharedSpot<Piece> first = at(i, turn);
          TK_UNROLL
          for (Counter plane = 0; plane < 2; ++plane) {
            const Piece piece = load_piece<F>(first + pieces_behind(plane, begin, T.lines));
            TK_UNROLL
            for (int w = 0; w < 4; ++w) {
              const int n = 4 * turn + w;
              word[plane][n / kWords][n % kWords * lines + i] = piece.word[w];
            }
          }
        }
      }
    }
  };
  using LeftBytes = Bytes<S.left.lines, left_turns(F)>;
  using RightBytes = Bytes<S.right.lines, right_turns(F)>;
  using Totals = int[kSums];
  static TK_FN float scale_(Counter stage, Counter line) { return scales_()[staged_scale(stage, line, T.lines)]; }

  // One block of the contracted index: a fragment's outputs are done before the next one's are begun.
  static TK_FN void add_block_(Sums& sums, Counter stage) {
    const Place<Thread, int> thread = thread_anew();
    const Counter lane = lane_in_wave(thread, F), wave = wave_of(thread, F);
    const Counter row = wave_row(wave, T.across, T.wave_rows), col = wave_col(wave, T.across, T.wave_cols);
    const auto load_left = [&](LeftBytes& to, Counter m, Counter step, Counter mine) {
      const auto at = [&](Counter i, Counter turn) {
        return pieces_() + staged_piece(stage, Counter(0), Counter(wave_line(row, Counter(left_line(mine, i, F)))),
                                        Counter(left_piece(mine, step, turn, F)), T.lines);
      };
      to.load(at, Counter(fragment_begin(m, S.rows)));
    };
    const auto load_right = [&](RightBytes& to, Counter first, Counter n, Counter step, Counter mine) {
      const auto at = [&](Counter i, Counter turn) {
        const Counter line = line_on_right(Counter(wave_line(first, Counter(right_line(mine, i, F)))));
        return pieces_() + staged_piece(stage, Counter(0), line, Counter(right_piece(mine, step, turn, F)), T.lines);
      };
      to.load(at, Counter(fragment_begin(n, S.cols)));
    };
    LeftBytes left[S.kept ? kSteps : 1][kBelow];
    float row_scale[kBelow][S.sum_rows];
    TK_UNROLL
    for (Counter m = 0; m < kBelow; ++m) {
      TK_UNROLL
      for (Counter i = 0; i < kSums; i += S.run)
        row_scale[m][i / S.run] = scale_(
            stage, Counter(wave_line(row, Counter(fragment_line(m, S.rows, Counter(fragment_row(lane, i, F)))))));
      if constexpr (S.kept) {
        TK_UNROLL
        for (Counter step = 0; step < kSteps; ++step) load_left(left[step][m], m, step, lane);
      }
    }
    TK_ROLLED
    for (Counter half = 0; half < kHalves; ++half) {
      const Counter side = half_begin(half, T.wave_cols / kHalves);
      TK_UNROLL
      for (Counter n = 0; n < kBeside / kHalves; ++n) {
        const Counter again = S.kept ? lane : Counter(lane_in_wave(thread_anew(), F));
        Totals high[kBelow], mixed[kBelow];
        TK_UNROLL
        for (int m = 0; m < kBelow; ++m) {
          TK_UNROLL
          for (int i = 0; i < kSums; ++i) high[m][i] = mixed[m][i] = 0;
        }
        TK_UNROLL
        for (Counter step = 0; step < kSteps; ++step) {
          RightBytes right;
          load_right(right, Counter(wave_line(col, side)), n, step, again);
          if constexpr (!S.kept) {
            TK_UNROLL
            for (Counter m = 0; m < kBelow; ++m) load_left(left[0][m], m, step, again);
          }
          TK_UNROLL
          for (int i = 0; i < S.instructions; ++i) {
            TK_UNROLL
            for (int m = 0; m < kBelow; ++m) {
              const LeftBytes& mine = left[S.kept ? static_cast<int>(step) : 0][m];
              multiply_bytes<F>(high[m], mine.word[0][i], right.word[0][i]);
              multiply_bytes<F>(mixed[m], mine.word[0][i], right.word[1][i]);
              multiply_bytes<F>(mixed[m], mine.word[1][i], right.word[0][i]);
            }
          }
        }
        float col_scale[S.run];
        TK_UNROLL
        for (Counter i = 0; i < S.run; ++i)
          col_scale[i] = scale_(stage, Counter(line_on_right(Counter(wave_line(
                                           Counter(wave_line(col, side)),
                                           Counter(fragment_line(n, S.cols, Counter(fragment_col(lane, i, F)))))))));
        TK_UNROLL
        for (int m = 0; m < kBelow; ++m) {
          TK_UNROLL
          for (int i = 0; i < kSums; ++i)
            sums[m][n][i] = block15::add_block(high[m][i] * 128 + mixed[m][i], row_scale[m][i / S.run],
                                               col_scale[i % S.run], sums[m][n][i]);
          settled(sums[m][n]);  // else clang for AMD makes them behind the next barrier, and keeps all factors for it
        }
      }
      if constexpr (kHalves > 1) {  // they change places, so that the loop knows its registers
        TK_UNROLL
        for (int m = 0; m < kBelow; ++m) {
          TK_UNROLL
          for (int n = 0; n < kBeside / 2; ++n) {
            TK_UNROLL
            for (int i = 0; i < kSums; ++i) {
              const float other = sums[m][n + kBeside / 2][i];
              sums[m][n + kBeside / 2][i] = sums[m][n][i];
              sums[m][n][i] = other;
            }
          }
        }
      }
    }
  }
  TK_FN void add_(Sums& sums, const Corners& tile) const {
    constexpr bool kTwo = P.stages == 2;
    const int blocks = blocks_();
    u32 held[kTwo ? 1 : T.turns][4];
    float scale = 0.0f;
    // A block on its way to a stage, and arrived there.
    const auto fetch = [&](Counter block, Counter stage) {
      for_pieces_(tile, block, stage, [&](Counter i, const SharedSpot<Piece>& to, const GlobalSpot<const Piece>& from) {
        if constexpr (kTwo) {
          copy_async<16>(to, from);
        } else {
          const Piece piece = *from;
          TK_UNROLL
          for (int w = 0; w < 4; ++w) held[i][w] = piece.word[w];
        }
      });
      copy_commit();
      scale = fetched_scale_(tile, block);
    };
    const auto put = [&](Counter stage) {
      if constexpr (!kTwo)
        for_pieces_(tile, Counter(0), stage,
                    [&](Counter i, const SharedSpot<Piece>& to, const GlobalSpot<const Piece>&) {
                      *to = Piece{{held[i][0], held[i][1], held[i][2], held[i][3]}};
                    });
      put_scale_(stage, scale);
      copy_wait<0>();
    };
    Counter stage = 0;
    fetch(Counter(0), stage);
    put(stage);
    TK_ROLLED
    for (Counter block = 0; block < blocks; ++block) {
      barrier();  // the stage has been filled, and everybody has left the other one
      const bool more = block + 1 < blocks;
      const Counter next = kTwo ? Counter(other_side(stage)) : stage;
      if (more) fetch(Counter(counted_on(block, Counter(1))), next);
      add_block_(sums, stage);
      if (!kTwo) barrier();  // everybody has left the stage
      if (more) put(next);
      stage = next;
    }
  }

  // --- Outputs. Calls f(m, n, i, row, col, count) for each run of neighbouring outputs of the thread that exist, in
  // part at least.
  template <class O> static constexpr Kind optional_() {
    if constexpr (O::index < 0)
      return Kind::absent;
    else
      return kind_at(P.kinds, O::index);
  }
  template <class F_> TK_FN void for_runs_(const Corners& tile, F_ f) const {
    const Place<Thread, int> thread = thread_anew();
    const Counter lane = lane_in_wave(thread, F), wave = wave_of(thread, F);
    const Counter first_row = wave_row(wave, T.across, T.wave_rows), first_col = wave_col(wave, T.across, T.wave_cols);
    TK_UNROLL
    for (Counter m = 0; m < kBelow; ++m) {
      TK_UNROLL
      for (Counter n = 0; n < kBeside; ++n) {
        TK_UNROLL
        for (Counter i = 0; i < kSums; i += kRun) {
          const Place<Row, i64> row =
              product_row(tile.row, first_row, Counter(fragment_line(m, S.rows, Counter(fragment_row(lane, i, F)))));
          const Place<Column, i64> col = product_col(
              tile.col,
              Counter(wave_line(first_col, Counter(fragment_line(n, S.cols, Counter(fragment_col(lane, i, F)))))));
          const Place<Left, i64> left = left_of(i64{arguments_.extent[1]}, col);
          if (row < arguments_.extent[0] && left > 0) f(m, n, i, row, col, at_most(left, kRun));
        }
      }
    }
  }
  template <class Start> TK_FN void begin_(Sums& sums, const Corners& tile) const {
    TK_UNROLL
    for (int m = 0; m < kBelow; ++m) {
      TK_UNROLL
      for (int n = 0; n < kBeside; ++n) {
        TK_UNROLL
        for (int i = 0; i < kSums; ++i) sums[m][n][i] = 0.0f;
      }
    }
    if constexpr (optional_<Start>() == Kind::f32)
      for_runs_(
          tile, [&](int m, int n, int i, Place<Row, i64> row, Place<Column, i64> col, Place<Existing, int> count) {
            const Packed<Kind::f32, kRun> v =
                load_some<Kind::f32, kRun>(elements<Kind::f32>(arguments_.operand[Start::index], row) + col, count);
            TK_UNROLL
            for (int e = 0; e < kRun; ++e) sums[m][n][i + e] = v[e];
          });
  }

  template <class C, class A, class B, class Start = Nothing, class Bias = Nothing, class How = Nothing>
  TK_FN void product(C, A, B, Start = {}, Bias = {}, How = {}) const {
    const int down = pieces_of(rows_(), kTileRows), across = pieces_of(cols_(), P.cols);
    const Place<ClusterTile, int> number = first_cluster(block_index(), 1);
    const Corners tile{tile_corner(walked_row(number, down, across, P.band), Counter(0), 1, kTileRows),
                       tile_corner(walked_col(number, down, across, P.band), Counter(0), 1, P.cols)};
    await_earlier();
    Sums sums;
    begin_<Start>(sums, tile);
    add_(sums, tile);
    constexpr Kind K = kind_at(P.kinds, C::index);
    for_runs_(tile, [&](int m, int n, int i, Place<Row, i64> row, Place<Column, i64> col, Place<Existing, int> count) {
      float v[kRun];
      TK_UNROLL
      for (int e = 0; e < kRun; ++e) v[e] = block15::end_of(sums[m][n][i + e]);
      if constexpr (optional_<Bias>() != Kind::absent) {
        constexpr Kind kBias = optional_<Bias>();
        const Packed<kBias, kRun> bias =
            load_some<kBias, kRun>(global<const Raw<kBias>, Column>(arguments_.operand[Bias::index].data) + col, count);
        TK_UNROLL
        for (int e = 0; e < kRun; ++e) v[e] = v[e] + bias[e];
      }
      const Packed<K, kRun> out = pack<K, kRun>(v);
      const GlobalSpot<Raw<K>> to = elements<K>(arguments_.operand[C::index], row) + col;
      if constexpr (P.access >= 4)
        store_packed<K, kRun, P.access>(to, out);
      else
        store_some<K, kRun>(to, out, count);
    });
  }
};

template <class D, FragmentPlan P> TK_FN void fragment_kernel(const Arguments& arguments) {
  const FragmentMachine<D, P> m(arguments);
  D::tile(m);
}

}  // namespace tokitai::device
