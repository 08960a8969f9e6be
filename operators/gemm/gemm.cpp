// GEMM's contracts and calls.
#include "tokitai/gemm.h"

#include <fmt/format.h>

#include "contract/build.h"

namespace tokitai {
namespace gemm {

namespace {

// Hopper's tensor cores take f16 and bf16.
Status prepare(Call& call) {
  const int option = call.contract->option_index("arithmetic");
  if (call.storage != Type::f32 || call.option(option).i != static_cast<std::int64_t>(GemmArithmetic::hopper))
    return {};
  return Status::invalid(fmt::format("{}: arithmetic = hopper takes f16 and bf16, not f32; chain and block15 take f32",
                                     call.contract->name));
}

}  // namespace

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  const std::vector<Promise> ensures = {
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
  const std::string_view determinism = "the same bits on every device, for any thread count and any batch";
  const std::vector<std::string_view> edges = {
      "NaN and infinity spread as the arithmetic says; in block15 a block of 128 that holds a NaN, an infinity or a "
      "magnitude of 2^64 and more makes every output that it touches NaN.",
      "NaN results are canonical.",
      ("A finite product that takes a chain out of the range of f32, or an "
       "end beyond that of its type, gives infinity, which stays unless a NaN "
       "or the other infinity follows."),
      "Subnormals are kept, but in block15 what is below 2^-15 of its block's largest magnitude, or below 2^-77, is "
      "0."};
  const std::vector<std::string_view> non_claims = {
      "On a GPU chain runs on the ordinary fma units, about 14 times slower than tensor cores.",
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
  const std::vector<std::string_view> conditions = {"where arithmetic is hopper, the storage type is f16 or bf16"};
  static const Contract all[] = {
      {.name = "gemm.forward",
       .summary = "C = A B, from C0 where it is given, plus a bias.",
       .formula = "c[i,j] = RN(c0[i,j] + sum over k of a[i,k] b[k,j], in the arithmetic; + bias[j])",
       .ensures = ensures,
       .determinism = determinism,
       .edges = edges,
       .non_claims = non_claims,
       .operands = {{"a", in, storage, {"m", "k"}, "left factor"},
                    {"b", in, storage, {"k", "n"}, "right factor"},
                    {"c", out, storage_or_f32, {"m", "n"}, "product", false, "c0"},
                    {"c0", in, f32, {"m", "n"}, "what the sums start with; +0 where it is not given", true},
                    {"bias", in, storage_or_f32, {"n"}, "added to each row of f32 sums before the rounding", true}},
       .options = {arithmetic},
       .conditions = conditions,
       .batch = "m",
       .prepare = prepare},
      {.name = "gemm.grad_a",
       .summary = "Gradient of gemm.forward with respect to A: dC times B transposed.",
       .formula = "da[i,k] = RN(da0[i,k] + sum over j of dc[i,j] b[k,j], in the arithmetic)",
       .ensures = ensures,
       .determinism = determinism,
       .edges = edges,
       .non_claims = non_claims,
       .operands = {{"dc", in, storage, {"m", "n"}, "gradient of the product"},
                    {"b", in, storage, {"k", "n"}, "right factor"},
                    {"da", out, storage_or_f32, {"m", "k"}, "gradient of A", false, "da0"},
                    {"da0", in, f32, {"m", "k"}, "what the sums start with; +0 where it is not given", true}},
       .options = {arithmetic},
       .conditions = conditions,
       .batch = "m",
       .prepare = prepare},
      {.name = "gemm.grad_b",
       .summary = "Gradient of gemm.forward with respect to B: A transposed times dC.",
       .formula = "db[k,j] = RN(db0[k,j] + sum over i of a[i,k] dc[i,j], in the arithmetic)",
       .ensures = ensures,
       .determinism = determinism,
       .edges = edges,
       .non_claims = non_claims,
       .operands = {{"dc", in, storage, {"m", "n"}, "gradient of the product"},
                    {"a", in, storage, {"m", "k"}, "left factor"},
                    {"db", out, storage_or_f32, {"k", "n"}, "gradient of B", false, "db0"},
                    {"db0", in, f32, {"k", "n"}, "what the sums start with; +0 where it is not given", true}},
       .options = {arithmetic},
       .conditions = conditions,
       .batch = "k",
       .prepare = prepare},
  };
  return all;
}

}  // namespace gemm

namespace {
Option option_of(GemmArithmetic arithmetic) { return option_integer(static_cast<std::int64_t>(arithmetic)); }
}  // namespace

Call bind(const GemmForward& a) {
  return make_call("gemm.forward", {unconst(a.a), unconst(a.b), a.c, unconst(a.c0), unconst(a.bias)},
                   {option_of(a.arithmetic)});
}
Status gemm_forward(Device& device, const GemmForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const GemmGradA& a) {
  return make_call("gemm.grad_a", {unconst(a.dc), unconst(a.b), a.da, unconst(a.da0)}, {option_of(a.arithmetic)});
}
Status gemm_grad_a(Device& device, const GemmGradA& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const GemmGradB& a) {
  return make_call("gemm.grad_b", {unconst(a.dc), unconst(a.a), a.db, unconst(a.db0)}, {option_of(a.arithmetic)});
}
Status gemm_grad_b(Device& device, const GemmGradB& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
