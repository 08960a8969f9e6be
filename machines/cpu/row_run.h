// Runs a row definition over all rows: checks first, then units of rows over the threads, then column sums.
#pragma once
#include <atomic>
#include <new>

#include "contract/kernel_table.h"
#include "machines/cpu/row.h"

namespace tokitai::cpu::TK_ISA {

template <Type S> void write_sums(const View& out, const float* sums, std::int64_t begin, std::int64_t end) {
  const auto write = [&]<Type T>() {
    auto* to = static_cast<typename Memory<T>::Element*>(out.data);
    for (std::int64_t i = begin; i < end; i += kWidth)
      write_first<T>(to + i, Memory<T>::narrow(load(sums + i)), std::min<std::int64_t>(kWidth, end - i));
  };
  if (out.type == S)
    write.template operator()<S>();
  else
    write.template operator()<Type::f32>();
}

// Asks every row before anything is written, and counts those that the definition counts.
template <class D, Type S> Answer check_rows(const Call& call, Pool& pool, std::atomic<std::int64_t>& counted) {
  if constexpr (requires(const RowMachine<D, S>& m) { D::valid(m); }) {
    constexpr std::int64_t kNone = INT64_MAX;
    const std::int64_t rows = call.operand(0).rows();
    std::atomic<std::int64_t> bad{kNone};
    pool.run((rows + kUnitElements - 1) / kUnitElements, [&](std::int64_t unit, int) {
      RowMachine<D, S> m(call, nullptr);
      std::int64_t mine = 0;
      for (m.row = unit * kUnitElements; m.row < std::min(rows, (unit + 1) * kUnitElements); ++m.row) {
        if (!D::valid(m)) return offer_smallest(bad, m.row);
        if constexpr (requires { D::counts(m); }) mine += D::counts(m) ? 1 : 0;
      }
      counted += mine;
    });
    if (bad != kNone) return {Answer::refused, bad};
  }
  return {};
}

// Column sums: the operands a definition sums over rows, the partial results of each unit, and where they lie.
struct ColumnSums {
  int operands[kMaxOperands] = {};
  int count = 0;
  std::int64_t units = 0, stride = 0;
  float* partials = nullptr;  // [sum][unit][stride]

  explicit ColumnSums(const Record& record) {
    for (int i = 0; i < kMaxOperands; ++i)
      if (holds(record.column_sums, i)) operands[count++] = i;
  }
  float* partial(int sum, std::int64_t unit) const { return partials + (sum * units + unit) * stride; }
};

template <class D, Type S>
__attribute__((flatten)) void run_unit(RowMachine<D, S>& m, std::int64_t begin, std::int64_t end) {
  for (m.row = begin; m.row < end; ++m.row) {
    m.loaded = 0;
    D::row(m);
  }
}

// A unit of 32 rows is one chain; one of 1024 rows is a chain of 32 of them, the inner ones in `chains`.
template <class D, Type S>
void run_unit_with_sums(RowMachine<D, S>& m, const ColumnSums& sums, float* chains, std::int64_t unit,
                        std::int64_t begin, std::int64_t end, std::int64_t rows_per_unit) {
  const bool nested = rows_per_unit > kChain;
  for (int s = 0; s < sums.count; ++s) {
    m.column_chain[static_cast<std::size_t>(sums.operands[s])] =
        nested ? chains + s * sums.stride : sums.partial(s, unit);
    if (nested) std::fill_n(sums.partial(s, unit), sums.stride, 0.0f);
  }
  for (std::int64_t first = begin; first < end; first += kChain) {
    for (int s = 0; s < sums.count; ++s)
      std::fill_n(m.column_chain[static_cast<std::size_t>(sums.operands[s])], sums.stride, 0.0f);
    run_unit(m, first, std::min(end, first + kChain));
    for (int s = 0; s < sums.count && nested; ++s) {
      float* total = sums.partial(s, unit);
      const float* chain = chains + s * sums.stride;
      for (std::int64_t i = 0; i < sums.stride; i += kWidth) store(total + i, load(total + i) + load(chain + i));
    }
  }
}

template <class D, Type S> Answer run_row(const Call& call, Pool& pool) {
  using Machine = RowMachine<D, S>;
  const std::int64_t rows = call.operand(0).rows(), n = call.operand(0).cols();
  std::atomic<std::int64_t> counted{0};
  if (Answer answer = check_rows<D, S>(call, pool, counted); answer.kind != Answer::good) return answer;

  const Record record = describe(call);
  ColumnSums sums(record);
  const std::int64_t rows_per_unit =
      sums.count > 0 ? unit_rows_with_sums(rows, pool.threads()) : unit_rows_ahead(rows, n, pool.threads(), 16);
  sums.units = (rows + rows_per_unit - 1) / rows_per_unit;
  sums.stride = row_buffer_bytes(n) / 4;
  if (sums.count > 0) {
    sums.partials = static_cast<float*>(
        pool.shared_scratch().reserve(static_cast<std::size_t>(sums.count * sums.units * sums.stride) * 4));
    if (sums.partials == nullptr) return {Answer::out_of_memory};
  }
  // A thread's share of the workspace, behind its machine: a machine lives as long as the call, so that column
  // parameters are converted once per thread. Every buffer exists before anything is written.
  const auto bytes = static_cast<std::size_t>(row_thread_bytes(record, rows, n));
  static_assert(sizeof(Machine) <= kRowMachineBytes);
  for (int worker = 0; worker < pool.threads(); ++worker) {
    auto* scratch = static_cast<std::byte*>(pool.scratch(worker).reserve(bytes));
    if (scratch == nullptr) return {Answer::out_of_memory};
    auto* m = new (scratch) Machine(call, scratch + kRowMachineBytes + sums.count * sums.stride * 4);
    m->rows_counted = counted;
  }
  const auto machine = [&](int worker) { return static_cast<Machine*>(pool.scratch(worker).data()); };

  pool.run(sums.units, [&](std::int64_t unit, int worker) {
    Machine* m = machine(worker);
    const std::int64_t begin = unit * rows_per_unit, end = std::min(rows, begin + rows_per_unit);
    m->unit_end = end;
    if (sums.count == 0) return run_unit(*m, begin, end);
    auto* chains = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(m) + kRowMachineBytes);
    run_unit_with_sums(*m, sums, chains, unit, begin, end, rows_per_unit);
  });
  if (sums.count > 0) {
    constexpr std::int64_t kColumns = 1024;
    pool.run((n + kColumns - 1) / kColumns, [&](std::int64_t unit, int) {
      const std::int64_t begin = unit * kColumns, end = std::min(n, begin + kColumns);
      for (int s = 0; s < sums.count; ++s) {
        finish_columns(sums.partial(s, 0) + begin, sums.units, end - begin, sums.stride);
        write_sums<S>(call.operand(sums.operands[s]), sums.partial(s, 0), begin, end);
      }
    });
  }
  if constexpr (requires(Machine& m) { D::finish(m); })
    if (record.once != 0) D::finish(*machine(0));
  return {};
}

}  // namespace tokitai::cpu::TK_ISA
