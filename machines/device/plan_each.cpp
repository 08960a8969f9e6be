// Plans of the each pattern: pieces of consecutive elements, all tensors of a list in one launch; a single tensor
// without a table of tensors, by its rows where they lie apart.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "machines/device/plan_parts.h"

namespace tokitai::device {
namespace {

// What the list's tensors have, all of them together: none speaks for another. Those without elements say nothing.
void choose_operands(const Call& call, const Machinery& machinery, EachPlan& p) {
  std::uint32_t given = 0, lacking = 0;
  for (const Operands& tensor : call.list) {
    if (tensor[0].elements() == 0) continue;
    p.kinds |= kinds_of(tensor);  // an operand has one type in all of them
    for (int i = 0; i < p.operands; ++i) (tensor[static_cast<std::size_t>(i)].present() ? given : lacking) |= 1u << i;
  }
  p.mixed = given & lacking;
  for (int i = 0; i < p.operands && machinery.variant == 3; ++i)
    if (call.contract->operands[static_cast<std::size_t>(i)].optional) p.mixed |= given & 1u << i;
  // What the call has once lies with the first tensor, even if that has no elements.
  p.kinds |= kinds_of(call.list.front()) >> (4 * p.operands) << (4 * p.operands);
}

std::string words_of(const Call& call, const EachPlan& p) {
  std::string words;
  for (std::size_t i = 0; i < call.contract->operands.size(); ++i)
    if ((p.mixed >> i & 1u) != 0) words += fmt::format(", each asked for {}", call.contract->operands[i].name);
  return words;
}

// Flags and choices are few values: a kernel is made for each, and the other branches are not in it.
std::uint64_t choices_of(const Call& call) {
  std::uint64_t choices = 0;
  for (std::size_t i = 0; i < call.contract->options.size(); ++i) {
    const OptionKind kind = call.contract->options[i].kind;
    if (kind != OptionKind::flag && kind != OptionKind::choice) continue;
    choices |= static_cast<std::uint64_t>(call.options[i].i + 1) << (4 * i);
  }
  return choices;
}

Launch launch_of(const Call& call, const Machinery& machinery, std::string_view suffix, std::string_view header,
                 std::string_view kernel, const EachPlan& plan, const std::string& words, std::int64_t blocks) {
  Launch launch;
  launch.kernel = kernel_name(*call.contract, suffix);
  launch.plan = words;
  launch.block = plan.threads;
  launch.integer_atomics = !suffix.empty() || plan.checked_once;  // a check's flag
  launch.source =
      source_of(call, machinery, header, text_of(plan), launch, fmt::format("{}<Definition, plan>", kernel), 1);
  launch.work = std::min<std::int64_t>(blocks, std::numeric_limits<int>::max());
  launch.constants = plan;
  return launch;
}

Program plan_list(const Call& call, const Machinery& machinery, const Record& record) {
  EachPlan p{};
  p.operands = static_cast<int>(call.contract->tensor_operands());
  choose_operands(call, machinery, p);
  p.zeros = zero_scalars(call);
  p.wide = machinery.variant == 2 ? 8 : 4;
  p.turns = machinery.variant == 3 ? 3 : 1;
  p.threads = machinery.variant == 1 ? 128 : 256;
  p.checked = record.checks;
  p.checked_once = record.checks_once;

  Program program;
  program.pattern = Pattern::each;
  program.arguments = arguments_of(call);
  program.tensors = TensorTable(call.contract->tensor_operands());
  program.checked = p.checked || p.checked_once;
  std::int64_t pieces = 0;
  for (const Operands& operands : call.list) {
    program.tensors.add(operands, pieces);
    const std::int64_t piece = std::int64_t{p.threads} * p.wide * p.turns;
    pieces += (operands[0].elements() + piece - 1) / piece;
  }
  // A tensor without elements has no piece: the search for a piece's tensor takes the last that begins there.
  program.arguments.extent[0] = static_cast<std::int64_t>(program.tensors.size());
  program.arguments.extent[1] = pieces;
  const std::string words =
      fmt::format("{} threads per block, {} times {} neighbouring elements each; {} tensors{}, {} pieces", p.threads,
                  p.turns, p.wide, program.tensors.size(), words_of(call, p), pieces);
  if (p.checked)
    program.launches.push_back(launch_of(call, machinery, "_check", "each.h", "each_check_kernel", p, words, pieces));
  program.launches.push_back(launch_of(call, machinery, "", "each.h", "each_kernel", p, words, pieces));
  return program;
}

// Whether the rows of all operands follow each other without gaps.
bool one_row(const Call& call) {
  return std::all_of(call.operands.begin(), call.operands.end(),
                     [](const View& v) { return v.rank != 2 || v.rows() == 1 || v.row_stride == v.cols(); });
}

Program plan_tensor(const Call& call, const Machinery& machinery, const Record& record) {
  const View& shape = call.operand(0);
  EachPlan p{};
  p.kinds = kinds_of(call.operands);
  p.zeros = zero_scalars(call);
  p.choices = choices_of(call);
  p.checked = record.checks || record.asks_rows;
  p.threads = machinery.variant == 1 ? 256 : 128;  // gelu takes 4 % longer in blocks of 256
  const bool apart = record.table >= 0 || !one_row(call);
  p.access = 16;
  int largest = 2;  // bytes of an element
  for (const View& v : call.operands) {
    if (!v.present() || v.type == Type::i32 || v.type == Type::i64) continue;
    p.access = std::min(p.access, alignment_of(apart ? v : View{v.data, v.type, 1, {v.elements(), 1}, 1, {}}));
    largest = std::max(largest, static_cast<int>(size_of(v.type)));
  }
  // An access of 16 bytes of the widest operand, or neighbours' accesses lie apart: f16 to f32 took 1.5 times as long
  // with eight elements of a thread. Two vectors at once hide less latency than they cost in registers: swiglu took 1.3
  // times as long, add 1.1.
  p.wide = (largest == 2) == (machinery.variant != 2) ? 8 : 4;
  p.turns = machinery.variant == 3 ? 2 : 1;
  std::int64_t cols = shape.cols();
  if (record.table >= 0) {
    cols /= 2;
    p.period = static_cast<int>(call.operand(record.table).cols());
    while (p.period % p.wide != 0) p.wide /= 2;
  }

  Program program;
  program.pattern = Pattern::each;
  program.arguments = arguments_of(call);
  program.checked = p.checked;
  std::int64_t blocks = 0;
  std::string words;
  if (!apart) {
    const std::int64_t piece = std::int64_t{p.threads} * p.wide * p.turns;
    blocks = (shape.elements() + piece - 1) / piece;
    program.arguments.extent[0] = shape.elements();
    program.arguments.extent[1] = blocks;
    words =
        fmt::format("{} threads per block, {} x {} neighbouring elements each at once, {} bytes per access; {} pieces",
                    p.threads, p.turns, p.wide, p.access, blocks);
  } else {
    const std::int64_t shares = (cols + std::int64_t{p.wide} * p.turns - 1) / (std::int64_t{p.wide} * p.turns);
    p.lanes = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(shares, p.threads))));
    const int teams = p.threads / p.lanes;
    blocks = (shape.rows() + teams - 1) / teams;
    program.arguments.extent[0] = shape.rows();
    program.arguments.extent[1] = cols;
    if (record.table >= 0) program.arguments.extent[2] = call.operand(record.table).rows();
    words = fmt::format(
        "{} threads per block, {} per row, {} x {} neighbouring {} each at once, {} bytes per access; {} rows",
        p.threads, p.lanes, p.turns, p.wide, p.period != 0 ? "pairs" : "elements", p.access, shape.rows());
  }
  const auto add = [&](std::string_view suffix, std::string_view kernel, std::int64_t count) {
    program.launches.push_back(launch_of(call, machinery, suffix, "each_tensor.h", kernel, p, words, count));
  };
  if (record.asks_rows) add("_rows", "each_rows_check_kernel", (shape.rows() + p.threads - 1) / p.threads);
  if (record.checks) add("_check", "each_tensor_check_kernel", blocks);
  add("", "each_tensor_kernel", blocks);
  return program;
}

}  // namespace

Result<Program> plan_each(const Call& call, const Record& record, const Machinery& machinery) {
  return call.contract->list ? plan_list(call, machinery, record) : plan_tensor(call, machinery, record);
}

}  // namespace tokitai::device
