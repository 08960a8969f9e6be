// What comes before a product on tensor cores, one launch for both factors: rows that begin anywhere become rows that
// the copy engine can fetch, or (block15) values become the integers of blocks of 128, with one scale each, lying along
// the contracted index.
#pragma once
#include "machines/device/alias_bytes.h"
// The words come first: behind memory.h no kernel may say what they are made of.
#include "machines/device/groups.h"
#include "machines/device/plans.h"
#include "numerics/block15.h"

namespace tokitai::device {

// Where eight neighbouring elements of a row of `cols` begin.
struct Eighth {
  Place<Row, i64> row;
  Place<Column, i64> col;
  i64 cols;
  bool exists;  // the row
};
// The elements, as they come: 16-bit ones from a place that is no multiple of 16 bytes as two pieces
// that are, to be shifted when both are there.
template <Kind K> struct Eight {
  static constexpr int kWords = 2 * bytes_of(K);
  u32 word[8];
  int skew;  // elements

  // Whether they are all there, in one or two pieces that are too.
  TK_FN bool is_whole(const Operand& operand, const Eighth& at, bool aligned) {
    const Place<Left, i64> left = left_of(at.cols, at.col);
    skew = aligned
               ? 0
               : static_cast<int>((multiples_of(operand.data) % 16 / bytes_of(K) + at.row * operand.stride + at.col) %
                                  (16 / bytes_of(K)));
    return at.exists && left >= 8 && (skew == 0 || (K != Kind::f32 && at.col >= skew && left >= 16 - skew));
  }
  TK_FN void load_whole(const Operand& operand, const Eighth& at) {
    const GlobalSpot<const Raw<K>> from = elements<K>(operand, at.row) + aligned_col(at.col, skew);
    const GlobalSpot<const Words<4>> pieces = cast<const Words<4>>(from);
    take_(0, load_constant(pieces, 0));
    if (K == Kind::f32 || skew != 0) take_(4, load_constant(pieces, 1));
  }
  TK_FN void load_some_of_them(const Operand& operand, const Eighth& at) {
    const Place<Left, i64> left = left_of(at.cols, at.col);
    skew = 0;
    TK_UNROLL
    for (int w = 0; w < 8; ++w) word[w] = 0;
    if (!at.exists || left <= 0) return;
    const Packed<K, 8> some = load_some<K, 8>(elements<K>(operand, at.row) + at.col, at_most(left, 8));
    TK_UNROLL
    for (int w = 0; w < kWords; ++w) word[w] = some.word[w];
  }
  TK_FN Packed<K, 8> shifted() const {
    u32 w[8];
    TK_UNROLL
    for (int i = 0; i < 8; ++i) w[i] = word[i];
    Packed<K, 8> out;
    if constexpr (K == Kind::f32) {
      TK_UNROLL
      for (int i = 0; i < 8; ++i) out.word[i] = w[i];
    } else {
      TK_UNROLL
      for (int i = 0; i < 6; ++i) w[i] = (skew & 4) != 0 ? w[i + 2] : w[i];
      TK_UNROLL
      for (int i = 0; i < 5; ++i) w[i] = (skew & 2) != 0 ? w[i + 1] : w[i];
      TK_UNROLL
      for (int i = 0; i < 4; ++i)
        out.word[i] = static_cast<u32>((static_cast<u64>(w[i + 1]) << 32 | w[i]) >> ((skew & 1) * 16));
    }
    return out;
  }

 private:
  TK_FN void take_(int from, const Words<4>& words) {
    TK_UNROLL
    for (int w = 0; w < 4; ++w) word[from + w] = words.word[w];
  }
};

template <class D, PackPlan P> struct PackMachine : D::Names {
  const Arguments& arguments_;
  TK_FN explicit PackMachine(const Arguments& a) : arguments_(a) {}

  // What a line's integers are made with.
  struct Scaled {
    float up;
    u16 scale;  // bf16
    bool none;  // the block has no integers
  };
  template <bool right> static TK_FN Scaled scaled_(u32 largest) {
    const int exponent = block15::exponent_of(largest);
    const bool none = exponent == block15::kNotNumbers;
    const float scale = right ? block15::right_scale(exponent) : block15::left_scale(exponent);
    return {block15::power_of_two(13 - (none ? 0 : exponent)), static_cast<u16>(bits(scale) >> 16), none};
  }
  // block15::integer_of in fewer steps: the lowest bytes of `high` and `low` are the integer's parts. 16-bit values
  // have at most 11 bits, so that their integers stay below the largest by themselves.
  template <Kind K> static TK_FN void integer_(float x, float up, u32& high, u32& low) {
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
    float q = tokitai::fma(x, up, kRound);
    if constexpr (K == Kind::f32) q = -larger(-larger(q, kRound - 16383.0f), -(kRound + 16383.0f));
    const float h = -larger(-larger(tokitai::fma(q - kRound, 0.0078125f, kRound), kRound - 127.0f), -(kRound + 127.0f));
    high = bits(h);
    low = bits(tokitai::fma(h - kRound, -128.0f, q));
  }
  // Magnitudes are compared as bits, 16-bit ones two at a time.
  template <Kind K> static TK_FN u32 magnitude_(u32 word) {
    return word & (K == Kind::f32 ? 0x7fffffffu : 0x7fff7fffu);
  }
  template <Kind K> static TK_FN u32 larger_(u32 a, u32 b) {
    if constexpr (K == Kind::f32)
      return a > b ? a : b;
    else
      return larger_of_each(a, b);
  }
  template <Kind K> static TK_FN u32 widened_(u32 magnitude) { return bits(widen<K>(static_cast<Raw<K>>(magnitude))); }

  // Which stored row a packed one is: the same, one of a matrix, or one of a slot.
  enum class Rows : std::uint8_t { all, of_matrices, of_slots };
  struct Stored {
    Place<Row, i64> row;
    bool exists;
  };

  // One factor: `lines` of the output by the contracted index.
  template <int O, bool right, bool along_lines, Rows how = Rows::all> struct Factor_ {
    static constexpr Kind K = kind_at(P.kinds, O);
    static constexpr int kDeep = K == Kind::f32 ? 2 : 4;  // blocks of a thread
    static constexpr bool kAligned = P.aligned[right ? 1 : 0];
    const Arguments& arguments_;
    const i64 lines, inner, planes_before, scales_before;
    const Place<Row, i64> matrix;

    // A row of `rows`, where the matrix of that many begins, or of slots.
    TK_FN Stored stored_(Place<Row, i64> row, i64 rows) const {
      if constexpr (how == Rows::of_slots) {
        const Place<Row, i64> slot = slot_of_row(row, P.slot_rows);
        const i64 first = slot_entry(arguments_, slot, kSlotFirst), end = slot_entry(arguments_, slot, kSlotEnd);
        const Place<Row, i64> at = position_of(given_row(first, end), row_in_slot(row, P.slot_rows));
        return {at, at < end};
      } else if constexpr (how == Rows::of_matrices) {
        return {row_of_matrix(matrix, rows, row), row < rows};
      } else {
        return {row, row < rows};
      }
    }
    // A slot that no group has is left alone.
    TK_FN bool is_idle_(Place<Row, i64> row) const {
      if constexpr (how == Rows::of_slots) {
        return slot_of_row(row, P.slot_rows) >= all_slots(arguments_);
      } else {
        return false;
      }
    }

    TK_FN const Operand& operand() const { return arguments_.operand[O]; }
    TK_FN Global<u32, PlaneWord> planes() const {
      return global<u32, Workspace>(arguments_.workspace) + planes_begin(i64{planes_before});
    }
    TK_FN Global<u16, ScaleHalf> scales() const {
      return global<u16, Workspace>(arguments_.workspace) + packed_scales_begin(i64{scales_before});
    }
    // Of one matrix.
    static TK_FN i64 tasks_of(const PackedFactor<i64>& f) {
      if constexpr (P.arithmetic == Arithmetic::hopper)
        return along_lines ? repacks_of(f.inner, f.lines) : repacks_of(f.lines, f.inner);
      else
        return along_lines ? passes_across(f.lines, f.inner) : passes_along(f.lines, f.inner, kDeep);
    }
    static TK_FN void run_of(const Arguments& arguments, const PackedFactor<i64>& f, i64 task) {
      if constexpr (how == Rows::of_matrices) {
        const i64 per = tasks_of(f);
        const Place<Row, i64> one = task_matrix(task, per);
        Factor_{arguments,
                f.lines,
                f.inner,
                f.planes + one * planes_bytes(f.lines, f.inner),
                f.scales + one * scales_bytes(f.lines, f.inner),
                one}
            .run(remainder(task, per));
      } else {
        Factor_{arguments, f.lines, f.inner, f.planes, f.scales, task_matrix(i64{0}, i64{1})}.run(task);
      }
    }
    TK_FN void run(i64 task) const {
      if constexpr (P.arithmetic == Arithmetic::hopper)
        repack_(task, along_lines ? inner : lines, along_lines ? lines : inner);
      else if constexpr (along_lines)
        turn_(task);
      else
        pass_(task);
    }

    // Several at once: all loads are on their way before the first is waited for.
    template <int count, class At> TK_FN void load_(Eight<K> (&x)[count], At at) const {
      bool whole = true;
      TK_UNROLL
      for (Counter i = 0; i < count; ++i) whole = x[i].is_whole(operand(), at(i), kAligned) && whole;
      if (whole) {
        TK_UNROLL
        for (Counter i = 0; i < count; ++i) x[i].load_whole(operand(), at(i));
      } else {
        TK_UNROLL
        for (Counter i = 0; i < count; ++i) x[i].load_some_of_them(operand(), at(i));
      }
    }

    TK_FN void repack_(i64 task, i64 rows, i64 cols) const {
      const i64 pieces = row_pieces(cols), across = pieces_of(pieces, 512);
      Eight<K> x[4];
      load_(x, [&](Counter i) {
        const Place<Row, i64> row = repacked_row(task, across, i);
        return Eighth{row, repacked_col(task, across, thread_index(), i), cols, row < rows};
      });
      TK_UNROLL
      for (Counter i = 0; i < 4; ++i) {
        const Place<Row, i64> row = repacked_row(task, across, i);
        const Place<Column, i64> col = repacked_col(task, across, thread_index(), i);
        const Packed<K, 8> y = x[i].shifted();
        if (row < rows && col < cols)
          *cast<Words<4>>(planes() + repacked_word(row, col, pieces)) =
              Words<4>{{y.word[0], y.word[1], y.word[2], y.word[3]}};
      }
    }

    TK_FN void pass_(i64 task) const {
      const i64 blocks = pieces_of(inner, 128), across = pieces_of(blocks, kDeep);
      const Place<Row, i64> line = pass_line(task, across, thread_index());
      if (is_idle_(line)) return;
      Eight<K> x[kDeep];
      u32 largest[kDeep];
      const Stored from = stored_(line, lines);
      load_(x, [&](Counter d) {
        return Eighth{from.row, pass_inner(pass_block(task, across, d, kDeep), thread_index()), inner, from.exists};
      });
      Packed<K, 8> v[kDeep];
      TK_UNROLL
      for (Counter d = 0; d < kDeep; ++d) {
        v[d] = x[d].shifted();
        largest[d] = 0;
        TK_UNROLL
        for (int w = 0; w < Eight<K>::kWords; ++w) largest[d] = larger_<K>(largest[d], magnitude_<K>(v[d].word[w]));
        if constexpr (K != Kind::f32) largest[d] = larger_<K>(largest[d], largest[d] >> 16) & 0xffffu;
      }
      // Two blocks of 16-bit elements travel in one word.
      constexpr int kTogether = K == Kind::f32 ? 1 : 2;
      TK_UNROLL
      for (int d = 0; d < kDeep; d += kTogether) {
        u32 both = kTogether == 1 ? largest[d] : largest[d] | largest[d + kTogether - 1] << 16;
        TK_UNROLL
        for (int far = 8; far > 0; far /= 2) both = larger_<K>(both, shuffle_xor(both, far));
        largest[d] = kTogether == 1 ? both : both & 0xffffu;
        if constexpr (kTogether == 2) largest[d + 1] = both >> 16;
      }
      TK_UNROLL
      for (Counter d = 0; d < kDeep; ++d) {
        const Place<Row, i64> block = pass_block(task, across, d, kDeep);
        const Scaled s = scaled_<right>(widened_<K>(largest[d]));
        u32 high[8], low[8];
        TK_UNROLL
        for (int e = 0; e < 8; ++e) integer_<K>(s.none ? 0.0f : v[d][e], s.up, high[e], low[e]);
        if (block < blocks) {
          const Place<Column, i64> at = pass_inner(block, thread_index());
          if (line < lines) {
            *cast<Words<2>>(planes() + plane_word(Counter(0), line, at, i64{lines}, padded_inner(i64{inner}))) =
                packed_(high);
            *cast<Words<2>>(planes() + plane_word(Counter(1), line, at, i64{lines}, padded_inner(i64{inner}))) =
                packed_(low);
          }
          if (thread_index() % 16 == 0) scales()[packed_scale(block, line, padded_lines(i64{lines}))] = s.scale;
        }
      }
    }
    static TK_FN Words<2> packed_(const u32 (&v)[8]) {
      return {{low_bytes(v[0], v[1], v[2], v[3]), low_bytes(v[4], v[5], v[6], v[7])}};
    }

    TK_FN void turn_(i64 task) const {
      constexpr int kPer = 8 / Eight<K>::kWords;  // lines in a word
      const i64 across = pieces_of(lines, 64);
      const Place<Row, i64> block = turned_block(task, across);
      const Place<Column, i64> first = turned_line(task, across);
      const Counter eight = eight_of(thread_index()), four = four_of(thread_index());
      const Shared<u32, TurnedWord> turned = shared<u32, TurnedWord>(turned_byte());
      const Shared<u32, Counted> largest = shared<u32, Counted>(largest_byte());
      const Shared<float, Counted> ups = shared<float, Counted>(ups_byte());
      const Shared<u32, Counted> marked = shared<u32, Counted>(marked_byte());
      if (is_idle_(turned_inner(block, four, Counter(0)))) return;
      Eight<K> x[4];
      load_(x, [&](Counter i) {
        const Stored from = stored_(turned_inner(block, four, i), inner);
        return Eighth{from.row, turned_lines(first, eight), lines, from.exists};
      });
      Packed<K, 8> v[4];
      TK_UNROLL
      for (int i = 0; i < 4; ++i) v[i] = x[i].shifted();
      TK_UNROLL
      for (Counter w = 0; w < Eight<K>::kWords; ++w) {
        u32 top = larger_<K>(larger_<K>(magnitude_<K>(v[0].word[w]), magnitude_<K>(v[1].word[w])),
                             larger_<K>(magnitude_<K>(v[2].word[w]), magnitude_<K>(v[3].word[w])));
        top = larger_<K>(top, shuffle_xor(top, 8));
        top = larger_<K>(top, shuffle_xor(top, 16));
        if (lane_in_group(thread_index()) < 8)
          largest[largest_place(Counter(group_of_thread(thread_index())),
                                Counter(word_of_eight(eight, w, Eight<K>::kWords)))] = top;
      }
      barrier();
      if (thread_index() < 64) {
        const Counter line = line_of_thread(thread_index());
        u32 top = 0;
        TK_UNROLL
        for (Counter g = 0; g < 8; ++g)
          top = larger_<K>(top, largest[largest_place(g, Counter(word_of_line(line, kPer)))]);
        if constexpr (kPer == 2) top = line % 2 != 0 ? top >> 16 : top & 0xffffu;
        const Scaled s = scaled_<right>(widened_<K>(top));
        ups[line] = s.none ? 0.0f : s.up;
        const u32 none = ballot(s.none);
        if (lane_in_group(thread_index()) == 0) marked[group_of_thread(thread_index())] = none;
        scales()[packed_scale(block, line_behind(first, line), padded_lines(i64{lines}))] = s.scale;
      }
      barrier();
      const bool some = (marked[Counter(0)] | marked[Counter(1)]) != 0;
      TK_UNROLL
      for (Counter j = 0; j < 8; ++j) {
        const Counter line = line_of_eight(eight, j);
        const float up = ups[line];
        u32 high[4], low[4];
        TK_UNROLL
        for (int i = 0; i < 4; ++i) integer_<K>(some && up == 0.0f ? 0.0f : v[i][j], up, high[i], low[i]);
        turned[turned_word(Counter(0), line, four)] = low_bytes(high[0], high[1], high[2], high[3]);
        turned[turned_word(Counter(1), line, four)] = low_bytes(low[0], low[1], low[2], low[3]);
      }
      barrier();
      TK_UNROLL
      for (Counter turn = 0; turn < 4; ++turn) {
        const Counter line = written_line(turn, four), plane = written_plane(turn, four);
        const Place<Row, i64> to = line_behind(first, line);
        if (to < lines) {
          const Words<4> w = *cast<Words<4>>(turned + turned_word(plane, line, Counter(first_four(eight))));
          *cast<Words<4>>(planes() +
                          plane_word(plane, to, inner_piece(block, eight), i64{lines}, padded_inner(i64{inner}))) = w;
        }
      }
    }
  };

  template <class A, class B, Rows left_rows, Rows right_rows> TK_FN void pack_() const {
    constexpr bool kLeftAlong = FactorOf<A>::transposed, kRightAlong = !FactorOf<B>::transposed;
    const i64* e = arguments_.extent;
    const Packing<i64> packing = packing_of(P, kLeftAlong, kRightAlong, e[0], e[1], e[2], e[3]);
    using Left = Factor_<FactorOf<A>::index, false, kLeftAlong, left_rows>;
    using Right = Factor_<FactorOf<B>::index, true, kRightAlong, right_rows>;
    const i64 mine = P.packed[0] ? packing.left.matrices * Left::tasks_of(packing.left) : 0;
    const i64 task = block_index();
    if (P.packed[0] && task < mine)
      Left::run_of(arguments_, packing.left, task);
    else if (P.packed[1])
      Right::run_of(arguments_, packing.right, task - mine);
  }

  template <class C, class A, class B, class Start = Nothing, class Bias = Nothing, class How = Nothing>
  TK_FN void product(C, A, B, Start = {}, Bias = {}, How = {}) const {
    let_next_begin();
    pack_<A, B, Rows::all, Rows::all>();
  }
  template <class C, class A, class B, class Offsets, class Start = Nothing, class How = Nothing>
  TK_FN void grouped_product(C, A, B, Offsets, Start = {}, How = {}) const {
    constexpr bool kIntegers = P.arithmetic == Arithmetic::block15;
    constexpr Rows kSlots = kIntegers ? Rows::of_slots : Rows::all;
    constexpr Rows kMatrices = kIntegers ? Rows::of_matrices : Rows::all;
    let_next_begin();
    await_earlier();
    if (refused(arguments_)) return;
    pack_<A, B, kSlots, P.grouped == Grouped::rows ? kMatrices : kSlots>();
  }
};

template <class D, PackPlan P> TK_FN void pack_kernel(const Arguments& arguments) {
  const PackMachine<D, P> m(arguments);
  D::tile(m);
}

}  // namespace tokitai::device
