// The specimen's contract.
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
  };
  return all;
}

}  // namespace tokitai::specimen
