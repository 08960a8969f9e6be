// SwiGLU's contracts and calls.
#include "tokitai/swiglu.h"

#include "contract/build.h"

namespace tokitai {
namespace swiglu {

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "swiglu.forward",
       .summary = "The gate times its sigmoid, times up.",
       .formula = "sig = 1/(1+exp(-gate)); h = RN((gate*sig)*up)",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = kElementBits,
       .edges = {"A gate of -infinity gives NaN.", "A gate of +infinity is multiplied as it is.",
                 "NaN and infinity spread as the formula says.", "NaN results are canonical.", "Subnormals are kept."},
       .non_claims = {kBoundOfData},
       .operands = {{"gate", in, storage, {"rows", "cols"}, "the gate"},
                    {"up", in, storage, {"rows", "cols"}, "what is gated"},
                    {"h", out, storage, {"rows", "cols"}, "the gated elements", false, "gate"}},
       .options = {},
       .batch = "rows"},
      {.name = "swiglu.backward",
       .summary = "Gradients of swiglu.forward with respect to gate and up.",
       .formula = "sig = 1/(1+exp(-gate)); dup = RN(dh*(gate*sig)); dgate = RN((dh*up) * (sig*fma(gate, 1-sig, 1)))",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = kElementBits,
       .edges = {"NaN and infinity spread as the formula says.", "NaN results are canonical.", "Subnormals are kept."},
       .non_claims = {kBoundOfData},
       .operands = {{"dh", in, storage, {"rows", "cols"}, "gradient of h"},
                    {"gate", in, storage, {"rows", "cols"}, "the forward's gate"},
                    {"up", in, storage, {"rows", "cols"}, "the forward's up"},
                    {"dgate", out, storage, {"rows", "cols"}, "gradient of gate", false, "gate"},
                    {"dup", out, storage, {"rows", "cols"}, "gradient of up", false, "up"}},
       .options = {},
       .batch = "rows"},
  };
  return all;
}

}  // namespace swiglu

Call bind(const SwigluForward& a) { return make_call("swiglu.forward", {unconst(a.gate), unconst(a.up), a.h}); }
Status swiglu_forward(Device& device, const SwigluForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const SwigluBackward& a) {
  return make_call("swiglu.backward", {unconst(a.dh), unconst(a.gate), unconst(a.up), a.dgate, a.dup});
}
Status swiglu_backward(Device& device, const SwigluBackward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
