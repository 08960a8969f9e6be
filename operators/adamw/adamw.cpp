// AdamW's contract and call.
#include "tokitai/adamw.h"

#include <fmt/format.h>

#include "contract/build.h"

namespace tokitai {
namespace adamw {
namespace {

// Repeated squaring from the least significant bit: the same roundings everywhere, unlike a library's pow.
double power(double base, std::int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

// The options' order in the contract.
enum { kLr, kBeta1, kBeta2, kEps, kWeightDecay, kT, kGradScale, kSkipNonfinite };

// Scalars are computed once, in binary64 from the binary32 options, and rounded once.
Status prepare(Call& call) {
  const float beta1 = call.option(kBeta1).f, beta2 = call.option(kBeta2).f;
  const std::int64_t t = call.option(kT).i;
  const auto rounded = [](double v) { return static_cast<float>(v); };
  call.scalars = {-call.option(kLr).f,
                  beta1,
                  beta2,
                  call.option(kEps).f,
                  call.option(kWeightDecay).f,
                  rounded(1.0 - static_cast<double>(beta1)),
                  rounded(1.0 - static_cast<double>(beta2)),
                  rounded(1.0 / (1.0 - power(beta1, t))),
                  rounded(1.0 / (1.0 - power(beta2, t))),
                  call.option(kGradScale).f};
  return {};
}

}  // namespace

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "adamw.step",
       .summary = "One AdamW step over a list of tensors, in place.",
       .formula =
           "g = grad*grad_scale, with a scale g = grad*(grad_scale*scale); m' = fma(c1, g, beta1*m); v' = fma(c2, g*g, "
           "beta2*v); update = fma(weight_decay, "
           "theta, (m'*k1) / (sqrt(v'*k2) + eps)); theta' = RN(fma(-lr, update, theta)); with c1 = 1-beta1, c2 = "
           "1-beta2, k1 = 1/(1-beta1^t), k2 = 1/(1-beta2^t) from binary64; master weights take theta's place and "
           "theta' = RN(master')",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = "the same bits on every device, for any thread count and any grouping into lists",
       .edges = {("A scaled gradient (g) that is not finite spreads into theta, m and v as the formula says, unless "
                  "skip_nonfinite is set: then nothing changes."),
                 ("With skip_nonfinite and a norm the gradients are not asked: nothing changes if the norm is not "
                  "finite, even where all gradients are."),
                 "outcome is 1 where nothing changed for that reason, else 0.", "NaN results are canonical.",
                 "Subnormals are kept.", "An empty tensor inside a list is fine."},
       .non_claims = {"No claim about convergence, nor about v below zero (its square root is NaN).", kBoundOfData},
       .operands =
           {{"theta", in_out, storage, {"n"}, "parameters"},
            {"m", in_out, f32, {"n"}, "first moment"},
            {.name = "v", .role = in_out, .type = f32, .shape = {"n"}, .text = "second moment", .nonnegative = true},
            {"grad", in, storage, {"n"}, "gradient"},
            {"master", in_out, f32, {"n"}, "f32 master weights", true},
            {"scale", in, f32, {"1"}, "second factor on the gradients (gradient.norm)", true},
            {"norm", in, f32, {"1"}, "their norm, which skip_nonfinite then asks (gradient.norm)", true},
            {"outcome", out, i64, {"1"}, "1 where the step was skipped, else 0", true}},
       .options = {{"lr", OptionKind::f32, option_f32(1e-3f), "finite and >= 0", option::finite_nonnegative,
                    "learning rate"},
                   {"beta1", OptionKind::f32, option_f32(0.9f), "in [0, 1)", option::unit_interval, "decay of m"},
                   {"beta2", OptionKind::f32, option_f32(0.999f), "in [0, 1)", option::unit_interval, "decay of v"},
                   {"eps", OptionKind::f32, option_f32(1e-8f), "finite and >= 0", option::finite_nonnegative,
                    "added to the root of v"},
                   {"weight_decay", OptionKind::f32, option_f32(0.01f), "finite and >= 0", option::finite_nonnegative,
                    "decoupled weight decay"},
                   {"t", OptionKind::integer, option_unset(), ">= 1", [](const Option& o) { return o.i >= 1; },
                    "the step, counted from 1", true},
                   {"grad_scale", OptionKind::f32, option_f32(1), "finite", option::finite, "factor on the gradient"},
                   {"skip_nonfinite", OptionKind::flag, option_integer(0), "0 or 1", option::flag,
                    "change nothing if any scaled gradient is not finite"}},
       .batch = "n",
       .whole_when = "skip_nonfinite",  // a piece may well be finite
       .list = true,
       .prepare = prepare},
  };
  return all;
}

}  // namespace adamw

Call bind(const AdamwStep& a) {
  Call call = make_call(
      "adamw.step", {},
      {option_f32(a.lr), option_f32(a.beta1), option_f32(a.beta2), option_f32(a.eps), option_f32(a.weight_decay),
       option_integer(a.t), option_f32(a.grad_scale), option_integer(a.skip_nonfinite ? 1 : 0)});
  call.list.reserve(a.tensors.size());
  for (const AdamwTensor& tensor : a.tensors)
    call.list.push_back({tensor.theta, tensor.m, tensor.v, unconst(tensor.grad), tensor.master});
  if (call.list.empty()) return call;  // which the contract refuses
  call.list.front()[5] = unconst(a.scale);
  call.list.front()[6] = unconst(a.norm);
  call.list.front()[7] = a.outcome;
  return call;
}
Status adamw_step(Device& device, const AdamwStep& arguments) {
  Call call = bind(arguments);
  if (arguments.skipped == nullptr) return device.run(call);  // so that a GPU is not waited for
  Outcome outcome;
  Status status = device.run(call, &outcome);
  if (status.ok()) *arguments.skipped = outcome.skipped;
  return status;
}

}  // namespace tokitai
