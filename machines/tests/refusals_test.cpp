// What lies in memory is refused with one sentence by every device of the host: the same place, the first.
#include "machines/tests/refusals.h"

namespace tokitai {
namespace {

std::vector<Device> host_devices() {
  std::vector<Device> devices;
  for (const std::string& isa : cpu_isas())
    for (const int threads : {1, 2, 5}) devices.push_back(open("cpu", {.threads = threads, .isa = isa}).value());
  for (const char* inner : {"worker:cpu", "worker:reference"}) devices.push_back(open(inner).value());
  return devices;
}

// Several units of work, so that whoever is ahead must not have the word.
TEST(Refusals, AreOneSentenceOnEveryDevice) {
  const Refusal all[] = {
      {"cross_entropy.forward_backward rows=90000 cols=5 ignore_index=-100 index=i32,i64", spoil_integers,
       "labels[30000] = -7;"},
      {"embedding.forward queries=90000 dim=3 vocab=5 padding_index=-100 index=i32,i64", spoil_integers,
       "index[30000] = -7;"},
      {"embedding.backward queries=90000 dim=3 vocab=5 padding_index=-100 index=i32,i64 type=f16,f32", spoil_integers,
       "index[30000] = -7;"},
      {"adamw.step n=3+0+150000+200001 t=1 skip_nonfinite=1 type=f32", spoil_gradients, "tensor 2, position 75000"},
  };
  auto devices = host_devices();
  for (const Refusal& refusal : all) expect_one_sentence(refusal, devices);
}

// Two indices occur too often; the larger one more often.
TEST(Refusals, NameTheSmallestIndexThatOccursTooOften) {
  auto devices = host_devices();
  expect_one_sentence({"embedding.backward queries=16777219 dim=1 vocab=5 index=i32",
                       [](Call& call) {
                         constexpr std::int64_t kMost = std::int64_t{1} << 23;
                         for (std::int64_t i = 0; i < call.operand(1).rows(); ++i)
                           set_integer(call.operand(1), i, i < kMost + 2 ? 3 : 1);
                       },
                       "index value 1 occurs more than 8388608 times"},
                      devices);
}

}  // namespace
}  // namespace tokitai
