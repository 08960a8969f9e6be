// The largest sizes that proofs are for: more than contracts let pass (contract/check.cpp: all operands take at most
// 2^48 bytes, an element at least two of them), and as much as a launch can have.
#pragma once
#include <cstdint>
#include <limits>

namespace tokitai::proofs {

inline constexpr std::int64_t kMostElements = std::int64_t{1} << 62;
inline constexpr std::int64_t kMostTensors = std::int64_t{1} << 30;
inline constexpr std::int64_t kMostBlocks = std::numeric_limits<int>::max();
inline constexpr std::int64_t kMostCols = (std::int64_t{1} << 24) + 1;  // of a row: kColsLimit in contract/build.h
// Pairs and values of a sort: kMostQueries in plan_segment.cpp.
inline constexpr std::int64_t kMostSorted = std::int64_t{1} << 31;
// Blocks that a device holds at once, of a cooperative launch; no device comes near.
inline constexpr std::int64_t kMostResident = std::int64_t{1} << 20;
// Of a product on tensor cores: extents, and tiles of its output (plan_product.cpp).
inline constexpr std::int64_t kMostExtent = (std::int64_t{1} << 31) - 65536;
inline constexpr std::int64_t kMostTiles = (std::int64_t{1} << 31) - (std::int64_t{1} << 20);
// Elements of an operand: contract/check.cpp.
inline constexpr std::int64_t kMostStored = std::int64_t{1} << 47;
// Items of a cooperative launch that are numbered: rows times slabs of columns.
inline constexpr std::int64_t kMostItems = std::int64_t{1} << 60;

}  // namespace tokitai::proofs
