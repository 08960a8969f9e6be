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
  return {};
}

std::string refusal(const Call& call, std::int64_t row) {
  const View& labels = call.operand(1);
  const std::int64_t value = labels.type == Type::i32 ? static_cast<const std::int32_t*>(labels.data)[row]
                                                      : static_cast<const std::int64_t*>(labels.data)[row];
  const std::string ignored = call.option(0).set ? fmt::format(", or equal ignore_index {}", call.option(0).i) : "";
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
           "RN(scale * fma(e*q, w, -t)); mean_loss = colsum(loss)/count",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = "the same bits on every device, for any thread count; loss and grad of a row depend on that row "
                      "alone, mean_loss and count on the batch and on nothing else",
       .edges = {"ignore_index is asked before the range of a label.",
                 "An ignored row has loss +0 and gradient +0 whatever its logits.",
                 "A NaN or +infinity among the logits gives NaN.", "mean_loss of no rows is NaN."},
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
                   {"scale", OptionKind::f32, option_f32(1), "finite", option::finite, "factor on the gradient"}},
       .limits = {kColsLimit},
       .conditions = {"each label is in [0, cols) or equals ignore_index; else the first that is not is named"},
       .batch = "rows",
       .prepare = prepare,
       .refusal = refusal,
       .workspace =
           [](const Call& c, int threads) {
             return row_workspace(c.operand(0).rows(), c.operand(0).cols(), threads, 2, 0) +
                    threads * 4 * ((c.operand(0).rows() + 31) / 32);  // partial sums of the mean loss
           },
       .workspace_formula = row_workspace_formula(2, 0) + " + threads * 4 * ceil(rows, 32)",
       .flops = "20 * elements(logits)"},
  };
  return all;
}

}  // namespace cross_entropy

Call bind(const CrossEntropyForwardBackward& a) {
  return make_call("cross_entropy.forward_backward",
                   {unconst(a.logits), unconst(a.labels), a.loss, a.grad, a.mean_loss, a.count},
                   {a.ignore_index ? option_integer(*a.ignore_index) : option_unset(), option_f32(a.label_smoothing),
                    option_f32(a.z_loss), option_f32(a.scale)});
}
Status cross_entropy_forward_backward(Device& device, const CrossEntropyForwardBackward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
