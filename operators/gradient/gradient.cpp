// The contract and call of gradient norms.
#include "tokitai/gradient.h"

#include "contract/build.h"

namespace tokitai {
namespace gradient {
std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "gradient.norm",
       .summary = "The norm of all gradients of a list, and the factor that clips it to max_norm.",
       .formula = "every tensor is cut into blocks of 2048; block = blocksum fma(grad,grad) in the row order; total = "
                  "colsum(block), in the order of the list; norm = sqrt(total)*grad_scale; s = max_norm/(norm + "
                  "0x1.0c6f7ap-20); scale = select(s > 1, 1, s)",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = "the same bits on every device, for any thread count; they depend on how the list is cut into "
                      "tensors, not on empty ones",
       .edges = {"A NaN among the gradients makes norm and scale NaN (canonical).",
                 "An infinity, or a sum of squares that overflows, gives norm = infinity and scale = +0.",
                 "Without any element norm is +0.", "Subnormals are kept."},
       .non_claims = {"Squares of gradients below 2^-75 vanish: their norm is +0.", kBoundOfData},
       .operands = {{"grad", in, floating, {"n"}, "gradients"},
                    {"norm", out, f32, {"1"}, "the root of the sum of their squares, times grad_scale"},
                    {"scale", out, f32, {"1"}, "what clips them: 1, or less where norm is above max_norm"}},
       .options = {{"max_norm", OptionKind::f32, option_f32(1), "finite and >= 0", option::finite_nonnegative,
                    "the largest norm that is left as it is"},
                   {"grad_scale", OptionKind::f32, option_f32(1), "finite and >= 0", option::finite_nonnegative,
                    "factor on the gradients, as adamw.step is given it"}},
       .list = true,
       .may_be_empty = true,
       .prepare =
           [](Call& call) {
             call.scalars = {call.option(0).f + 0.0f, call.option(1).f + 0.0f};  // -0 counts as +0
             return Status();
           }},
  };
  return all;
}

}  // namespace gradient

Call bind(const GradientNorm& a) {
  Call call = make_call("gradient.norm", {}, {option_f32(a.max_norm), option_f32(a.grad_scale)});
  call.list.reserve(a.grads.size() + 1);
  for (const ConstView& grad : a.grads) call.list.push_back({unconst(grad)});
  if (call.list.empty())
    call.list.push_back({View{nullptr, Type::f32, 1, {0, 1}, 1}});  // what a call has once lies beside a tensor
  call.list.front()[1] = a.norm;
  call.list.front()[2] = a.scale;
  return call;
}
Status gradient_norm(Device& device, const GradientNorm& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
