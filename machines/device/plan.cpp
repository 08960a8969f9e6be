#include "machines/device/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "compiler/compiler.h"
#include "contract/roles.h"
#include "machines/device/plan_parts.h"

namespace tokitai::device {

Kind kind_of(const View& view) {
  if (!view.present()) return Kind::absent;
  switch (view.type) {
    case Type::f16: return Kind::f16;
    case Type::bf16: return Kind::bf16;
    case Type::f32: return Kind::f32;
    case Type::i32: return Kind::i32;
    case Type::i64: return Kind::i64;
  }
  return Kind::absent;
}

std::uint64_t kinds_of(const Operands& operands) {
  std::uint64_t kinds = 0;
  for (std::size_t i = 0; i < operands.size(); ++i)
    kinds |= static_cast<std::uint64_t>(kind_of(operands[i])) << (4 * i);
  return kinds;
}

std::uint32_t zero_scalars(const Call& call) {
  std::uint32_t zeros = 0;
  for (std::size_t i = 0; i < call.scalars.size(); ++i)
    if (std::bit_cast<std::uint32_t>(call.scalars[i]) == 0) zeros |= 1u << i;
  return zeros;
}

Arguments arguments_of(const Call& call) {
  Arguments a{};
  static_assert(kOperands == kMaxOperands && kOptions == kMaxOptions && kScalars == kMaxScalars);
  const Operands& operands = sets_of(call).front();  // of a list, where it has what belongs to no tensor
  for (std::size_t i = 0; i < operands.size(); ++i)
    a.operand[i] = {operands[i].data, operands[i].rank >= 2 ? operands[i].row_stride : 1};
  for (std::size_t i = 0; i < call.scalars.size(); ++i) a.scalar[i] = call.scalars[i];
  for (std::size_t i = 0; i < call.options.size(); ++i) {
    a.option[i] = call.options[i].i;
    if (call.options[i].set) a.options_set |= std::uint64_t{1} << i;
  }
  return a;
}

int alignment_of(const View& view) {
  std::uint64_t bits = 16 | reinterpret_cast<std::uint64_t>(view.data);
  if (view.rank >= 2 && view.rows() > 1) bits |= static_cast<std::uint64_t>(view.row_stride) * size_of(view.type);
  return static_cast<int>(bits & (~bits + 1));
}

std::string kernel_name(const Contract& contract, std::string_view suffix) {
  std::string name(contract.name);
  std::replace(name.begin(), name.end(), '.', '_');
  return fmt::format("{}{}", name, suffix);
}

std::string source_of(const Call& call, const Machinery& machinery, std::string_view header, std::string_view plan,
                      const Launch& launch, std::string_view body, int resident) {
  const Operator& definition = *find_operator(*call.contract);
  std::string text = fmt::format(
      "{}#include \"machines/device/{}\"\n"
      "#include \"{}\"\n"
      "namespace tokitai::device {{\n"
      "using Definition = {};\n"
      "constexpr {};\n"
      "TK_KERNEL({}, {}) {}(TK_ARGUMENT {} arguments) {{ {}(arguments); }}\n"
      "}}  // namespace tokitai::device\n",
      launch.integer_atomics ? fmt::format("{}\n", compiler::kIntegerAtomicsMarker)
      : launch.hopper_sums   ? fmt::format("{}\n", compiler::kHopperSumsMarker)
                             : "",
      header, definition.folder->header, definition.definition, plan, launch.block, resident, launch.kernel,
      launch.maps.empty() ? "Arguments" : "MappedArguments", body);
  if (machinery.target.vendor != compiler::Vendor::amd) return text;
  // clang: everything may be called from a kernel, as NVRTC's -default-device says it.
  return "#pragma clang force_cuda_host_device begin\n" + text + "#pragma clang force_cuda_host_device end\n";
}

namespace {
std::string_view name_of(Guard guard) {
  switch (guard) {
    case Guard::none: return "Guard::none";
    case Guard::vectors: return "Guard::vectors";
    case Guard::elements: return "Guard::elements";
  }
  return "";
}
}  // namespace

std::string text_of(const RowPlan& p) {
  return fmt::format(
      "RowPlan plan{{.kinds = {:#x}, .staged = {:#x}, .ahead = {:#x}, .sums = {:#x}, .made = {:#x}, .zeros = {:#x}, "
      ".cols "
      "= {}, .wide = {}, .chunks = {}, .threads = {}, "
      ".teams = {}, .cluster = {}, .stages = {}, .access = {}, .guard = {}, .on_chip = {}, .blind = {}, .held = {}, "
      ".checked = {}, .finishes = {}}}",
      p.kinds, p.staged, p.ahead, p.sums, p.made, p.zeros, p.cols, p.wide, p.chunks, p.threads, p.teams, p.cluster,
      p.stages, p.access, name_of(p.guard), p.on_chip, p.blind, p.held, p.checked, p.finishes);
}
std::string text_of(const EachPlan& p) {
  return fmt::format(
      "EachPlan plan{{.kinds = {:#x}, .operands = {}, .mixed = {:#x}, .zeros = {:#x}, .wide = {}, .turns = {}, "
      ".threads = {}, .checked = {}, .checked_once = {}, .access = {}, .lanes = {}, .period = {}, .choices = {:#x}}}",
      p.kinds, p.operands, p.mixed, p.zeros, p.wide, p.turns, p.threads, p.checked, p.checked_once, p.access, p.lanes,
      p.period, p.choices);
}
std::string text_of(const ListSumPlan& p) {
  return fmt::format("ListSumPlan plan{{.kinds = {{{:#x}, {:#x}, {:#x}}}, .operands = {}, .bytes = {}, .threads = {}}}",
                     p.kinds[0], p.kinds[1], p.kinds[2], p.operands, p.bytes, p.threads);
}
std::string text_of(const SegmentPlan& p) {
  return fmt::format(
      "SegmentPlan plan{{.kinds = {:#x}, .wide = {}, .access = {}, .whole = {}, .threads = {}, .ahead = {}, "
      ".digit_bits = {}, "
      ".index = {}, .padding_option = {}, .padding = {}, .accumulate = {}, .gathers = {}}}",
      p.kinds, p.wide, p.access, p.whole, p.threads, p.ahead, p.digit_bits, p.index, p.padding_option, p.padding,
      p.accumulate, p.gathers);
}
std::string text_of(const TilePlan& p) {
  return fmt::format(
      "TilePlan plan{{.kinds = {:#x}, .rows = {}, .cols = {}, .inner = {}, .thread_rows = {}, .thread_cols = {}, "
      ".access = {{{}, {}, {}}}, .arithmetic = Arithmetic{{{}}}{}}}",
      p.kinds, p.rows, p.cols, p.inner, p.thread_rows, p.thread_cols, p.access[0], p.access[1], p.access[2],
      static_cast<int>(p.arithmetic), p.offsets < 0 ? "" : fmt::format(", .offsets = {}", p.offsets));
}

std::string text_of(const ProductPlan& p) {
  return fmt::format(
      "ProductPlan plan{{.kinds = {:#x}, .arithmetic = Arithmetic{{{}}}, .cols = {}, .slots = {}, .cluster_rows = {}, "
      ".cluster_cols = {}, .band = {}, .boxes = {}, .boxed = {}, .result = {}, .two_sums = {}{}}}",
      p.kinds, static_cast<int>(p.arithmetic), p.cols, p.slots, p.cluster_rows, p.cluster_cols, p.band, p.boxes,
      p.boxed, p.result, p.two_sums,
      p.grouped == Grouped::no
          ? ""
          : fmt::format(", .grouped = Grouped{{{}}}, .offsets = {}", static_cast<int>(p.grouped), p.offsets));
}
std::string text_of(const PackPlan& p) {
  return fmt::format(
      "PackPlan plan{{.kinds = {:#x}, .arithmetic = Arithmetic{{{}}}, .packed = {{{}, {}}}, .aligned = {{{}, {}}}{}}}",
      p.kinds, static_cast<int>(p.arithmetic), p.packed[0], p.packed[1], p.aligned[0], p.aligned[1],
      p.grouped == Grouped::no
          ? ""
          : fmt::format(", .grouped = Grouped{{{}}}, .slot_rows = {}", static_cast<int>(p.grouped), p.slot_rows));
}
std::string text_of(const SlotPlan& p) {
  return fmt::format("SlotPlan plan{{.kinds = {:#x}, .offsets = {}, .slot_rows = {}}}", p.kinds, p.offsets,
                     p.slot_rows);
}

std::string text_of(const FragmentPlan& p) {
  return fmt::format(
      "FragmentPlan plan{{.kinds = {:#x}, .fragment = Fragment{{{}}}, .cols = {}, .stages = {}, .band = {}, .access = "
      "{}}}",
      p.kinds, static_cast<int>(p.fragment), p.cols, p.stages, p.band, p.access);
}

std::vector<Text> built_in_headers();  // made by the build

namespace {
std::vector<Text> all_headers() {
  std::vector<Text> all = built_in_headers();
  for (const auto& folder : operator_folders()) all.push_back({folder->header, folder->definition});
  return all;
}
}  // namespace

std::vector<Text> device_headers() {
  std::vector<Text> chosen = all_headers();
  std::erase_if(chosen, [](const Text& t) { return t.name.starts_with("machines/lockstep/"); });
  return chosen;
}
std::vector<Text> lockstep_headers() {
  std::vector<Text> chosen = all_headers();
  std::erase_if(chosen, [](const Text& t) { return t.name.find('/') == std::string_view::npos; });
  return chosen;
}

Answer answer_of(Pattern pattern, std::uint64_t flag) {
  // As the patterns write it: each.h, each_tensor.h, segment.h.
  constexpr std::uint64_t kTooMany = std::uint64_t{1} << 63, kRowRefused = kTooMany,
                          kPositions = (std::uint64_t{1} << 40) - 1;
  if (flag == kUnflagged) return {};
  if (flag == kCalledOff) return {Answer::skipped, kByTheCall, kByTheCall};
  if (pattern == Pattern::each && (flag & kRowRefused) != 0)
    return {Answer::refused, static_cast<std::int64_t>(flag & ~kRowRefused)};
  if (pattern == Pattern::each)
    return {Answer::skipped, static_cast<std::int64_t>(flag & kPositions), static_cast<std::int64_t>(flag >> 40)};
  if ((flag & kTooMany) != 0) return {Answer::too_many, static_cast<std::int64_t>(flag & ~kTooMany)};
  return {Answer::refused, static_cast<std::int64_t>(flag)};
}

namespace {
Result<Program> plan_with(const Record& record, const Call& call, const Machinery& machinery) {
  switch (record.pattern) {
    case Pattern::each: return plan_each(call, record, machinery);
    case Pattern::list_sum: return plan_list_sum(call, machinery);
    case Pattern::row: return plan_row(call, record, machinery);
    case Pattern::segment: return plan_segment(call, record, machinery);
    case Pattern::tile: return plan_tile(call, record, machinery);
  }
  return Status(Code::internal, "no such pattern");
}
}  // namespace

Result<Program> plan(const Call& call, const Machinery& machinery) {
  const Operator* found = find_operator(*call.contract);
  if (found == nullptr)
    return Status(Code::internal, fmt::format("{} has no definition for GPUs", call.contract->name));
  const Record record = found->describe(call);
  Result<Program> program = plan_with(record, call, machinery);
  if (program.ok()) program->refuses = program->checked && (record.pattern != Pattern::each || record.asks_rows);
  // Kernels that come second wait for the first themselves.
  if (program.ok())
    for (std::size_t i = 1; i < program->launches.size(); ++i) program->launches[i].follows = machinery.target.clusters;
  return program;
}

}  // namespace tokitai::device
