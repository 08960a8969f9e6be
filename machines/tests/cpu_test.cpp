// The public calls on the cpu and reference devices: what is refused, what is left alone, and that all agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

#include "numerics/half.h"
#include "numerics/philox.h"
#include "tokitai/tokitai.h"

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>
#endif

namespace tokitai {
namespace {

std::vector<f16> halves(std::int64_t n, std::uint64_t stream = 0) {
  const Philox random{.seed = 3, .stream = stream};
  std::vector<f16> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i].bits = narrow_f16(random.normal(i));
  return values;
}
template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}
bool mentions(const Status& status, std::string_view words) {
  return status.message().find(words) != std::string::npos;
}

// Every device this machine can open, the reference first.
std::vector<Device> all_devices() {
  std::vector<Device> devices{open("reference").value()};
  for (const std::string& isa : cpu_isas())
    for (int threads : {1, 3}) devices.push_back(open("cpu", {.threads = threads, .isa = isa}).value());
  return devices;
}

struct Normalised {
  std::vector<f16> y;
  std::vector<float> mean, rstd;
  bool operator==(const Normalised& o) const {
    return same_bits(y, o.y) && same_bits(mean, o.mean) && same_bits(rstd, o.rstd);
  }
};
Normalised normalise(Device& device, const std::vector<f16>& x, std::int64_t rows, std::int64_t cols) {
  static const auto gamma = halves(1000, 1), beta = halves(1000, 2);  // made once: in the default mode
  Normalised out{std::vector<f16>(x.size()), std::vector<float>(static_cast<std::size_t>(rows)),
                 std::vector<float>(static_cast<std::size_t>(rows))};
  const Status status = layernorm_forward(device, {.x = matrix(x.data(), rows, cols),
                                                   .gamma = vector(gamma.data(), cols),
                                                   .beta = vector(beta.data(), cols),
                                                   .y = matrix(out.y.data(), rows, cols),
                                                   .mean = vector(out.mean.data(), rows),
                                                   .rstd = vector(out.rstd.data(), rows)});
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

TEST(Devices, GiveTheSameBits) {
  const auto x = halves(37 * 515);
  auto devices = all_devices();
  const Normalised expected = normalise(devices[0], x, 37, 515);
  for (Device& device : devices) EXPECT_TRUE(normalise(device, x, 37, 515) == expected) << device.description();
}

// Exponentials below the normal range, which one instruction set scales by an instruction of its own: every float from
// e^-87 down to where e^x rounds to zero, 64 apart, beside a maximum that makes the divisor 1 or a little more.
TEST(Devices, GiveTheSameSubnormalExponentials) {
  std::vector<float> x{0.0f};
  for (std::uint32_t u = bits(-87.0f); u < bits(-106.0f); u += 64) x.push_back(from_bits(u));
  const auto cols = static_cast<std::int64_t>(x.size());
  auto devices = all_devices();
  std::vector<float> expected;
  for (Device& device : devices) {
    std::vector<float> y(x.size());
    ASSERT_TRUE(softmax_forward(device, {.x = matrix(x.data(), 1, cols), .y = matrix(y.data(), 1, cols)}).ok());
    if (expected.empty()) expected = y;
    EXPECT_TRUE(same_bits(y, expected)) << device.description();
  }
  EXPECT_LT(expected[expected.size() / 2], std::numeric_limits<float>::min());
  EXPECT_GT(expected[expected.size() / 2], 0.0f);
}

// A NaN alone among numbers, in each place of four registers that are asked at once, and behind them.
TEST(Devices, MakeEveryNanCanonical) {
  constexpr std::int64_t kCols = 70;
  std::vector<float> x(kCols), gamma(kCols, 1.0f), y(kCols), mean(1), rstd(1);
  std::iota(x.begin(), x.end(), 0.0f);
  for (Device& device : all_devices())
    for (std::size_t at = 0; at < kCols; ++at) {
      std::vector<float> beta(kCols, 0.0f);
      beta[at] = from_bits(0xffc12345u);
      ASSERT_TRUE(layernorm_forward(device, {.x = matrix(x.data(), 1, kCols),
                                             .gamma = vector(gamma.data(), kCols),
                                             .beta = vector(beta.data(), kCols),
                                             .y = matrix(y.data(), 1, kCols),
                                             .mean = vector(mean.data(), 1),
                                             .rstd = vector(rstd.data(), 1)})
                      .ok());
      EXPECT_EQ(bits(y[at]), kCanonicalNan) << device.description() << ", column " << at;
    }
}

TEST(Devices, AreRefusedByNameWhereUnknown) {
  const auto device = open("tpu");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), Code::unavailable);
  EXPECT_TRUE(mentions(device.status(), "'tpu'"));
  EXPECT_TRUE(mentions(device.status(), "cpu, reference"));
}

TEST(Devices, RefuseAnUnknownInstructionSet) {
  const auto device = open("cpu", {.isa = "mmx"});
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), Code::invalid);
  EXPECT_TRUE(mentions(device.status(), "isa = mmx"));
  EXPECT_TRUE(mentions(device.status(), cpu_isas().back()));
}

TEST(Devices, TakeWhatMultipliesIntegersBesideAnInstructionSet) {
  for (const std::string& integers : cpu_integers()) {
    const auto device = open("cpu", {.isa = integers});
    ASSERT_TRUE(device.ok()) << integers;
    EXPECT_TRUE(device->description().starts_with(integers.substr(0, integers.find('+')))) << device->description();
  }
  for (const char* wrong : {"portable+", "+plain", "+", "portable+mmx", "mmx+plain", "portable+plain+plain"}) {
    const auto device = open("cpu", {.isa = wrong});
    ASSERT_FALSE(device.ok()) << wrong;
    EXPECT_EQ(device.status().code(), Code::invalid) << wrong;
    EXPECT_TRUE(mentions(device.status(), "portable+plain")) << wrong;
  }
  EXPECT_EQ(open("cpu", {.isa = "portable+amx"}).status().code(), Code::unavailable);
}

#if defined(__x86_64__)
// In a process of its own, where nobody has multiplied yet.
TEST(Devices, AskForTilesOnlyToMultiplyWithThem) {
  constexpr const char* kFresh = "TOKITAI_TEST_TILES";
  if (std::getenv(kFresh) == nullptr) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv(kFresh, "1", 1);
      ::execl("/proc/self/exe", "machine_test", "--gtest_filter=Devices.AskForTilesOnlyToMultiplyWithThem", nullptr);
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return;
  }
  const auto granted = [] {
    unsigned long features = 0;
    return ::syscall(SYS_arch_prctl, 0x1022L, &features) == 0 && (features >> 18 & 1u) != 0;  // ARCH_GET_XCOMP_PERM
  };
  const auto integers = cpu_integers();
  for (const std::string& one : integers) static_cast<void>(open("cpu", {.isa = one}));
  EXPECT_FALSE(granted());
  Device device = open("cpu").value();
  const std::vector<float> a(4, 1), b(4, 1);
  float c = 0;
  ASSERT_TRUE(gemm_forward(device, {.a = matrix(a.data(), 1, 4),
                                    .b = matrix(b.data(), 4, 1),
                                    .c = matrix(&c, 1, 1),
                                    .arithmetic = GemmArithmetic::block15})
                  .ok());
  EXPECT_EQ(c, 4);
  EXPECT_EQ(granted(), std::find(integers.begin(), integers.end(), "avx512+amx") != integers.end());
}
#endif

TEST(Devices, RefuseThreadsOutOfRange) {
  for (int threads : {-1, 1025, std::numeric_limits<int>::min()}) {
    const auto device = open("cpu", {.threads = threads});
    ASSERT_FALSE(device.ok());
    EXPECT_EQ(device.status().code(), Code::invalid);
    EXPECT_TRUE(mentions(device.status(), "threads = " + std::to_string(threads)));
    EXPECT_TRUE(mentions(device.status(), "1024"));
  }
  EXPECT_EQ(open("cpu", {.threads = 7}).value().threads(), 7);
  EXPECT_GE(open("cpu").value().threads(), 1);
  EXPECT_EQ(open("reference").value().threads(), 1);
}

TEST(Devices, ListThePortableInstructionSetLast) {
  const auto isas = cpu_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.back(), "portable");
  EXPECT_TRUE(open("cpu").value().description().starts_with(isas.front()));
}

#if defined(__x86_64__)
TEST(FloatingPointMode, OfTheCallerNeitherChangesBitsNorIsChanged) {
  auto x = halves(9 * 300);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i].bits &= 0x83ff;  // subnormals
  auto devices = all_devices();
  const Normalised expected = normalise(devices[0], x, 9, 300);
  const unsigned saved = _mm_getcsr();
  for (Device& device : devices) {
    const unsigned hostile = 0x1F80 | 0x8000 | 0x0040 | 0x4000;  // flush to zero, denormals are zero, round up
    _mm_setcsr(hostile);
    const Normalised found = normalise(device, x, 9, 300);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    EXPECT_TRUE(found == expected) << device.description();
    EXPECT_EQ(after & ~0x3fu, hostile) << device.description();
  }
}

TEST(FloatingPointMode, IsRestoredAfterARefusal) {
  Device device = open("cpu", {.threads = 1}).value();
  const unsigned saved = _mm_getcsr(), hostile = 0x1F80 | 0x8000 | 0x4000;
  _mm_setcsr(hostile);
  const Status status = softmax_forward(device, {});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(after & ~0x3fu, hostile);
}
#endif

TEST(WorkspaceQuery, AnswersWithoutRunningAndRefusesWhatRunRefuses) {
  Device device = open("cpu", {.threads = 2}).value();
  auto x = halves(6);
  std::vector<f16> y(6, f16{0x5a5a});
  const auto bytes = workspace(device, SoftmaxForward{.x = matrix(x.data(), 2, 3), .y = matrix(y.data(), 2, 3)});
  ASSERT_TRUE(bytes.ok());
  EXPECT_GT(bytes.value(), 0);
  EXPECT_EQ(y[0].bits, 0x5a5a);
  EXPECT_EQ(device.scratch_bytes(), 0);
  const auto refused = workspace(device, SoftmaxForward{.x = matrix(x.data(), 2, 3), .y = matrix(y.data(), 3, 2)});
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(mentions(refused.status(), "y has shape [3, 2]"));
}

TEST(RowStrides, LeaveTheGapsUntouched) {
  constexpr std::int64_t kRows = 5, kCols = 301, kStride = 310;
  const auto x = halves(kRows * kCols);
  std::vector<f16> wide_x(kRows * kStride, f16{0x7e01});  // NaN between the rows: it must not be read either
  for (std::int64_t r = 0; r < kRows; ++r) std::copy_n(x.begin() + r * kCols, kCols, wide_x.begin() + r * kStride);
  for (Device& device : all_devices()) {
    std::vector<f16> y(x.size()), wide_y(kRows * kStride, f16{0x5a5a});
    ASSERT_TRUE(
        softmax_forward(device, {.x = matrix(x.data(), kRows, kCols), .y = matrix(y.data(), kRows, kCols)}).ok());
    ASSERT_TRUE(softmax_forward(device, {.x = matrix(wide_x.data(), kRows, kCols, kStride),
                                         .y = matrix(wide_y.data(), kRows, kCols, kStride)})
                    .ok());
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t c = 0; c < kStride; ++c)
        ASSERT_EQ(wide_y[static_cast<std::size_t>(r * kStride + c)].bits,
                  c < kCols ? y[static_cast<std::size_t>(r * kCols + c)].bits : 0x5a5a)
            << device.description() << " row " << r << " column " << c;
  }
}

TEST(SkipNonfinite, ChangesNothingAndSaysSo) {
  constexpr std::int64_t kN = 140000;  // several units of work
  const auto theta0 = halves(kN, 1), grad0 = halves(kN, 2);
  for (Device& device : all_devices())
    for (const float bad : {kInfinity, -kInfinity, std::nanf(""), 60000.0f}) {  // 60000 * 1e35 overflows
      auto theta = theta0, grad = grad0;
      std::vector<float> m(kN, 0.25f), v(kN, 0.5f);
      const auto m0 = m, v0 = v;
      const AdamwTensor list[] = {
          {vector(theta.data(), 3), vector(m.data(), 3), vector(v.data(), 3), vector(grad.data(), 3)},
          {vector(theta.data() + 3, kN - 3), vector(m.data() + 3, kN - 3), vector(v.data() + 3, kN - 3),
           vector(grad.data() + 3, kN - 3)}};
      AdamwStep step{.tensors = list, .t = 1, .grad_scale = 1e35f, .skip_nonfinite = true};
      bool skipped = false;
      step.skipped = &skipped;
      grad[kN - 1].bits = narrow_f16(bad);
      ASSERT_TRUE(adamw_step(device, step).ok());
      EXPECT_TRUE(skipped) << device.description();
      EXPECT_TRUE(same_bits(theta, theta0) && same_bits(m, m0) && same_bits(v, v0)) << device.description();
      grad[kN - 1].bits = 0;
      step.grad_scale = 1;
      ASSERT_TRUE(adamw_step(device, step).ok());
      EXPECT_FALSE(skipped) << device.description();
      EXPECT_FALSE(same_bits(theta, theta0)) << device.description();
    }
}

TEST(Labels, OutOfRangeNameTheFirstRowAndWriteNothing) {
  constexpr std::int64_t kRows = 50000, kCols = 3;  // several units of work
  const auto logits = halves(kRows * kCols);
  for (Device& device : all_devices())
    for (const std::int64_t value : {kCols, std::int64_t{-1}, std::int64_t{1} << 40}) {
      std::vector<std::int64_t> labels(kRows, 1);
      labels[20003] = labels[20004] = labels[40000] = value;
      labels[100] = -100;  // ignored
      std::vector<float> loss(kRows, -7);
      std::vector<f16> grad(kRows * kCols, f16{0x5a5a});
      const auto loss0 = loss;
      const auto grad0 = grad;
      const Status status = cross_entropy_forward_backward(device, {.logits = matrix(logits.data(), kRows, kCols),
                                                                    .labels = vector(labels.data(), kRows),
                                                                    .ignore_index = -100,
                                                                    .loss = vector(loss.data(), kRows),
                                                                    .grad = matrix(grad.data(), kRows, kCols)});
      EXPECT_EQ(status.code(), Code::invalid);
      EXPECT_TRUE(mentions(status, "labels[20003] = " + std::to_string(value) + ";")) << status.message();
      EXPECT_TRUE(mentions(status, "[0, 3)")) << status.message();
      EXPECT_TRUE(same_bits(loss, loss0) && same_bits(grad, grad0)) << device.description();
    }
}

TEST(Labels, BelowZeroAreToldHowToBeIgnored) {
  const auto logits = halves(6);
  for (Device& device : all_devices())
    for (const std::int32_t value : {-100, -1, 3}) {
      const std::int32_t labels[] = {0, value};
      float loss[2];
      f16 grad[6];
      const Status status = cross_entropy_forward_backward(device, {.logits = matrix(logits.data(), 2, 3),
                                                                    .labels = vector(labels, 2),
                                                                    .loss = vector(loss, 2),
                                                                    .grad = matrix(grad, 2, 3)});
      EXPECT_EQ(status.code(), Code::invalid);
      EXPECT_EQ(mentions(status, "set ignore_index=" + std::to_string(value) + " to leave such rows out"), value < 0)
          << status.message();
    }
}

TEST(Indices, OutOfRangeNameTheFirstPositionAndWriteNothing) {
  constexpr std::int64_t kQueries = 50000, kVocab = 4;
  const auto weight = halves(kVocab), dy = halves(kQueries);
  for (Device& device : all_devices())
    for (const std::int32_t value : {4, -2}) {
      std::vector<std::int32_t> index(kQueries, 3);
      index[17000] = index[49999] = value;
      index[5] = -1;  // padding
      std::vector<f16> y(kQueries, f16{0x5a5a}), dweight(kVocab, f16{0x5a5a});
      const ConstView at = vector(index.data(), kQueries);
      const Status forward = embedding_forward(device, {.weight = matrix(weight.data(), kVocab, 1),
                                                        .index = at,
                                                        .padding_index = -1,
                                                        .y = matrix(y.data(), kQueries, 1)});
      const Status backward = embedding_backward(device, {.dy = matrix(dy.data(), kQueries, 1),
                                                          .index = at,
                                                          .padding_index = -1,
                                                          .dweight = matrix(dweight.data(), kVocab, 1)});
      for (const Status& status : {forward, backward}) {
        EXPECT_EQ(status.code(), Code::invalid);
        EXPECT_TRUE(mentions(status, "index[17000] = " + std::to_string(value) + ";")) << status.message();
        EXPECT_TRUE(mentions(status, "[0, 4)")) << status.message();
      }
      for (const f16 e : y) ASSERT_EQ(e.bits, 0x5a5a) << device.description();
      for (const f16 e : dweight) ASSERT_EQ(e.bits, 0x5a5a) << device.description();
    }
}

TEST(EmbeddingBackward, IsExactBeyondWhatADoubleHolds) {
  // 10000 times the largest f16 and its negative cancel; what is left is one unit of 2^-24 per extra term.
  constexpr std::int64_t kPairs = 10000, kUnits = 9000, kQueries = 2 * kPairs + kUnits, kDim = 19;
  std::vector<f16> dy(kQueries * kDim);
  for (std::int64_t i = 0; i < kQueries; ++i)
    for (std::int64_t c = 0; c < kDim; ++c)
      dy[static_cast<std::size_t>(i * kDim + c)].bits = i < kPairs ? 0x7bff : i < kPairs + kUnits ? 0x0001 : 0xfbff;
  const std::vector<std::int64_t> index(kQueries, 1);
  for (Device& device : all_devices()) {
    std::vector<f16> dweight(3 * kDim);
    ASSERT_TRUE(embedding_backward(device, {.dy = matrix(dy.data(), kQueries, kDim),
                                            .index = vector(index.data(), kQueries),
                                            .dweight = matrix(dweight.data(), 3, kDim)})
                    .ok());
    for (std::int64_t c = 0; c < kDim; ++c) {
      EXPECT_EQ(widen_f16(dweight[static_cast<std::size_t>(kDim + c)].bits), kUnits * 0x1p-24f) << device.description();
      EXPECT_EQ(dweight[static_cast<std::size_t>(c)].bits, 0) << device.description();
    }
  }
}

TEST(EmbeddingBackward, RoundsAnExactSumOnce) {
  // 1 + 2^-11 + 2^-24 is above the middle between two f16 values; rounded to f32 first it would be the middle.
  constexpr std::int64_t kDim = 21;
  std::vector<f16> dy;
  for (const f16 term : {f16{0x3c00}, f16{0x1000}, f16{0x0001}}) dy.insert(dy.end(), kDim, term);
  const std::vector<std::int64_t> index(3, 0);
  for (Device& device : all_devices()) {
    std::vector<f16> dweight(kDim);
    ASSERT_TRUE(embedding_backward(device, {.dy = matrix(dy.data(), 3, kDim),
                                            .index = vector(index.data(), 3),
                                            .dweight = matrix(dweight.data(), 1, kDim)})
                    .ok());
    for (const f16 sum : dweight) EXPECT_EQ(sum.bits, 0x3c01) << device.description();
  }
}

TEST(EmbeddingBackward, RefusesMoreEqualIndicesThanAnExactSumHolds) {
  constexpr std::int64_t kMost = std::int64_t{1} << 23;
  const std::vector<f16> dy(kMost + 1, f16{0x7bff});  // 65504, the largest
  const std::vector<std::int32_t> index(kMost + 1, 1);
  for (Device device : {open("reference").value(), open("cpu", {.threads = 2}).value()}) {
    std::vector<float> dweight(2, -7);
    const auto call = [&](std::int64_t queries) {
      return embedding_backward(device, {.dy = matrix(dy.data(), queries, 1),
                                         .index = vector(index.data(), queries),
                                         .dweight = matrix(dweight.data(), 2, 1)});
    };
    const Status status = call(kMost + 1);
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_TRUE(mentions(status, "index value 1 occurs more than 8388608 times")) << status.message();
    EXPECT_EQ(dweight[1], -7);
    ASSERT_TRUE(call(kMost).ok());
    EXPECT_EQ(dweight[1], 65504.0f * kMost) << device.description();
  }
}

}  // namespace
}  // namespace tokitai
