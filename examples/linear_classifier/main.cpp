// Trains a linear classifier in half precision on each device named, and compares the weights bit for bit.
#include <tokitai/tokitai.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

using namespace tokitai;
constexpr std::int64_t kRows = 96, kFeatures = 12, kClasses = 3, kSteps = 30;

void must(const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str()), std::exit(1);
}

std::vector<f16> train(const char* name) {
  Device device = open(name).value();
  std::vector<float> points(kRows * kFeatures);
  std::vector<std::int32_t> classes(kRows);
  unsigned random = 1;
  for (std::int64_t row = 0; row < kRows; ++row) {
    classes[row] = static_cast<std::int32_t>(row % kClasses);
    for (std::int64_t i = 0; i < kFeatures; ++i) {
      random = random * 1664525 + 1013904223;
      points[row * kFeatures + i] = (random >> 8) * 0x1p-23f - 1 + (i % kClasses == classes[row] ? 0.7f : 0);
    }
  }
  auto x = device.tensor<f16>(kRows, kFeatures).value();
  auto w = device.tensor<f16>(kFeatures, kClasses).value(), dw = device.tensor<f16>(kFeatures, kClasses).value();
  auto m = device.tensor<float>(w.elements()).value(), v = device.tensor<float>(w.elements()).value();
  auto logits = device.tensor<f16>(kRows, kClasses).value(), dlogits = device.tensor<f16>(kRows, kClasses).value();
  auto labels = device.tensor<std::int32_t>(kRows).value();
  auto loss = device.tensor<float>(kRows).value();
  const std::vector<float> zeros(w.elements());
  must(x.upload(to_f16(points)));
  must(labels.upload(classes));
  must(w.upload(to_f16(zeros)));
  for (auto* moment : {&m, &v}) must(moment->upload(zeros));

  const AdamwTensor weights{.theta = w.flat(), .m = m, .v = v, .grad = dw.flat()};
  for (std::int64_t t = 1; t <= kSteps; ++t) {
    must(gemm_forward(device, {.a = x, .b = w, .c = logits}));
    must(cross_entropy_forward_backward(
        device, {.logits = logits, .labels = labels, .scale = 1.0f / kRows, .loss = loss, .grad = dlogits}));
    must(gemm_grad_b(device, {.dc = dlogits, .a = x, .db = dw}));
    must(adamw_step(device, {.tensors = {&weights, 1}, .lr = 0.1f, .t = t}));
  }
  const std::vector<float> losses = loss.download().value();
  std::printf("%s: loss %.4f\n", name, std::accumulate(losses.begin(), losses.end(), 0.0) / kRows);
  return w.download().value();
}

int main(int count, char** names) {
  if (count < 2) return std::fprintf(stderr, "linear_classifier DEVICE...\n"), 2;
  const std::vector<f16> first = train(names[1]);
  for (int i = 2; i < count; ++i)
    if (!std::ranges::equal(train(names[i]), first, {}, &f16::bits, &f16::bits)) return std::puts("other weights"), 1;
  std::puts("the same weights, bit for bit");
}
