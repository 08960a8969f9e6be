// The scratch memory of a call on the cpu machine, from what its definition asks for.
#pragma once
#include <string>

#include "contract/contract.h"
#include "contract/record.h"

namespace tokitai {

// Bytes of one f32 row buffer: a row and padding, so that whole vectors fit, and so that rows of a power of two do not
// lie a multiple of 4096 bytes apart (a load would then wait for the store to its twin).
inline constexpr std::int64_t kRowPadding = 192;
constexpr std::int64_t row_buffer_bytes(std::int64_t cols) { return 4 * ((cols + 15) / 16 * 16 + kRowPadding); }

// The row pattern's scratch. Per thread its bookkeeping, rows kept as f32, made rows and column parameters, for each
// column sum a row in the making, and for values that are added up after the rows one per 32 of them.
inline constexpr std::int64_t kRowMachineBytes = 1024;
constexpr int rows_kept(const Record& record) { return count_of(record.loaded | record.made | record.columns); }
constexpr std::int64_t row_thread_bytes(const Record& record, std::int64_t rows, std::int64_t cols) {
  return kRowMachineBytes + row_buffer_bytes(cols) * (rows_kept(record) + count_of(record.column_sums)) +
         (record.totals != 0 ? 4 * ((rows + 31) / 32) : 0);
}

// The tile pattern's: packed panels, 1024 columns of one factor, or all where it has fewer, and their bias, for all
// threads, a block of 96 rows of the other and its unrounded sums per thread, each with what the largest register block
// adds (machines/cpu/tile.h). A chain's panels take 4 bytes for each element, those of other arithmetics at most 8, and
// a whole block of the inner index for its last part.
inline constexpr std::int64_t kPanelColumns = 1056, kPanelUnit = 32, kPanelRows = 108, kPanelInner = 256;
inline constexpr std::int64_t kPanelPart = 128;

// The most scratch memory a checked call takes with this many threads.
std::int64_t workspace_bytes(const Call& call, int threads);
// The same as a formula (contract/formula.h), for whatever a call of this contract gives.
std::string workspace_formula(const Contract& contract);

}  // namespace tokitai
