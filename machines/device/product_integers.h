// The integers of block15 on tensor cores: a block's products, and how its sums are added to the chains.
#pragma once
#include "machines/device/product_ring.h"
#include "numerics/block15.h"

namespace tokitai::device {

template <ProductPlan P> struct ProductIntegers : ProductRing<P> {
  using Ring = ProductRing<P>;
  using Ring::await, Ring::release, Ring::left, Ring::right, Ring::S;
  using typename Ring::Turn;
  static constexpr int kSums = P.cols / 2;  // of a thread
  using Sums = float[kSums];
  using Totals = int[kSums];

  // The scales that a thread needs for a block, its two rows' and its columns' in pairs. They are in registers
  // before the block is added: shared memory is busy with the other multiplier's factors then.
  struct Scales {
    float top, bottom;
    u32 cols[P.cols / 8];
  };
  static TK_FN void load_scales(Scales& s, Counter slot, Counter rows) {
    const Shared<u16, ScaleHalf> scales = shared<u16, ScaleHalf>(scales_byte(P)) + slot_scales(slot, S.scale_bytes);
    const Counter lane = lane_index();
    s.top = widen<Kind::bf16>(scales[row_scale(rows, Counter(sum_row(lane, Counter(0))))]);
    s.bottom = widen<Kind::bf16>(scales[row_scale(rows, Counter(sum_row(lane, Counter(2))))]);
    TK_UNROLL
    for (Counter i = 0; i < P.cols / 8; i += 4) {
      const Words<4> w = *cast<Words<4>>(scales + col_scales(lane, i));
      TK_UNROLL
      for (int e = 0; e < 4; ++e) s.cols[i + e] = w.word[e];
    }
  }
  static TK_FN void add_block(Sums& sums, const Scales& s, const Totals& totals) {
    TK_UNROLL
    for (int i = 0; i < kSums; i += 4) {
      const float x = from_bits(s.cols[i / 4] << 16), y = from_bits(s.cols[i / 4] & 0xffff0000u);
      sums[i] = block15::add_block(totals[i], s.top, x, sums[i]);
      sums[i + 1] = block15::add_block(totals[i + 1], s.top, y, sums[i + 1]);
      sums[i + 2] = block15::add_block(totals[i + 2], s.bottom, x, sums[i + 2]);
      sums[i + 3] = block15::add_block(totals[i + 3], s.bottom, y, sums[i + 3]);
    }
  }
  // One block's products, in steps of 32: high parts, and mixed ones.
  static TK_FN void multiply_high(Totals& t, Counter high, Counter rows) {
    const Factor a = left(high, rows), b = right(high);
    TK_UNROLL
    for (Counter s = 0; s < 4; ++s)
      multiply(t, factor_behind(a, step_half(s, false)), factor_behind(b, step_half(s, false)), s > 0);
    multiply_commit();
  }
  static TK_FN void multiply_mixed(Totals& t, Counter high, Counter low, Counter rows, bool onto) {
    const Factor a = left(high, rows), b = right(low), c = left(low, rows), d = right(high);
    TK_UNROLL
    for (Counter s = 0; s < 4; ++s)
      multiply(t, factor_behind(a, step_half(s, false)), factor_behind(b, step_half(s, false)), onto || s > 0);
    TK_UNROLL
    for (Counter s = 0; s < 4; ++s)
      multiply(t, factor_behind(c, step_half(s, false)), factor_behind(d, step_half(s, false)), true);
    multiply_commit();
  }

  template <class Begin> static TK_FN void add(Sums& sums, Turn& turn, int blocks, Counter rows, Begin begin) {
    Scales scales;
    if (P.grouped == Grouped::sums && blocks == 0) {
      begin(sums);
    } else if constexpr (P.two_sums) {
      // A block's high parts are multiplied while the block before it is added; slots are awaited while products run.
      Totals high, mixed;  // after a block `mixed` has its total
      const auto block = [&](bool first, bool last) {
        const Turn low = turn.next();
        multiply_fence();
        multiply_high(high, turn.slot, rows);
        if (!first) add_block(sums, scales, mixed);
        settled(mixed);
        multiply_fence();
        multiply_mixed(mixed, turn.slot, low.slot, rows, false);
        load_scales(scales, turn.slot, rows);
        const Turn next = low.next();
        if (!last) {
          await(next);
          await(next.next());
        }
        multiply_wait<0>();
        settled(high);
        settled(mixed);
        release(turn.slot);
        release(low.slot);
        TK_UNROLL
        for (int e = 0; e < kSums; ++e) mixed[e] = high[e] * 128 + mixed[e];
        settled(mixed);
        turn = next;
      };
      await(turn);
      await(turn.next());
      block(true, blocks == 1);
      begin(sums);  // not before: three of a kind fill the registers
      TK_ROLLED
      for (int left = blocks - 1; left > 0; --left) block(false, left == 1);
      add_block(sums, scales, mixed);
    } else {
      // High parts are shifted and the mixed ones added onto them: registers are left for a wider tile.
      Totals totals;
      begin(sums);
      await(turn);
      TK_ROLLED
      for (int left = blocks; left > 0; --left) {
        const Turn low = turn.next(), next = low.next();
        multiply_fence();
        multiply_high(totals, turn.slot, rows);
        await(low);
        multiply_wait<0>();
        settled(totals);
        TK_UNROLL
        for (int e = 0; e < kSums; ++e) totals[e] *= 128;
        settled(totals);
        multiply_fence();
        multiply_mixed(totals, turn.slot, low.slot, rows, true);
        load_scales(scales, turn.slot, rows);
        if (left > 1) await(next);
        multiply_wait<0>();
        settled(totals);
        release(turn.slot);
        release(low.slot);
        add_block(sums, scales, totals);
        turn = next;
      }
    }
    TK_UNROLL
    for (int e = 0; e < kSums; ++e) sums[e] = block15::end_of(sums[e]);
  }
};

}  // namespace tokitai::device
