// The conversion's contract and call.
#include "tokitai/cast.h"

#include "contract/build.h"

namespace tokitai {
namespace cast {

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "cast.forward",
       .summary = "A tensor in another type.",
       .formula = "y = RN(x), in y's type; where x has that type its bits",
       .ensures = {{Guarantee::exact_copy, "where both types are one, every output has its input's bits"},
                   {Guarantee::correctly_rounded,
                    "every output is the number of its type that is nearest to the input"}},
       .determinism = kElementBits,
       .edges = {"NaN becomes the canonical one of y's type; where both types are one its bits stay.",
                 "What is too large for y's type becomes infinity, and infinity stays.", "Subnormals are kept."},
       .non_claims = {"No claim beyond the one rounding: what f16 or bf16 cannot hold is lost."},
       .operands = {{"x", in, storage, {"rows", "cols"}, "the elements"},
                    {"y", out, floating, {"rows", "cols"}, "the same in its own type"}},
       .options = {},
       .batch = "rows"},
  };
  return all;
}

}  // namespace cast

Call bind(const CastForward& a) { return make_call("cast.forward", {unconst(a.x), a.y}); }
Status cast_forward(Device& device, const CastForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
