// RMSNorm's contracts and calls.
#include "tokitai/rmsnorm.h"

#include "contract/build.h"

namespace tokitai {
namespace rmsnorm {

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "rmsnorm.forward",
       .summary = "Divides each row, or its sum with a residual, by its root mean square, then scales each column.",
       .formula = "s = x, with residual s = sum = RN(x+residual); rstd = 1/sqrt(rowsum fma(s,s) / n + eps); "
                  "y = RN((s*rstd)*gamma)",
       .ensures = {kFormulaPromise, kBoundPromise, kRowSumBound},
       .determinism = "the same bits on every device, for any thread count and any batch around a row",
       .edges = {"A NaN in a row of s makes its y and rstd NaN.", "NaN results are canonical.", "Subnormals are kept.",
                 ("An infinity in a row of s, or a sum that overflows, gives rstd = +0, and y = NaN where the infinity "
                  "stood."),
                 "With eps = 0 a row of zeros has rstd = infinity and y = NaN.",
                 "Without a residual nothing is added to x: -0 stays -0."},
       .non_claims = {kBoundOfData},
       .operands = {{"x", in, storage, {"rows", "cols"}, "the rows to normalise"},
                    {"gamma", in, storage_or_f32, {"cols"}, "scale of each column"},
                    {"y", out, storage, {"rows", "cols"}, "the normalised rows"},
                    {"rstd", out, f32, {"rows"}, "1/sqrt(mean square + eps) of each row"},
                    {"residual", in, storage_or_f32, {"rows", "cols"}, "added to x first", true},
                    {.name = "sum",
                     .role = out,
                     .type = storage_or_f32,
                     .shape = {"rows", "cols"},
                     .text = "x + residual",
                     .optional = true,
                     .may_alias = "x residual",
                     .with = "residual",
                     .saved_as = "x"}},
       .options = {{"eps", OptionKind::f32, option_f32(1e-5f), "finite and >= 0", option::finite_nonnegative,
                    "added to the mean square"}},
       .limits = {kColsLimit},
       .batch = "rows",
       .prepare = [](Call& call) { return call.scalars[0] = call.option(0).f, Status(); }},
      {.name = "rmsnorm.backward",
       .summary = "Gradient of rmsnorm.forward with respect to x, which is that of the residual too, and gamma.",
       .formula = "xhat = x*rstd; h = dy*gamma; c = rowsum fma(h,xhat) / n; dx = RN(rstd * fma(-xhat, c, h)), with "
                  "dsum dx = RN(fma(rstd, fma(-xhat, c, h), dsum)); dgamma = colsum fma(dy, xhat)",
       .ensures = {kFormulaPromise, kBoundPromise, kRowSumBound, kColumnSumBound},
       .determinism = "the same bits on every device, for any thread count; dx of a row depends on that row alone, "
                      "dgamma on the batch and on nothing else",
       .edges = {"NaN and infinity spread as the formula says.", "NaN results are canonical.", "Subnormals are kept.",
                 "Without dsum nothing is added to dx: -0 stays -0."},
       .non_claims = {"rstd is taken as given: nothing checks that it belongs to x.", kBoundOfData},
       .operands = {{"dy", in, storage, {"rows", "cols"}, "gradient of y"},
                    {"x", in, storage_or_f32, {"rows", "cols"}, "the forward's x, or its sum where it had a residual"},
                    {"gamma", in, storage_or_f32, {"cols"}, "scale of each column"},
                    {.name = "rstd",
                     .role = in,
                     .type = f32,
                     .shape = {"rows"},
                     .text = "the forward's rstd",
                     .nonnegative = true},
                    {"dx", out, storage_or_f32, {"rows", "cols"}, "gradient of x and of the residual"},
                    {"dgamma", out, storage_or_f32, {"cols"}, "gradient of gamma", false, {}, {}, true},
                    {"dsum", in, storage_or_f32, {"rows", "cols"}, "gradient of the sum from elsewhere", true}},
       .options = {},
       .limits = {kColsLimit},
       .batch = "rows"},
  };
  return all;
}

}  // namespace rmsnorm

Call bind(const RmsnormForward& a) {
  return make_call("rmsnorm.forward", {unconst(a.x), unconst(a.gamma), a.y, a.rstd, unconst(a.residual), a.sum},
                   {option_f32(a.eps)});
}
Status rmsnorm_forward(Device& device, const RmsnormForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const RmsnormBackward& a) {
  return make_call("rmsnorm.backward",
                   {unconst(a.dy), unconst(a.x), unconst(a.gamma), unconst(a.rstd), a.dx, a.dgamma, unconst(a.dsum)});
}
Status rmsnorm_backward(Device& device, const RmsnormBackward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
