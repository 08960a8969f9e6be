// Plans of the each pattern: pieces of consecutive elements, all tensors of the list in one launch.
#include <fmt/format.h>

#include <algorithm>
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
    for (std::size_t i = 0; i < call.contract->operands.size(); ++i) (tensor[i].present() ? given : lacking) |= 1u << i;
  }
  p.mixed = given & lacking;
  for (std::size_t i = 0; i < call.contract->operands.size() && machinery.variant == 3; ++i)
    if (call.contract->operands[i].optional) p.mixed |= given & 1u << i;
}

std::string words_of(const Call& call, const EachPlan& p) {
  std::string words;
  for (std::size_t i = 0; i < call.contract->operands.size(); ++i)
    if ((p.mixed >> i & 1u) != 0) words += fmt::format(", each asked for {}", call.contract->operands[i].name);
  return words;
}

}  // namespace

Result<Program> plan_each(const Call& call, const Record& record, const Machinery& machinery) {
  EachPlan p{};
  p.operands = static_cast<int>(call.contract->operands.size());
  choose_operands(call, machinery, p);
  p.zeros = zero_scalars(call);
  p.wide = machinery.variant == 2 ? 8 : 4;
  p.turns = machinery.variant == 3 ? 3 : 1;
  p.threads = machinery.variant == 1 ? 128 : 256;
  p.checked = record.checks;

  Program program;
  program.pattern = Pattern::each;
  program.arguments = arguments_of(call);
  program.tensors = TensorTable(call.contract->operands.size());
  program.checked = p.checked;
  std::int64_t pieces = 0;
  for (const Operands& operands : call.list) {
    program.tensors.add(operands, pieces);
    const std::int64_t piece = std::int64_t{p.threads} * p.wide * p.turns;
    pieces += (operands[0].elements() + piece - 1) / piece;
  }
  // A tensor without elements has no piece: the search for a piece's tensor takes the last that begins there.
  program.arguments.extent[0] = static_cast<std::int64_t>(program.tensors.size());
  program.arguments.extent[1] = pieces;
  const std::int64_t blocks = std::min<std::int64_t>(pieces, std::numeric_limits<int>::max());

  const auto add = [&](std::string_view suffix, std::string_view body, const EachPlan& plan, bool check) {
    Launch launch;
    launch.kernel = kernel_name(*call.contract, suffix);
    launch.plan =
        fmt::format("{} threads per block, {} times {} neighbouring elements each; {} tensors{}, {} pieces",
                    plan.threads, plan.turns, plan.wide, program.tensors.size(), words_of(call, plan), pieces);
    launch.block = plan.threads;
    launch.integer_atomics = check;
    launch.source = source_of(call, machinery, "each.h", text_of(plan), launch, body, 1);
    launch.work = blocks;
    launch.constants = plan;
    program.launches.push_back(std::move(launch));
  };
  if (p.checked) add("_check", "each_check_kernel<Definition, plan>", p, true);
  add("", "each_kernel<Definition, plan>", p, false);
  return program;
}

}  // namespace tokitai::device
