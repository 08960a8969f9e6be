// GEMM's contracts and calls.
#include "tokitai/gemm.h"

#include "contract/build.h"

namespace tokitai {
namespace gemm {
namespace {

constexpr std::string_view kEnsures =
    "reproducible: one fma chain from +0 in ascending inner index, rounded once; the same bits on every device";
constexpr std::string_view kEdges =
    "NaN and infinity spread as the chain says; NaN results are canonical; a sum beyond the output type gives "
    "infinity; "
    "subnormals are kept.";
constexpr std::string_view kNonClaims =
    "Not the speed of tensor cores: on a GPU the canonical order runs on the ordinary fma units, about 14 times "
    "slower.";

// Two operations per step of every chain; the largest number there is where that overflows.
Cost cost(const Call& c) {
  Cost cost = cost_by_roles(c, 0);
  std::int64_t flops = 2;
  for (std::string_view symbol : {"m", "n", "k"})
    if (__builtin_mul_overflow(flops, dimension(c, symbol), &flops)) flops = INT64_MAX;
  cost.flops = flops;
  return cost;
}

// Packed panels on the CPU machine (machines/cpu/tile.h): 1024 columns of one factor for all threads; a block of
// 96 rows of the other and its unrounded chains per thread.
std::int64_t panels(std::int64_t inner, int threads) {
  return 4 * (std::int64_t{1056} * inner + std::int64_t{threads} * 108 * (256 + 1056));
}

}  // namespace

std::span<const Contract> contracts() {
  using enum Role;
  using enum TypeRule;
  static const Contract all[] = {
      {.name = "gemm.forward",
       .summary = "C = A B.",
       .formula = "c[i,j] = RN(chain over k of fma(a[i,k], b[k,j], acc))",
       .ensures = kEnsures,
       .edges = kEdges,
       .non_claims = kNonClaims,
       .operands = {{"a", in, storage, {"m", "k"}, "left factor"},
                    {"b", in, storage, {"k", "n"}, "right factor"},
                    {"c", out, storage_or_f32, {"m", "n"}, "product"}},
       .options = {},
       .batch = "m",
       .workspace = [](const Call& c, int threads) { return panels(dimension(c, "k"), threads); },
       .cost = cost},
      {.name = "gemm.grad_a",
       .summary = "Gradient of gemm.forward with respect to A: dC times B transposed.",
       .formula = "da[i,k] = RN(chain over j of fma(dc[i,j], b[k,j], acc))",
       .ensures = kEnsures,
       .edges = kEdges,
       .non_claims = kNonClaims,
       .operands = {{"dc", in, storage, {"m", "n"}, "gradient of the product"},
                    {"b", in, storage, {"k", "n"}, "right factor"},
                    {"da", out, storage_or_f32, {"m", "k"}, "gradient of A"}},
       .options = {},
       .batch = "m",
       .workspace = [](const Call& c, int threads) { return panels(dimension(c, "n"), threads); },
       .cost = cost},
      {.name = "gemm.grad_b",
       .summary = "Gradient of gemm.forward with respect to B: A transposed times dC.",
       .formula = "db[k,j] = RN(chain over i of fma(a[i,k], dc[i,j], acc))",
       .ensures = kEnsures,
       .edges = kEdges,
       .non_claims = kNonClaims,
       .operands = {{"dc", in, storage, {"m", "n"}, "gradient of the product"},
                    {"a", in, storage, {"m", "k"}, "left factor"},
                    {"db", out, storage_or_f32, {"k", "n"}, "gradient of B"}},
       .options = {},
       .batch = "k",
       .workspace = [](const Call& c, int threads) { return panels(dimension(c, "m"), threads); },
       .cost = cost},
  };
  return all;
}

}  // namespace gemm

Call bind(const GemmForward& a) { return make_call("gemm.forward", {unconst(a.a), unconst(a.b), a.c}); }
Status gemm_forward(Device& device, const GemmForward& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const GemmGradA& a) { return make_call("gemm.grad_a", {unconst(a.dc), unconst(a.b), a.da}); }
Status gemm_grad_a(Device& device, const GemmGradA& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

Call bind(const GemmGradB& a) { return make_call("gemm.grad_b", {unconst(a.dc), unconst(a.a), a.db}); }
Status gemm_grad_b(Device& device, const GemmGradB& arguments) {
  Call call = bind(arguments);
  return device.run(call);
}

}  // namespace tokitai
