// The same sentences from the GPUs' kernels, on checked fibers: in one launch and in several, with every plan.
#include "compiler/compiler.h"
#include "machines/tests/refusals.h"

namespace tokitai {
namespace {

TEST(Refusals, AreThatSentenceOnCheckedFibers) {
  if (!compiler::toolchain(compiler::Vendor::host).ok()) GTEST_SKIP() << "no C++ compiler";
  std::vector<Device> devices;
  for (const char* name : {"lockstep", "lockstep:64"})
    for (const int plan : {0, 1}) devices.push_back(open(name, {.plan = plan}).value());
  const Refusal all[] = {
      {"cross_entropy.forward_backward rows=600 cols=5 ignore_index=-100 index=i64", spoil_integers,
       "labels[200] = -7;"},
      {"embedding.forward queries=600 dim=3 vocab=5 padding_index=-100 index=i32", spoil_integers, "index[200] = -7;"},
      {"embedding.backward queries=600 dim=3 vocab=5 padding_index=-100 index=i64 type=f16", spoil_integers,
       "index[200] = -7;"},
      {"adamw.step n=3+0+1500+2001 t=1 skip_nonfinite=1 type=f32", spoil_gradients, "tensor 2, position 750"},
  };
  for (const Refusal& refusal : all) expect_one_sentence(refusal, devices);
}

}  // namespace
}  // namespace tokitai
