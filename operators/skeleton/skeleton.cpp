// The skeleton's contract and call.
#include "tokitai/skeleton.h"

#include "contract/build.h"

namespace tokitai {
namespace skeleton {
namespace {

// One row on chip per thread, no column sums.
std::int64_t workspace(const Call& c, int threads) {
  return row_workspace(c.operand(0).rows(), c.operand(0).cols(), threads, 1, 0);
}

}  // namespace

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
       .prepare = [](Call& call) { return call.scalars[0] = call.option(0).f, Status(); },
       .workspace = workspace,
       .workspace_formula = row_workspace_formula(1, 0),
       .flops = "3 * elements(x)"},
      {.name = "skeleton.words",
       .summary = "Every word that values have, one element at a time.",
       .formula =
           "v = x, at most 8 and at least -8; gate = 1/(1 + exp(-v)); root = sqrt(fma(v,v,1)); y = (gate - root*0.5) / "
           "(root + log(root + 1)) + squash(v); flips = (y < 0 and not x == 0) or x != x or x >= 100; y = flips ? -y : "
           "y + offset; with bias the larger of y + bias and -y",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = "the same bits on every device, for any thread count and any batch around a row",
       .edges = {"copy has x's bits where their types are one.", "With skip_large an x above 1000 changes nothing."},
       .non_claims = {kBoundOfData},
       .operands = {{"x", in, storage, {"rows", "cols"}, "the elements"},
                    {"bias", in, storage, {"rows", "cols"}, "added to them", true},
                    {"y", out, storage, {"rows", "cols"}, "what the words make of them", false, "x"},
                    {"copy", out, floating, {"rows", "cols"}, "x in another type"}},
       .options =
           {{"offset", OptionKind::f32, option_f32(1), "finite", option::finite, "added where nothing flips"},
            {"squash", OptionKind::choice, option_integer(0), "", nullptr, "which function", false, {"tanh", "erf"}},
            {"skip_large", OptionKind::flag, option_integer(0), "0 or 1", option::flag,
             "change nothing if an x is above 1000"}},
       .batch = "rows",
       .whole_when = "skip_large",
       .prepare = [](Call& call) { return call.scalars[0] = call.option(0).f, Status(); },
       .workspace = [](const Call&, int) { return std::int64_t{0}; },
       .workspace_formula = "0",
       .flops = "100 * elements(x)"},
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

Call bind(const SkeletonWords& a) {
  return make_call("skeleton.words", {unconst(a.x), unconst(a.bias), a.y, a.copy},
                   {option_f32(a.offset), option_integer(a.erf ? 1 : 0), option_integer(a.skip_large ? 1 : 0)});
}
Status skeleton_words(Device& device, const SkeletonWords& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
