// The sum's contract and call.
#include "tokitai/add.h"

#include "contract/build.h"

namespace tokitai {
namespace add {

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "add.forward",
       .summary = "The sum of two tensors, element by element.",
       .formula = "y = RN(a+b)",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = kElementBits,
       .edges = {"NaN and infinity spread as the formula says.", "NaN results are canonical.", "Subnormals are kept."},
       .non_claims = {kBoundOfData},
       .operands = {{"a", in, storage, {"rows", "cols"}, "one term"},
                    {"b", in, storage, {"rows", "cols"}, "the other"},
                    {"y", out, storage, {"rows", "cols"}, "their sum", false, "a"}},
       .options = {},
       .batch = "rows"},
  };
  return all;
}

}  // namespace add

Call bind(const AddForward& a) { return make_call("add.forward", {unconst(a.a), unconst(a.b), a.y}); }
Status add_forward(Device& device, const AddForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
