// Grouped products' contracts and calls.
#include "tokitai/grouped.h"

#include <fmt/format.h>

#include "contract/build.h"
#include "patterns/groups.h"

namespace tokitai {
namespace grouped {

namespace {

// Hopper's tensor cores take f16 and bf16.
Status prepare(Call& call) {
  const int option = call.contract->option_index("arithmetic");
  if (call.storage != Type::f32 || call.option(option).i != static_cast<std::int64_t>(GroupedArithmetic::hopper))
    return {};
  return Status::invalid(fmt::format("{}: arithmetic = hopper takes f16 and bf16, not f32; chain and block15 take f32",
                                     call.contract->name));
}

std::string refusal(const Call& call, std::int64_t position) {
  const Groups groups(call, describe(call));
  const std::int64_t at = groups.offset(position);
  const auto say = [&](const std::string& what) {
    return fmt::format("{}: offsets[{}] = {}; {}", call.contract->name, position, at, what);
  };
  if (position == 0) return say("the first must be 0");
  if (at < groups.offset(position - 1))
    return say(fmt::format("it must be at least offsets[{}] = {}", position - 1, groups.offset(position - 1)));
  return say(at > groups.rows ? fmt::format("it must be at most the {} rows", groups.rows)
                              : fmt::format("the last must be the {} rows", groups.rows));
}

}  // namespace

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  const std::vector<Promise> ensures = {
      {Guarantee::reproducible,
       "the bits of gemm's operator of the same name on each group's rows and its factor, whatever lies beside them"},
      {Guarantee::reproducible,
       "each output is added up along the contracted index in its arithmetic, from what it starts with or +0, and "
       "rounded once"},
      {Guarantee::reproducible,
       "chain is one fma for each product, the contracted index ascending; block15 is one fma for each sum "
       "of 128 products of 15-bit integers, exact but for the products of their low parts, which are left "
       "out; hopper is Hopper's tensor-core addition of 16 products at a time (docs/products.md)"},
      kBoundPromise,
      kChainBound,
      kBlock15Bound,
      kHopperBound};
  const std::string_view determinism =
      "the same bits on every device and for any thread count; a group's outputs depend on its own rows and factor "
      "alone";
  const std::vector<std::string_view> edges = {
      "Groups may be empty.",
      ("Offsets that do not ascend from 0 to the number of rows are refused, naming the first position that is wrong; "
       "nothing is then written."),
      ("NaN and infinity spread as the arithmetic says; in block15 a block of 128 that holds a NaN, an infinity or a "
       "magnitude of 2^64 and more makes every output that it touches NaN."),
      "NaN results are canonical.",
      ("A finite product that takes a chain out of the range of f32, or an "
       "end beyond that of its type, gives infinity, which stays unless a NaN "
       "or the other infinity follows."),
      ("Subnormals are kept, but in block15 what is below 2^-15 of its block's largest magnitude, or below 2^-77, is "
       "0.")};
  std::vector<std::string_view> edges_of_sums = edges;
  edges_of_sums.push_back("Of an empty group db is +0, or what it starts with, rounded.");
  const std::vector<std::string_view> non_claims = {
      "In block15 an outlier whose partner is small hides the rest of its block of 128: the error is relative to the "
      "largest magnitudes of both blocks.",
      kBoundOfData};
  const OptionSpec arithmetic{"arithmetic",
                              OptionKind::choice,
                              option_integer(0),
                              "",
                              nullptr,
                              "how one output is added up",
                              false,
                              {"chain", "block15", "hopper"}};
  const OperandSpec offsets{.name = "offsets",
                            .role = in,
                            .type = index,
                            .shape = {"groups+1"},
                            .text = "group g has the rows from offsets[g] up to offsets[g + 1]",
                            .ascend_to = "m"};
  const std::vector<std::string_view> conditions = {
      "offsets ascend, the first is 0 and the last m; else the first that is wrong is named",
      "where arithmetic is hopper, the storage type is f16 or bf16"};
  static const Contract all[] = {
      {.name = "grouped.forward",
       .summary = "C = A B for each group of rows, with a B of its own, from C0 where it is given.",
       .formula = "c[i,j] = RN(c0[i,j] + sum over k of a[i,k] b[g,k,j], in the arithmetic), where row i is of group g",
       .ensures = ensures,
       .determinism = determinism,
       .edges = edges,
       .non_claims = non_claims,
       .operands = {{"a", in, storage, {"m", "k"}, "left factors, rows sorted by group"},
                    {"b", in, storage, {"groups", "k", "n"}, "a right factor per group"},
                    {"c", out, storage_or_f32, {"m", "n"}, "products", false, "c0"},
                    offsets,
                    {"c0", in, f32, {"m", "n"}, "what the sums start with; +0 where it is not given", true}},
       .options = {arithmetic},
       .conditions = conditions,
       .batch = "n",
       .prepare = prepare,
       .refusal = refusal},
      {.name = "grouped.grad_a",
       .summary = "Gradient of grouped.forward with respect to A: dC times B transposed, for each group of rows.",
       .formula =
           "da[i,k] = RN(da0[i,k] + sum over j of dc[i,j] b[g,k,j], in the arithmetic), where row i is of group g",
       .ensures = ensures,
       .determinism = determinism,
       .edges = edges,
       .non_claims = non_claims,
       .operands = {{"dc", in, storage, {"m", "n"}, "gradient of the products, rows sorted by group"},
                    {"b", in, storage, {"groups", "k", "n"}, "a right factor per group"},
                    {"da", out, storage_or_f32, {"m", "k"}, "gradient of A", false, "da0"},
                    offsets,
                    {"da0", in, f32, {"m", "k"}, "what the sums start with; +0 where it is not given", true}},
       .options = {arithmetic},
       .conditions = conditions,
       .prepare = prepare,
       .refusal = refusal},
      {.name = "grouped.grad_b",
       .summary = "Gradient of grouped.forward with respect to B: A transposed times dC, for each group of rows.",
       .formula = "db[g,k,j] = RN(db0[g,k,j] + sum over the rows i of group g of a[i,k] dc[i,j], in the arithmetic, "
                  "counted from the group's first row)",
       .ensures = ensures,
       .determinism = determinism,
       .edges = edges_of_sums,
       .non_claims = non_claims,
       .operands = {{"dc", in, storage, {"m", "n"}, "gradient of the products, rows sorted by group"},
                    {"a", in, storage, {"m", "k"}, "left factors, rows sorted by group"},
                    {"db", out, storage_or_f32, {"groups", "k", "n"}, "gradient of B", false, "db0"},
                    offsets,
                    {"db0", in, f32, {"groups", "k", "n"}, "what the sums start with; +0 where it is not given", true}},
       .options = {arithmetic},
       .conditions = conditions,
       .batch = "n",
       .prepare = prepare,
       .refusal = refusal},
  };
  return all;
}

}  // namespace grouped

namespace {
Option option_of(GroupedArithmetic arithmetic) { return option_integer(static_cast<std::int64_t>(arithmetic)); }
}  // namespace

Call bind(const GroupedForward& a) {
  return make_call("grouped.forward", {unconst(a.a), unconst(a.b), a.c, unconst(a.offsets), unconst(a.c0)},
                   {option_of(a.arithmetic)});
}
Status grouped_forward(Device& device, const GroupedForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const GroupedGradA& a) {
  return make_call("grouped.grad_a", {unconst(a.dc), unconst(a.b), a.da, unconst(a.offsets), unconst(a.da0)},
                   {option_of(a.arithmetic)});
}
Status grouped_grad_a(Device& device, const GroupedGradA& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const GroupedGradB& a) {
  return make_call("grouped.grad_b", {unconst(a.dc), unconst(a.a), a.db, unconst(a.offsets), unconst(a.db0)},
                   {option_of(a.arithmetic)});
}
Status grouped_grad_b(Device& device, const GroupedGradB& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
