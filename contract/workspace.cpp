// The scratch memory of the cpu machine, as numbers and in words.
#include "contract/workspace.h"

#include <fmt/format.h>

#include <algorithm>

#include "contract/ways.h"

namespace tokitai {

std::int64_t workspace_bytes(const Call& call, int threads) {
  const Record record = describe(call);
  switch (record.pattern) {
    case Pattern::each: return 0;
    case Pattern::list_sum: {  // the blocks in front of each tensor, and at the most a partial result per block
      std::int64_t bytes = 0;
      for (const Operands& tensor : call.list) bytes += 8 + 4 * ((tensor[0].elements() + 2047) / 2048);
      return bytes;
    }
    case Pattern::row: {
      const std::int64_t rows = call.operand(0).rows(), cols = call.operand(0).cols();
      return threads * row_thread_bytes(record, rows, cols) +
             row_buffer_bytes(cols) * count_of(record.column_sums) * ((rows + 31) / 32);
    }
    case Pattern::segment:  // where each run of rows begins, and the sorted queries
      return record.sums ? 8 * (call.operand(record.table).rows() + 2 + call.operand(record.queries).rows()) : 0;
    case Pattern::tile: {
      const View& a = call.operand(record.a);
      const std::int64_t inner = record.a_transposed ? a.rows() : a.cols();
      const std::int64_t n = call.operand(record.out).cols();
      const std::int64_t columns = std::min(kPanelColumns, (n + kPanelUnit - 1) / kPanelUnit * kPanelUnit);
      const std::int64_t packed = record.arithmetic == Arithmetic::chain ? 4 * inner : 8 * (inner + kPanelPart);
      const std::int64_t bias = record.bias >= 0 ? 4 : 0;
      return columns * (packed + bias) + 4 * std::int64_t{threads} * kPanelRows * (kPanelInner + columns);
    }
  }
  return 0;
}

namespace {

std::string row_formula(const Contract& contract) {
  int buffers = 0, sums = 0;
  bool totals = false;
  for (const Call& way : ways_of(contract)) {
    const Record record = describe(way);
    buffers = std::max(buffers, rows_kept(record) + count_of(record.column_sums));
    sums = std::max(sums, count_of(record.column_sums));
    totals = totals || record.totals != 0;
  }
  const auto& shape = contract.operands[0].shape;
  const std::string rows = sums == 0 ? fmt::format("threads * {}", buffers)
                                     : fmt::format("(threads * {} + {} * ceil({}, 32))", buffers, sums, shape[0]);
  return fmt::format("threads * {} + 4 * (16 * ceil({}, 16) + {}) * {}{}", kRowMachineBytes, shape[1], kRowPadding,
                     rows, totals ? fmt::format(" + threads * 4 * ceil({}, 32)", shape[0]) : "");
}

}  // namespace

std::string workspace_formula(const Contract& contract) {
  const Record record = describe(plainest_way(contract));
  const auto shape = [&](int operand) { return contract.operands[static_cast<std::size_t>(operand)].shape; };
  switch (record.pattern) {
    case Pattern::each: return "0";
    case Pattern::list_sum: return fmt::format("8 + 4 * ceil({}, 2048)", shape(0)[0]);
    case Pattern::row: return row_formula(contract);
    case Pattern::segment:
      return record.sums ? fmt::format("8 * ({} + 2 + {})", shape(record.table)[0], shape(record.queries)[0]) : "0";
    case Pattern::tile: {
      const std::string_view width = shape(
          record.out)[static_cast<std::size_t>(contract.operands[static_cast<std::size_t>(record.out)].rank()) - 1];
      const std::string columns =
          fmt::format("min({}, {} * ceil({}, {}))", kPanelColumns, kPanelUnit, width, kPanelUnit);
      bool chains = true, bias = false;
      for (const Call& way : ways_of(contract)) {
        chains = chains && describe(way).arithmetic == Arithmetic::chain;
        bias = bias || describe(way).bias >= 0;
      }
      const std::string_view inner = shape(record.a)[record.a_transposed ? 0 : 1];
      const std::string packed =
          chains ? fmt::format("4 * {}", inner) : fmt::format("8 * ({} + {})", inner, kPanelPart);
      return fmt::format("{} * ({}{}) + 4 * threads * {} * ({} + {})", columns, packed, bias ? " + 4" : "", kPanelRows,
                         kPanelInner, columns);
    }
  }
  return "0";
}

}  // namespace tokitai
