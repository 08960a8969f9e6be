// What the planners of the five patterns share.
#pragma once
#include <optional>
#include <string>

#include "machines/device/kinds.h"
#include "machines/device/plan.h"
#include "machines/device/plans.h"

namespace tokitai::device {

// Rows, columns and groups of a product whose places are 32-bit numbers, to the copy engine or in the table of groups.
inline constexpr std::int64_t kMostExtent = (std::int64_t{1} << 31) - 65536;

Kind kind_of(const View& view);
std::uint64_t kinds_of(const Operands& operands);
// The scalars that are +0: constants for the compiler.
std::uint32_t zero_scalars(const Call& call);
Arguments arguments_of(const Call& call);
// The largest power of two up to 16 that divides the address and, where there are several, the distance of rows.
int alignment_of(const View& view);

// The main text of a launch whose name, block and atomics are set: its body is a kernel template over `Definition`
// and `plan`.
std::string source_of(const Call& call, const Machinery& machinery, std::string_view header, std::string_view plan,
                      const Launch& launch, std::string_view body, int resident);
std::string kernel_name(const Contract& contract, std::string_view suffix);

std::string text_of(const RowPlan& plan);
std::string text_of(const EachPlan& plan);
std::string text_of(const ListSumPlan& plan);
std::string text_of(const SegmentPlan& plan);
std::string text_of(const TilePlan& plan);
std::string text_of(const ProductPlan& plan);
std::string text_of(const PackPlan& plan);
std::string text_of(const SlotPlan& plan);
std::string text_of(const FragmentPlan& plan);

Result<Program> plan_row(const Call& call, const Record& record, const Machinery& machinery);
Result<Program> plan_each(const Call& call, const Record& record, const Machinery& machinery);
Result<Program> plan_list_sum(const Call& call, const Machinery& machinery);
Result<Program> plan_segment(const Call& call, const Record& record, const Machinery& machinery);
Result<Program> plan_tile(const Call& call, const Record& record, const Machinery& machinery);
// What asks the offsets of groups, before any other launch, and numbers their slots where they have some.
Launch plan_slots(const Call& call, const Machinery& machinery, const SlotPlan& plan);
// By matrix instructions; none where the arithmetic or the target has none.
std::optional<Program> plan_product(const Call& call, const Record& record, const Machinery& machinery);
// Behind the packing of both factors as integers, where waves multiply bytes by themselves.
Launch fragment_launch(const Call& call, const Record& record, const Machinery& machinery);

}  // namespace tokitai::device
