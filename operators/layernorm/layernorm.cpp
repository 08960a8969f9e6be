// LayerNorm's contracts and calls.
#include "tokitai/layernorm.h"

#include "contract/build.h"

namespace tokitai {
namespace layernorm {

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "layernorm.forward",
       .summary = "Normalises each row to mean 0 and variance 1, then scales and shifts each column.",
       .formula = "mean = rowsum(x)/n; d = x-mean; var = rowsum fma(d,d) / n; rstd = 1/sqrt(var+eps); "
                  "y = RN(fma(d*rstd, gamma, beta))",
       .ensures = {kFormulaPromise, kBoundPromise, kRowSumBound},
       .determinism = "the same bits on every device, for any thread count and any batch around a row",
       .edges = {"A NaN or infinity in a row of x makes its y and rstd NaN; its mean is NaN, or the infinity.",
                 "NaN results are canonical.", "Subnormals are kept.",
                 "A sum that overflows gives infinity, or NaN where it overflows on both sides.",
                 ("With eps = 0 a row whose variance comes out as 0 has rstd = infinity, and y = NaN where x is the "
                  "mean.")},
       .non_claims = {kBoundOfData},
       .operands = {{"x", in, storage, {"rows", "cols"}, "the rows to normalise"},
                    {"gamma", in, storage, {"cols"}, "scale of each column"},
                    {"beta", in, storage, {"cols"}, "shift of each column"},
                    {"y", out, storage, {"rows", "cols"}, "the normalised rows"},
                    {"mean", out, f32, {"rows"}, "mean of each row"},
                    {"rstd", out, f32, {"rows"}, "1/sqrt(variance + eps) of each row"}},
       .options = {{"eps", OptionKind::f32, option_f32(1e-5f), "finite and >= 0", option::finite_nonnegative,
                    "added to the variance"}},
       .limits = {kColsLimit},
       .batch = "rows",
       .prepare = [](Call& call) { return call.scalars[0] = call.option(0).f, Status(); }},
      {.name = "layernorm.backward",
       .summary = "Gradient of layernorm.forward with respect to x, gamma and beta.",
       .formula = "xhat = (x-mean)*rstd; h = dy*gamma; c1 = rowsum(h)/n; c2 = rowsum fma(h,xhat) / n; "
                  "dx = RN(rstd * fma(-xhat, c2, h-c1)); dgamma = colsum fma(dy, xhat); dbeta = colsum(dy)",
       .ensures = {kFormulaPromise, kBoundPromise, kRowSumBound, kColumnSumBound},
       .determinism = "the same bits on every device, for any thread count; dx of a row depends on that row alone, "
                      "dgamma and dbeta on the batch and on nothing else",
       .edges = {"NaN and infinity spread as the formula says.", "NaN results are canonical.", "Subnormals are kept."},
       .non_claims = {"mean and rstd are taken as given: nothing checks that they belong to x.", kBoundOfData},
       .operands = {{"dy", in, storage, {"rows", "cols"}, "gradient of the output"},
                    {"x", in, storage, {"rows", "cols"}, "the forward's input"},
                    {"gamma", in, storage, {"cols"}, "scale of each column"},
                    {"mean", in, f32, {"rows"}, "the forward's mean"},
                    {"rstd", in, f32, {"rows"}, "the forward's rstd"},
                    {"dx", out, storage, {"rows", "cols"}, "gradient of x"},
                    {"dgamma", out, storage_or_f32, {"cols"}, "gradient of gamma", false, {}, {}, true},
                    {"dbeta", out, storage_or_f32, {"cols"}, "gradient of beta", false, {}, {}, true}},
       .options = {},
       .limits = {kColsLimit},
       .batch = "rows"},
  };
  return all;
}

}  // namespace layernorm

Call bind(const LayernormForward& a) {
  return make_call("layernorm.forward", {unconst(a.x), unconst(a.gamma), unconst(a.beta), a.y, a.mean, a.rstd},
                   {option_f32(a.eps)});
}
Status layernorm_forward(Device& device, const LayernormForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const LayernormBackward& a) {
  return make_call("layernorm.backward", {unconst(a.dy), unconst(a.x), unconst(a.gamma), unconst(a.mean),
                                          unconst(a.rstd), a.dx, a.dgamma, a.dbeta});
}
Status layernorm_backward(Device& device, const LayernormBackward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
