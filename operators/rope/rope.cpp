// Rope's contracts and calls.
#include "tokitai/rope.h"

#include <fmt/format.h>

#include <algorithm>

#include "contract/build.h"

namespace tokitai {
namespace rope {
namespace {

enum { kX, kCos, kSin, kPosition };
enum { kSeq, kInterleaved };

// What shape symbols do not say; positions that are counted are known here.
Status prepare(Call& call) {
  const Contract& contract = *call.contract;
  const View &x = call.operand(kX), &cos = call.operand(kCos);
  if (x.cols() % (2 * cos.cols()) != 0)
    return Status::invalid(
        fmt::format("{}: {} has {} columns; they must be heads of 2 * {} columns, twice those of cos", contract.name,
                    contract.operands[kX].name, x.cols(), cos.cols()));
  const Option& seq = call.option(kSeq);
  const std::int64_t counted = seq.set ? std::min(x.rows(), seq.i) : x.rows();
  if (!call.operand(kPosition).present() && counted > cos.rows())
    return Status::invalid(fmt::format("{}: positions are counted up to {}, but the table has {}", contract.name,
                                       counted - 1, cos.rows()));
  return {};
}

std::string refusal(const Call& call, std::int64_t token) {
  const View& v = call.operand(kPosition);
  const std::int64_t p = v.type == Type::i32 ? static_cast<const std::int32_t*>(v.data)[token]
                                             : static_cast<const std::int64_t*>(v.data)[token];
  return fmt::format("position[{}] = {}; it must be at least 0 and below {}, the rows of the table", token, p,
                     call.operand(kCos).rows());
}

constexpr std::string_view kRefused = "A position outside the table is refused, and nothing is written.";

Contract contract_of(std::string_view name, std::string_view summary, std::string_view formula,
                     std::string_view in_name, std::string_view in_text, std::string_view out_name,
                     std::string_view out_text) {
  using enum Role;
  using enum TypeRule;
  return {
      .name = name,
      .summary = summary,
      .formula = formula,
      .ensures = {kFormulaPromise, kBoundPromise},
      .determinism = kElementBits,
      .edges = {kRefused, "NaN and infinity spread as the formula says.", "NaN results are canonical.",
                "Subnormals are kept."},
      .non_claims = {"The table is taken as given: nothing checks that it holds cosines and sines.", kBoundOfData},
      .operands = {{in_name, in, storage, {"tokens", "width"}, in_text},
                   {"cos", in, f32, {"positions", "half"}, "the table's cosines"},
                   {"sin", in, f32, {"positions", "half"}, "the table's sines"},
                   {"position", in, index, {"tokens"}, "the table's row of each token; else they are counted", true},
                   {out_name, out, storage, {"tokens", "width"}, out_text, false, in_name}},
      .options = {{"seq", OptionKind::integer, option_unset(), ">= 1", [](const Option& o) { return o.i >= 1; },
                   "counted positions begin anew behind so many tokens"},
                  {"interleaved", OptionKind::flag, option_integer(0), "0 or 1", option::flag,
                   "pairs (2d, 2d+1) instead of (d, d+half)"}},
      .conditions = {"The width is a multiple of 2*half: heads of that many columns.",
                     "Positions that are counted stay below the table's."},
      .prepare = prepare,
      .refusal = refusal};
}

}  // namespace

std::span<const Contract> contracts() {
  static const Contract all[] = {
      contract_of("rope.forward", "Turns each pair of a head by the angle of its token's position.",
                  "pairs (d, d+half) of a head, interleaved (2d, 2d+1): y1 = RN(fma(x1, cos, -(x2*sin))), y2 = "
                  "RN(fma(x2, cos, x1*sin)), with cos and sin of the table's row `position`; without it of row t, or t "
                  "mod seq",
                  "x", "the heads of each token", "y", "the same, turned"),
      contract_of("rope.backward", "Gradient of rope.forward with respect to x.",
                  "pairs as in the forward: dx1 = RN(fma(dy1, cos, dy2*sin)), dx2 = RN(fma(dy2, cos, -(dy1*sin)))",
                  "dy", "gradient of the output", "dx", "gradient of x"),
  };
  return all;
}

}  // namespace rope

namespace {
Option seq_of(std::int64_t seq) { return seq == 0 ? option_unset() : option_integer(seq); }
}  // namespace

Call bind(const RopeForward& a) {
  return make_call("rope.forward", {unconst(a.x), unconst(a.cos), unconst(a.sin), unconst(a.position), a.y},
                   {seq_of(a.seq), option_integer(a.interleaved ? 1 : 0)});
}
Status rope_forward(Device& device, const RopeForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const RopeBackward& a) {
  return make_call("rope.backward", {unconst(a.dy), unconst(a.cos), unconst(a.sin), unconst(a.position), a.dx},
                   {seq_of(a.seq), option_integer(a.interleaved ? 1 : 0)});
}
Status rope_backward(Device& device, const RopeBackward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
