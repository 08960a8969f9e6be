// The skeleton's contract and call.
#include "tokitai/skeleton.h"

#include "contract/build.h"

namespace tokitai {
namespace skeleton {
std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "skeleton.forward",
       .summary = "Divides each row by its root mean square.",
       .formula = "rstd = 1/sqrt(rowsum fma(x,x) / n + eps); y = RN(x*rstd)",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = "the same bits on every device, for any thread count and any batch around a row",
       .edges = {"A NaN in a row makes that row NaN (canonical).",
                 "An infinity, or a sum that overflows, gives rstd = +0, and NaN where the infinity stood.",
                 "With eps = 0 a row of zeros has rstd = infinity and y = NaN.", "Subnormals are kept."},
       .non_claims = {kBoundOfData},
       .operands = {{"x", in, storage, {"rows", "cols"}, "the rows"},
                    {"y", out, storage, {"rows", "cols"}, "the rows, each with a mean square of about 1"},
                    {"rstd", out, f32, {"rows"}, "1/sqrt(mean square + eps) of each row"}},
       .options = {{"eps", OptionKind::f32, option_f32(1e-5f), "finite and >= 0", option::finite_nonnegative,
                    "added to the mean square"}},
       .limits = {kColsLimit},
       .batch = "rows",
       .prepare = [](Call& call) { return call.scalars[0] = call.option(0).f, Status(); }},
  };
  return all;
}

}  // namespace skeleton

Call bind(const SkeletonForward& a) {
  return make_call("skeleton.forward", {unconst(a.x), a.y, a.rstd}, {option_f32(a.eps)});
}
Status skeleton_forward(Device& device, const SkeletonForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
