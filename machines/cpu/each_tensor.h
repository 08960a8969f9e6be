// The each pattern on SIMD lanes and threads over a single tensor: its rows one after the other, or as one where they
// lie without gaps.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>

#include "contract/kernel_table.h"
#include "machines/cpu/lanes.h"
#include "machines/cpu/plan.h"
#include "machines/cpu/pool.h"
#include "patterns/list.h"
#include "patterns/names.h"

namespace tokitai::cpu::TK_ISA {

struct LanePair {
  Lanes first, second;
};

// One register of elements of a row at a time; the last may be cut short. Where a definition names a table, of pairs of
// elements in one period of the row, and `i_` is the column of the table.
template <class D, Type S> struct EachTensorMachine : D::Names {
  const Call& call_;
  // Copies, which no store to a tensor can change: so they stay in registers.
  const std::array<float, kMaxScalars> scalars_;
  std::array<std::byte*, kMaxOperands> data_{};  // of this row
  std::array<Type, kMaxOperands> types_{};
  std::uint32_t streamed_ = 0;  // bit k: operand k goes past the cache
  std::int64_t row_ = 0;
  std::int64_t begin_ = 0;  // of the period, in the row
  std::int64_t i_ = 0;
  std::int64_t count_ = kWidth;

  TK_FN explicit EachTensorMachine(const Call& c) : call_(c), scalars_(c.scalars) {}
  // The row's memory, and what of it is streamed from column `first` on.
  TK_FN void take_row(std::int64_t row, std::int64_t first, std::uint32_t worth) {
    row_ = row;
    streamed_ = 0;
    for (std::size_t k = 0; k < kMaxOperands; ++k) {
      const View& v = call_.operands[k];
      if (!v.present()) continue;
      const auto size = static_cast<std::int64_t>(size_of(v.type));
      types_[k] = v.type;
      data_[k] = static_cast<std::byte*>(v.data) + (v.rank == 2 && row < v.rows() ? row * v.row_stride * size : 0);
      const auto address = reinterpret_cast<std::uintptr_t>(data_[k] + first * size);
      if ((worth >> k & 1u) != 0 && address % static_cast<std::uintptr_t>(kWidth * size) == 0) streamed_ |= 1u << k;
    }
  }

  template <int I> TK_FN float value(Scalar<I>) const { return scalars_[I]; }
  template <int I> TK_FN std::int64_t value(IntegerOption<I>) const { return call_.option(I).i; }
  template <class O> TK_FN bool has(O) const { return data_[O::index] != nullptr; }
  template <class O> TK_FN Lanes load(O operand) const {
    return with_type(operand, [&]<Type T>() { return read<T>(O::index, i_); });
  }
  template <class O> TK_FN void store(O operand, Lanes v) const {
    with_type(operand, [&]<Type T>() { return write<T>(O::index, i_, v); });
  }
  // One type copies bits; else one rounding.
  template <class O, class In> TK_FN void convert(O out, In in) const {
    if (types_[O::index] != types_[In::index]) return store(out, load(in));
    with_type(out, [&]<Type T>() {
      auto* to = at<T>(O::index, i_);
      const auto* from = at<T>(In::index, i_);
      if (count_ < kWidth)
        std::memcpy(to, from, static_cast<std::size_t>(count_) * sizeof(*to));
      else if ((streamed_ >> O::index & 1u) != 0)
        Memory<T>::stream_copy(to, from);
      else
        Memory<T>::copy(to, from);
    });
  }

  TK_FN std::int64_t row() const { return row_; }
  TK_FN std::int64_t table_rows() const { return call_.operand(D::table.index).rows(); }
  template <class O> TK_FN std::int64_t integer(O) const {
    const View& v = call_.operand(O::index);
    return v.type == Type::i32 ? static_cast<const std::int32_t*>(v.data)[row_]
                               : static_cast<const std::int64_t*>(v.data)[row_];
  }
  template <class O> TK_FN Lanes load_at(O operand, std::int64_t table_row) const {
    const View& v = call_.operand(O::index);
    return with_type(operand, [&]<Type T>() {
      return widened<T>(static_cast<const typename Memory<T>::Element*>(v.data) + table_row * v.row_stride + i_,
                        count_);
    });
  }
  template <class O> TK_FN LanePair load_pair(O operand, bool beside) const {
    return with_type(operand, [&]<Type T>() -> LanePair {
      const std::int64_t period = call_.operand(D::table.index).cols();
      if (!beside) return {read<T>(O::index, begin_ + i_), read<T>(O::index, begin_ + period + i_)};
      const auto* from = at<T>(O::index, begin_ + 2 * i_);
      alignas(64) float both[2 * kWidth];
      tokitai::cpu::TK_ISA::store(both, widened<T>(from, std::min<std::int64_t>(2 * count_, kWidth)));
      if (2 * count_ > kWidth)
        tokitai::cpu::TK_ISA::store(both + kWidth, widened<T>(from + kWidth, 2 * count_ - kWidth));
      LanePair pair;
      hn::LoadInterleaved2(FloatTag(), both, pair.first.v, pair.second.v);
      return pair;
    });
  }
  template <class O> TK_FN void store_pair(O operand, Lanes a, Lanes b, bool beside) const {
    with_type(operand, [&]<Type T>() {
      const std::int64_t period = call_.operand(D::table.index).cols();
      if (!beside) {
        write<T>(O::index, begin_ + i_, a);
        write<T>(O::index, begin_ + period + i_, b);
        return;
      }
      auto* to = at<T>(O::index, begin_ + 2 * i_);
      alignas(64) float both[2 * kWidth];
      hn::StoreInterleaved2(a.v, b.v, FloatTag(), both);
      write_first<T>(to, Memory<T>::narrow(hn::Load(FloatTag(), both)), std::min<std::int64_t>(2 * count_, kWidth));
      if (2 * count_ > kWidth)
        write_first<T>(to + kWidth, Memory<T>::narrow(hn::Load(FloatTag(), both + kWidth)), 2 * count_ - kWidth);
    });
  }

 private:
  // What is stored as the call's storage type or as f32 is known to the compiler; else it is asked, once a register.
  template <int I, class F> TK_FN auto with_type(Storage<I>, F f) const { return f.template operator()<S>(); }
  template <int I, class F> TK_FN auto with_type(Single<I>, F f) const { return f.template operator()<Type::f32>(); }
  template <class O, class F> TK_FN auto with_type(O, F f) const {
    switch (types_[O::index]) {
      case Type::f16: return f.template operator()<Type::f16>();
      case Type::bf16: return f.template operator()<Type::bf16>();
      default: return f.template operator()<Type::f32>();
    }
  }
  template <Type T> TK_FN auto* at(std::size_t operand, std::int64_t column) const {
    return reinterpret_cast<typename Memory<T>::Element*>(data_[operand]) + column;
  }
  template <Type T> static TK_FN Lanes widened(const typename Memory<T>::Element* p, std::int64_t count) {
    return count == kWidth ? Memory<T>::widen(p) : widen_first<T>(p, count);
  }
  template <Type T> TK_FN Lanes read(std::size_t operand, std::int64_t column) const {
    return widened<T>(at<T>(operand, column), count_);
  }
  template <Type T> TK_FN void write(std::size_t operand, std::int64_t column, Lanes v) const {
    auto* p = at<T>(operand, column);
    if (count_ < kWidth)
      write_first<T>(p, Memory<T>::narrow(v), count_);
    else if ((streamed_ >> operand & 1u) != 0)
      Memory<T>::stream(p, Memory<T>::narrow(v));
    else
      Memory<T>::write(p, Memory<T>::narrow(v));
  }
};

// The tensor's rows: one, where the rows of all operands follow each other without gaps.
struct TensorShape {
  std::int64_t rows, cols;
  explicit TensorShape(const Call& call, bool may_join) : rows(1), cols(call.operand(0).elements()) {
    const View& first = call.operand(0);
    if (first.rank != 2) return;
    bool joined = may_join;
    for (const View& v : call.operands) joined = joined && (v.rank != 2 || v.rows() == 1 || v.row_stride == v.cols());
    if (joined) return;
    rows = first.rows();
    cols = first.cols();
  }
};

// Outputs that are worth streaming: large ones that are not read as well.
inline std::uint32_t streamed_outputs(const Call& call) {
  std::uint32_t worth = 0;
  for (std::size_t k = 0; k < call.contract->operands.size(); ++k) {
    const View& out = call.operands[k];
    if (call.contract->operands[k].role != Role::out || !out.present() || !cpu::worth_streaming(out)) continue;
    bool over = false;
    for (std::size_t j = 0; j < call.contract->operands.size(); ++j)
      over = over || (j != k && call.operands[j].present() && call.operands[j].data == out.data);
    if (!over) worth |= 1u << k;
  }
  return worth;
}

// Calls f for each register of a row's columns [begin, end).
template <class D, class M, class F> TK_FN void for_registers(M& m, std::int64_t begin, std::int64_t end, F f) {
  if constexpr (requires { D::table; }) {
    const std::int64_t period = m.call_.operand(D::table.index).cols();
    for (m.begin_ = begin; m.begin_ < end; m.begin_ += 2 * period)
      for (m.i_ = 0; m.i_ < period; m.i_ += kWidth) {
        m.count_ = std::min<std::int64_t>(kWidth, period - m.i_);
        f();
      }
  } else {
    m.count_ = kWidth;
    for (m.i_ = begin; m.i_ + kWidth <= end; m.i_ += kWidth) f();
    m.count_ = end - m.i_;
    if (m.count_ > 0) f();
  }
}

template <class D, Type S>
__attribute__((flatten)) void update_row(EachTensorMachine<D, S>& m, std::int64_t begin, std::int64_t end) {
  for_registers<D>(m, begin, end, [&] { D::element(m); });
}

// The first element in [begin, end) of a row that the definition's check refuses, or -1.
template <class D, Type S>
__attribute__((flatten)) std::int64_t first_invalid(EachTensorMachine<D, S>& m, std::int64_t begin, std::int64_t end) {
  std::int64_t found = -1;
  for_registers<D>(m, begin, end, [&] {
    const Mask invalid{hn::AndNot(D::valid(m).m, first_lanes(m.count_).m)};
    if (const std::intptr_t lane = hn::FindFirstTrue(FloatTag(), invalid.m); lane >= 0 && found < 0)
      found = m.i_ + lane;
  });
  return found;
}

template <class D, Type S> Answer run_tensor(const Call& call, Pool& pool) {
  using Machine = EachTensorMachine<D, S>;
  constexpr bool kPairs = requires { D::table; };
  constexpr std::int64_t kNone = INT64_MAX;
  const TensorShape shape(call, !kPairs);
  // Units of whole rows, or of parts of one.
  const std::int64_t parts = kPairs ? 1 : (shape.cols + kListUnit - 1) / kListUnit;
  const std::int64_t together = parts > 1 ? 1 : std::max<std::int64_t>(1, kListUnit / shape.cols);
  const std::int64_t units = (shape.rows + together - 1) / together * parts;
  const std::int64_t part = parts > 1 ? kListUnit : shape.cols;
  const auto for_rows = [&](Machine& m, std::int64_t unit, std::uint32_t worth, auto f) {
    const std::int64_t first = unit / parts * together, begin = unit % parts * part;
    for (std::int64_t row = first; row < std::min(shape.rows, first + together); ++row) {
      m.take_row(row, begin, worth);
      f(begin, std::min(shape.cols, begin + part));
    }
  };

  if constexpr (requires(Machine& m) { D::accepts(m); }) {
    Machine asked(call);
    asked.take_row(0, 0, 0);
    const std::int64_t rows = D::asks(asked) ? shape.rows : 0;
    std::atomic<std::int64_t> bad{kNone};
    pool.run((rows + kUnitElements - 1) / kUnitElements, [&](std::int64_t unit, int) {
      Machine m(call);
      m.take_row(0, 0, 0);
      for (m.row_ = unit * kUnitElements; m.row_ < std::min(rows, (unit + 1) * kUnitElements); ++m.row_)
        if (!D::accepts(m)) return offer_smallest(bad, m.row_);
    });
    if (bad != kNone) return {Answer::refused, bad};
  }
  if constexpr (requires(Machine& m) { D::valid(m); }) {
    Machine asked(call);
    asked.take_row(0, 0, 0);
    if (D::checked(asked)) {
      std::atomic<std::int64_t> bad{kNone};
      pool.run(units, [&](std::int64_t unit, int) {
        Machine m(call);
        for_rows(m, unit, 0, [&](std::int64_t begin, std::int64_t end) {
          if (const std::int64_t at = first_invalid<D, S>(m, begin, end); at >= 0)
            offer_smallest(bad, m.row_ * shape.cols + at);
        });
      });
      if (bad != kNone) return {Answer::skipped, bad};
    }
  }
  std::uint32_t worth = streamed_outputs(call);
  if constexpr (kPairs)
    if (call.operand(D::table.index).cols() % kWidth != 0) worth = 0;  // where registers begin is not aligned
  pool.run(units, [&](std::int64_t unit, int) {
    Machine m(call);
    for_rows(m, unit, worth, [&](std::int64_t begin, std::int64_t end) { update_row<D, S>(m, begin, end); });
  });
  return {};
}

}  // namespace tokitai::cpu::TK_ISA
