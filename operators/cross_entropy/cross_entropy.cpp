// Cross-entropy's contract and call.
#include "tokitai/cross_entropy.h"

#include <fmt/format.h>

#include "contract/build.h"

namespace tokitai {
namespace cross_entropy {
namespace {

Status prepare(Call& call) {
  const float a = call.option(1).f, z = call.option(2).f;
  call.scalars[0] = a;
  call.scalars[1] = static_cast<float>(1.0 - static_cast<double>(a));
  call.scalars[2] = z;
  call.scalars[3] = 2 * z;
  call.scalars[4] = call.option(3).f;
  const Option& reduction = call.option(4);
  if (call.operand(4).present() && !reduction.set)
    return Status::invalid(
        fmt::format("{}: mean_loss is the mean of the losses, and grad would be the gradient of their sum: say "
                    "reduction=mean, or reduction=sum if that is what you want",
                    call.contract->name));
  call.scalars[5] = reduction.i == static_cast<std::int64_t>(Reduction::mean) ? 1.0f : 0.0f;
  return {};
}

std::string refusal(const Call& call, std::int64_t row) {
  const View& labels = call.operand(1);
  const std::int64_t value = labels.type == Type::i32 ? static_cast<const std::int32_t*>(labels.data)[row]
                                                      : static_cast<const std::int64_t*>(labels.data)[row];
  std::string ignored;
  if (call.option(0).set)
    ignored = fmt::format(", or equal ignore_index {}", call.option(0).i);
  else if (value < 0)
    ignored = fmt::format("; set ignore_index={} to leave such rows out", value);
  return fmt::format("{}: labels[{}] = {}; it must be in [0, {}){}", call.contract->name, row, value,
                     call.operand(0).cols(), ignored);
}

}  // namespace

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "cross_entropy.forward_backward",
       .summary = "Loss of each row of logits against its label, and the gradient with respect to the logits.",
       .formula =
           "top = rowmax(x); e = exp(x-top); s = rowsum(e); q = 1/s; ls = log(s); nll = ls + (top - x[label]); "
           "lse = ls + top; loss = nll; if a != 0: loss = fma(a, ls - rowsum(x-top)/n, b*nll); if z != 0: loss = "
           "fma(z*lse, lse, loss); w = z != 0 ? fma(2*z, lse, 1) : 1; t = a/n, at the label (a/n)+b; grad = "
           "RN(g * fma(e*q, w, -t)), g = scale, with reduction=mean scale/f32(count); mean_loss = "
           "colsum(loss)/f32(count)",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = "the same bits on every device, for any thread count; loss and grad of a row depend on that row "
                      "alone, with reduction=mean grad on count too; mean_loss and count on the batch and nothing else",
       .edges = {"ignore_index is asked before the range of a label.",
                 "An ignored row has loss +0 and gradient +0 whatever its logits; all rows may be ignored.",
                 "A NaN or +infinity among the logits gives NaN.", "mean_loss of no rows is NaN.",
                 "f32(count) is rounded to nearest: count is exact up to 2^24."},
       .non_claims = {"mean_loss depends on the batch, as its definition says.", kBoundOfData},
       .operands = {{"logits", in, storage, {"rows", "cols"}, "unnormalised log-probabilities"},
                    {"labels", in, index, {"rows"}, "the right class of each row"},
                    {"loss", out, f32, {"rows"}, "loss of each row"},
                    {"grad", out, storage, {"rows", "cols"}, "gradient of the logits", false, "logits"},
                    {"mean_loss", out, f32, {"1"}, "mean loss of the rows not ignored", true},
                    {"count", out, i64, {"1"}, "number of rows not ignored", true}},
       .options = {{"ignore_index", OptionKind::integer, option_unset(), "an integer", nullptr,
                    "rows with this label count for nothing"},
                   {"label_smoothing", OptionKind::f32, option_f32(0), "in [0, 1)", option::unit_interval,
                    "weight spread evenly over all classes"},
                   {"z_loss", OptionKind::f32, option_f32(0), "finite and >= 0", option::finite_nonnegative,
                    "weight of the squared log-partition"},
                   {"scale", OptionKind::f32, option_f32(1), "finite", option::finite, "factor on the gradient"},
                   {"reduction",
                    OptionKind::choice,
                    option_unset(),
                    "",
                    nullptr,
                    "of which loss grad is the gradient, of the rows' sum or of their mean; unset: sum",
                    false,
                    {"sum", "mean"}}},
       .limits = {kColsLimit},
       .conditions = {"each label is in [0, cols) or equals ignore_index; else the first that is not is named",
                      "where mean_loss is given, reduction is"},
       .batch = "rows",
       .whole_when = "reduction",
       .prepare = prepare,
       .refusal = refusal},
  };
  return all;
}

}  // namespace cross_entropy

Call bind(const CrossEntropyForwardBackward& a) {
  return make_call("cross_entropy.forward_backward",
                   {unconst(a.logits), unconst(a.labels), a.loss, a.grad, a.mean_loss, a.count},
                   {a.ignore_index ? option_integer(*a.ignore_index) : option_unset(), option_f32(a.label_smoothing),
                    option_f32(a.z_loss), option_f32(a.scale),
                    a.reduction ? option_integer(static_cast<std::int64_t>(*a.reduction)) : option_unset()});
}
Status cross_entropy_forward_backward(Device& device, const CrossEntropyForwardBackward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
