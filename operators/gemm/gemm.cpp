// GEMM's contracts and calls.
#include "tokitai/gemm.h"

#include "contract/build.h"

namespace tokitai {
namespace gemm {

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  const Promise promise{Guarantee::reproducible,
                        "each output is one fma chain from +0 in ascending inner index, rounded once"};
  const std::string_view determinism = "the same bits on every device, for any thread count and any batch";
  const std::vector<std::string_view> edges = {"NaN and infinity spread as the chain says.",
                                               "NaN results are canonical.",
                                               ("A finite product that takes a chain out of the range of f32, or an "
                                                "end beyond that of its type, gives infinity, which stays unless a NaN "
                                                "or the other infinity follows."),
                                               "Subnormals are kept."};
  const std::vector<std::string_view> non_claims = {
      "Not the speed of tensor cores: on a GPU the canonical order runs on the ordinary fma units, about 14 times "
      "slower.",
      kBoundOfData};
  static const Contract all[] = {
      {.name = "gemm.forward",
       .summary = "C = A B.",
       .formula = "c[i,j] = RN(chain over k of fma(a[i,k], b[k,j], acc))",
       .ensures = {promise, kBoundPromise, kChainBound},
       .determinism = determinism,
       .edges = edges,
       .non_claims = non_claims,
       .operands = {{"a", in, storage, {"m", "k"}, "left factor"},
                    {"b", in, storage, {"k", "n"}, "right factor"},
                    {"c", out, storage_or_f32, {"m", "n"}, "product"}},
       .options = {},
       .batch = "m"},
      {.name = "gemm.grad_a",
       .summary = "Gradient of gemm.forward with respect to A: dC times B transposed.",
       .formula = "da[i,k] = RN(chain over j of fma(dc[i,j], b[k,j], acc))",
       .ensures = {promise, kBoundPromise, kChainBound},
       .determinism = determinism,
       .edges = edges,
       .non_claims = non_claims,
       .operands = {{"dc", in, storage, {"m", "n"}, "gradient of the product"},
                    {"b", in, storage, {"k", "n"}, "right factor"},
                    {"da", out, storage_or_f32, {"m", "k"}, "gradient of A"}},
       .options = {},
       .batch = "m"},
      {.name = "gemm.grad_b",
       .summary = "Gradient of gemm.forward with respect to B: A transposed times dC.",
       .formula = "db[k,j] = RN(chain over i of fma(a[i,k], dc[i,j], acc))",
       .ensures = {promise, kBoundPromise, kChainBound},
       .determinism = determinism,
       .edges = edges,
       .non_claims = non_claims,
       .operands = {{"dc", in, storage, {"m", "n"}, "gradient of the product"},
                    {"a", in, storage, {"m", "k"}, "left factor"},
                    {"db", out, storage_or_f32, {"k", "n"}, "gradient of B"}},
       .options = {},
       .batch = "k"},
  };
  return all;
}

}  // namespace gemm

Call bind(const GemmForward& a) { return make_call("gemm.forward", {unconst(a.a), unconst(a.b), a.c}); }
Status gemm_forward(Device& device, const GemmForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const GemmGradA& a) { return make_call("gemm.grad_a", {unconst(a.dc), unconst(a.b), a.da}); }
Status gemm_grad_a(Device& device, const GemmGradA& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const GemmGradB& a) { return make_call("gemm.grad_b", {unconst(a.dc), unconst(a.a), a.db}); }
Status gemm_grad_b(Device& device, const GemmGradB& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
