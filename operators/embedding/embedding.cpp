// Embedding's contracts and calls.
#include "tokitai/embedding.h"

#include <fmt/format.h>

#include "contract/build.h"
#include "patterns/segment.h"

namespace tokitai {
namespace embedding {
namespace {

std::string refusal(const Call& call, std::int64_t position) {
  const IndexRange range(call, describe(call));
  const std::string padded = range.padding.set ? fmt::format(", or equal padding_index {}", range.padding.i) : "";
  return fmt::format("{}: index[{}] = {}; it must be in [0, {}){}", call.contract->name, position, range.at(position),
                     range.rows, padded);
}

Status prepare_backward(Call& call) {
  const View& dweight = call.operand(2);
  if (call.option(2).i != 0 && dweight.type != Type::f32)
    return Status::invalid(fmt::format("{}: dweight has type {}; to accumulate into it must be f32",
                                       call.contract->name, name_of(dweight.type)));
  return {};
}

}  // namespace

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "embedding.forward",
       .summary = "Row index[i] of the weights, for each i.",
       .formula = "y[i,:] = weight[index[i],:]; zeros where index[i] is padding_index",
       .ensures = {{Guarantee::exact_copy, "every bit of each row read, NaN payloads included"}},
       .determinism = "the same bits on every device, for any thread count and any batch around a query",
       .edges = {"An index out of range is refused, naming the first; nothing is then written.",
                 "padding_index is asked before the range."},
       .non_claims = {"Nothing is said of the values copied: NaNs and infinities pass as they are."},
       .operands = {{"weight", in, storage, {"vocab", "dim"}, "the table"},
                    {"index", in, index, {"queries"}, "rows to read"},
                    {"y", out, storage, {"queries", "dim"}, "the rows read"}},
       .options = {{"padding_index", OptionKind::integer, option_unset(), "an integer", nullptr, "reads as zeros"}},
       .conditions = {"each index is in [0, vocab) or equals padding_index; else the first that is not is named"},
       .batch = "queries",
       .refusal = refusal},
      {.name = "embedding.backward",
       .summary = "For each row of the table, the sum of the gradients of the places that read it.",
       .formula =
           "dweight[v,:] = RN(sum of dy[i,:] over index[i]==v), exact in f16, by the column rule in ascending i in "
           "bf16 and f32; accumulate: dweight + f32(sum), one addition",
       .ensures = {{Guarantee::correctly_rounded, "without accumulate, each sum is exact and rounded once", "f16"},
                   {Guarantee::reproducible, "each sum is chained by the column rule in ascending order", "bf16 f32"},
                   {Guarantee::reproducible,
                    "with accumulate, the sum is rounded to f32 and then added to what dweight held: two roundings"}},
       .determinism = "the same bits on every device and for any thread count; a row of dweight depends on the places "
                      "that read it, with accumulate on what it held, and on nothing else",
       .edges = {("Rows nobody asked for are +0; with accumulate they stay as they are, but for -0, which becomes +0, "
                  "and NaNs, which become canonical."),
                 "A zero sum is +0.", "A NaN, or both infinities, make a sum NaN (canonical).",
                 ("Infinities of one sign make a sum that infinity; in bf16 and f32 not where finite terms before them "
                  "overflow to the other."),
                 "An f16 sum beyond the range of f16 is infinite where it is stored as f16."},
       .non_claims = {"bf16 and f32 sums are not exact."},
       .operands =
           {{"dy", in, storage, {"queries", "dim"}, "gradient of the output"},
            {"index", in, index, {"queries"}, "rows that were read"},
            {"dweight", out, storage_or_f32, {"vocab", "dim"}, "gradient of the table", false, {}, "accumulate"}},
       .options = {{"vocab", OptionKind::integer, option_unset(), ">= 1", [](const Option& o) { return o.i >= 1; },
                    "rows of dweight, where it does not tell"},
                   {"padding_index", OptionKind::integer, option_unset(), "an integer", nullptr,
                    "receives no gradient"},
                   {"accumulate", OptionKind::flag, option_integer(0), "0 or 1", option::flag,
                    "add into dweight (f32)"}},
       .conditions = {"each index is in [0, vocab) or equals padding_index; else the first that is not is named",
                      "in f16 no index occurs more than 2^23 times; else the smallest that does is named",
                      "with accumulate dweight is f32"},
       .batch = "dim",
       .prepare = prepare_backward,
       .refusal = refusal},
  };
  return all;
}

}  // namespace embedding

namespace {
Option optional_integer(const std::optional<std::int64_t>& value) {
  return value ? option_integer(*value) : option_unset();
}
}  // namespace

Call bind(const EmbeddingForward& a) {
  return make_call("embedding.forward", {unconst(a.weight), unconst(a.index), a.y},
                   {optional_integer(a.padding_index)});
}
Status embedding_forward(Device& device, const EmbeddingForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const EmbeddingBackward& a) {
  return make_call("embedding.backward", {unconst(a.dy), unconst(a.index), a.dweight},
                   {option_unset(), optional_integer(a.padding_index), option_integer(a.accumulate ? 1 : 0)});
}
Status embedding_backward(Device& device, const EmbeddingBackward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
