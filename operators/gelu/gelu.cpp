// GELU's contracts and calls.
#include "tokitai/gelu.h"

#include "contract/build.h"

namespace tokitai {
namespace gelu {
namespace {

OptionSpec tanh_option() {
  return {"tanh",   OptionKind::flag, option_integer(0),
          "0 or 1", option::flag,     "tanh of a cubic instead of the error function"};
}
constexpr std::string_view kFarBelow =
    "No claim about the relative error where x is below -4: 1+t is what is left of two numbers that nearly cancel.";
constexpr std::string_view kConstants =
    "Each constant is the nearest f32: dx is the derivative of the real GELU up to their roundings, not that of the "
    "forward with its rounded constants.";

}  // namespace

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "gelu.forward",
       .summary = "The Gaussian error linear unit of each element.",
       .formula = "t = erf(x*0x1.6a09e6p-1); y = RN((0.5*x)*(1+t)); with tanh: v = x held to +-32 by select, t = "
                  "tanh(v*fma(v*v, c1, c0)), c0 = f32(sqrt(2/pi)), c1 = f32(0.044715*sqrt(2/pi))",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = kElementBits,
       .edges = {"-infinity gives NaN, and +infinity itself.", "NaN results are canonical.", "Subnormals are kept."},
       .non_claims = {kFarBelow, kBoundOfData},
       .operands = {{"x", in, storage, {"rows", "cols"}, "the elements"},
                    {"y", out, storage, {"rows", "cols"}, "their GELU", false, "x"}},
       .options = {tanh_option()},
       .batch = "rows"},
      {.name = "gelu.backward",
       .summary = "Gradient of gelu.forward with respect to x.",
       .formula = "t as in the forward; dx = RN(dy*fma(x, exp(-0.5*(x*x))*0x1.988454p-2, 0.5*(1+t))); with tanh: dx = "
                  "RN(dy*(0.5*(1+t) + (0.5*v)*(fma(-t,t,1)*fma(v*v, c3, c0)))), c3 = f32(3*0.044715*sqrt(2/pi))",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = kElementBits,
       .edges = {"NaN and infinity spread as the formula says.", "NaN results are canonical.", "Subnormals are kept."},
       .non_claims = {kFarBelow, kConstants, kBoundOfData},
       .operands = {{"dy", in, storage, {"rows", "cols"}, "gradient of the output"},
                    {"x", in, storage, {"rows", "cols"}, "the forward's input"},
                    {"dx", out, storage, {"rows", "cols"}, "gradient of x", false, "dy"}},
       .options = {tanh_option()},
       .batch = "rows"},
  };
  return all;
}

}  // namespace gelu

Call bind(const GeluForward& a) {
  return make_call("gelu.forward", {unconst(a.x), a.y}, {option_integer(a.tanh ? 1 : 0)});
}
Status gelu_forward(Device& device, const GeluForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const GeluBackward& a) {
  return make_call("gelu.backward", {unconst(a.dy), unconst(a.x), a.dx}, {option_integer(a.tanh ? 1 : 0)});
}
Status gelu_backward(Device& device, const GeluBackward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
