// Softmax's contracts and calls.
#include "tokitai/softmax.h"

#include "contract/build.h"

namespace tokitai {
namespace softmax {

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "softmax.forward",
       .summary = "Exponential of each element over the sum of its row's exponentials.",
       .formula = "top = rowmax(x); e = exp(x-top); y = RN(e * (1/rowsum(e)))",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = "the same bits on every device, for any thread count and any batch around a row",
       .edges = {"A row that holds a NaN or +infinity, or only -infinity, gives NaN (canonical) throughout.",
                 "An element of -infinity beside finite ones gives +0.",
                 "Products e * (1/rowsum(e)) of at most half the smallest subnormal of the type are +0."},
       .non_claims = {"A row's outputs sum to 1 only up to their roundings.", kBoundOfData},
       .operands = {{"x", in, storage, {"rows", "cols"}, "the rows"},
                    {"y", out, storage, {"rows", "cols"}, "softmax of each row"}},
       .options = {},
       .limits = {kColsLimit},
       .batch = "rows"},
      {.name = "softmax.backward",
       .summary = "Gradient of softmax.forward with respect to x.",
       .formula = "dx = RN(y * (dy - rowsum fma(dy,y)))",
       .ensures = {kFormulaPromise, kBoundPromise},
       .determinism = "the same bits on every device, for any thread count and any batch around a row",
       .edges = {"NaN and infinity spread as the formula says.", "NaN results are canonical.", "Subnormals are kept."},
       .non_claims = {"y is taken as given: nothing checks that it is a softmax.", kBoundOfData},
       .operands = {{"dy", in, storage, {"rows", "cols"}, "gradient of the output"},
                    {"y", in, storage, {"rows", "cols"}, "the forward's output"},
                    {"dx", out, storage, {"rows", "cols"}, "gradient of x"}},
       .options = {},
       .limits = {kColsLimit},
       .batch = "rows"},
  };
  return all;
}

}  // namespace softmax

Call bind(const SoftmaxForward& a) { return make_call("softmax.forward", {unconst(a.x), a.y}); }
Status softmax_forward(Device& device, const SoftmaxForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const SoftmaxBackward& a) { return make_call("softmax.backward", {unconst(a.dy), unconst(a.y), a.dx}); }
Status softmax_backward(Device& device, const SoftmaxBackward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
