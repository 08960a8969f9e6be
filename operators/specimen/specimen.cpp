// The specimens' contracts.
#include "tokitai/specimen.h"

#include "contract/build.h"

namespace tokitai::specimen {

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "specimen.rows",
       .summary = "Every verb and every value of the row pattern at once.",
       .formula = "as its definition says",
       .ensures = {kFormulaPromise},
       .determinism = "the same bits on every device, for any thread count and any batch around a row",
       .edges = {},
       .non_claims = {"It is of no use."},
       .operands = {{"a", in, storage, {"rows", "cols"}, "rows"},
                    {"total_a", out, storage_or_f32, {"cols"}, "a sum over rows"},
                    {"b", in, storage_or_f32, {"rows", "cols"}, "rows to add", true},
                    {"w", in, storage_or_f32, {"cols"}, "a number per column"},
                    {"total_b", out, storage_or_f32, {"cols"}, "a sum over rows", true},
                    {"y", out, storage, {"rows", "cols"}, "an expression of all operations"},
                    {.name = "z",
                     .role = out,
                     .type = storage_or_f32,
                     .shape = {"rows", "cols"},
                     .text = "the rows",
                     .optional = true,
                     .may_alias = "a b"},
                    {"total_y", out, storage_or_f32, {"cols"}, "a sum over rows"}},
       .options = {},
       .limits = {kColsLimit},
       .batch = "rows"},
      {.name = "specimen.elements",
       .summary = "Every verb and every value of the each pattern at once.",
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
       .prepare = [](Call& call) { return call.scalars[0] = call.option(0).f, Status(); }},
  };
  return all;
}

}  // namespace tokitai::specimen
