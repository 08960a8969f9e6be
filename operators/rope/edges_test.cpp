// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include <cmath>

#include "operators/tests/edges.h"
#include "tokitai/rope.h"

namespace tokitai {
namespace {

TEST(RopeEdges, EveryNanThatIsStoredIsCanonical) {
  expect_canonical_nans("rope.forward tokens=9 positions=9 half=4 width=24");
  expect_canonical_nans("rope.backward tokens=9 positions=9 half=4 width=24 interleaved=1");
}
TEST(RopeEdges, SubnormalsAreKept) {
  for (const auto& [line, in, out] : {std::tuple("rope.forward tokens=1 positions=1 half=1 width=2", "x", "y"),
                                      std::tuple("rope.backward tokens=1 positions=1 half=1 width=2", "dy", "dx")})
    expect_subnormal(line, out, [&](const Operand& of) {
      set_row(of(in), 0, {three(of(in)), 0});
      set_all(of("cos"), 1);
      set_all(of("sin"), 0);
    });
}
TEST(RopeEdges, NanAndInfinitySpreadAsTheFormulaSays) {
  for (const auto& [line, in, out] : {std::tuple("rope.forward tokens=1 positions=1 half=2 width=4", "x", "y"),
                                      std::tuple("rope.backward tokens=1 positions=1 half=2 width=4", "dy", "dx")})
    on_every_device(
        in_every_type(line),
        [&](const Operand& of) {
          set_row(of(in), 0, {kNan, kInfinity, 1, 1});
          set_all(of("cos"), 0.5f);
          set_all(of("sin"), 0.25f);
        },
        [&](const Operand& of) {
          EXPECT_TRUE(is_canonical_nan(of(out), 0, 0) && is_canonical_nan(of(out), 0, 2));
          EXPECT_EQ(value_at(of(out), 0, 1), kInfinity);
          EXPECT_EQ(std::fabs(value_at(of(out), 0, 3)), kInfinity);
        });
}
TEST(RopeEdges, APositionOutsideTheTableIsRefusedAndNothingIsWritten) {
  for (const char* line : {"rope.forward tokens=700 positions=9 half=4 width=24 index=i32,i64 master=yes",
                           "rope.backward tokens=700 positions=9 half=4 width=24 index=i32,i64 master=yes"})
    for (const problems::Problem& problem : problems::parse_problems(line).value())
      for (Device& device : host_devices())
        for (const std::int64_t bad : {-1, 9}) {
          auto instance = problems::Instance::make(problem).value();
          instance.reset(std::byte{0x5a});
          Call call = instance.call();
          for (const std::int64_t token : {600, 650}) {
            if (problem.index == Type::i32)
              static_cast<std::int32_t*>(call.operand(3).data)[token] = static_cast<std::int32_t>(bad);
            else
              static_cast<std::int64_t*>(call.operand(3).data)[token] = bad;
          }
          const Status status = device.run(call);
          EXPECT_EQ(status.code(), Code::invalid);
          EXPECT_NE(status.message().find("position[600] = " + std::to_string(bad)), std::string::npos)
              << status.message();
          const auto* bytes = static_cast<const std::byte*>(call.operand(4).data);
          for (std::int64_t i = 0; i < problems::extent_of(call.operand(4)); ++i) ASSERT_EQ(bytes[i], std::byte{0x5a});
        }
}
TEST(RopeEdges, ConditionsAreChecked) {
  float x[24] = {}, cos[4] = {}, sin[4] = {};
  Device device = open("cpu").value();
  const auto refused = [&](const RopeForward& arguments, std::string_view words) {
    const Status status = rope_forward(device, arguments);
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  const auto half2 = matrix(cos, 2, 2);
  refused({.x = matrix(x, 2, 6), .cos = half2, .sin = matrix(sin, 2, 2), .y = matrix(x + 12, 2, 6)}, "x has 6 columns");
  refused({.x = matrix(x, 3, 4), .cos = half2, .sin = matrix(sin, 2, 2), .y = matrix(x + 12, 3, 4)},
          "positions are counted up to 2, but the table has 2");
  EXPECT_TRUE(
      rope_forward(device,
                   {.x = matrix(x, 3, 4), .cos = half2, .sin = matrix(sin, 2, 2), .seq = 2, .y = matrix(x + 12, 3, 4)})
          .ok());
}
// Turned there and back: what the forward turns by an angle the backward turns back, pair by pair, both ways to pair.
TEST(RopeEdges, ComputesItsFormula) {
  for (const bool interleaved : {false, true}) {
    float x[2][8], y[2][8], cos[2][2], sin[2][2];
    for (int i = 0; i < 16; ++i) x[i / 8][i % 8] = static_cast<float>(i) - 7.5f;
    ASSERT_TRUE(rope_table({.base = 100, .cos = matrix(&cos[0][0], 2, 2), .sin = matrix(&sin[0][0], 2, 2)}).ok());
    Device device = open("cpu").value();
    ASSERT_TRUE(rope_forward(device, {.x = matrix(&x[0][0], 2, 8),
                                      .cos = matrix(&cos[0][0], 2, 2),
                                      .sin = matrix(&sin[0][0], 2, 2),
                                      .interleaved = interleaved,
                                      .y = matrix(&y[0][0], 2, 8)})
                    .ok());
    for (int t = 0; t < 2; ++t)
      for (int head = 0; head < 2; ++head)
        for (int d = 0; d < 2; ++d) {
          const int first = 4 * head + (interleaved ? 2 * d : d), second = first + (interleaved ? 1 : 2);
          const double angle = t * std::pow(100.0, -d / 2.0);
          EXPECT_NEAR(y[t][first], x[t][first] * std::cos(angle) - x[t][second] * std::sin(angle), 1e-5);
          EXPECT_NEAR(y[t][second], x[t][second] * std::cos(angle) + x[t][first] * std::sin(angle), 1e-5);
        }
    ASSERT_TRUE(rope_backward(device, {.dy = matrix(&y[0][0], 2, 8),
                                       .cos = matrix(&cos[0][0], 2, 2),
                                       .sin = matrix(&sin[0][0], 2, 2),
                                       .interleaved = interleaved,
                                       .dx = matrix(&y[0][0], 2, 8)})
                    .ok());
    for (int i = 0; i < 16; ++i) EXPECT_NEAR(y[i / 8][i % 8], x[i / 8][i % 8], 1e-5);
  }
}
// The table is taken as given.
TEST(RopeEdges, NothingChecksTheTable) {
  on_every_device(
      "rope.forward tokens=1 positions=1 half=1 width=2 type=f32",
      [](const Operand& of) {
        set_row(of("x"), 0, {1, 2});
        set_all(of("cos"), 3);
        set_all(of("sin"), 0);
      },
      [](const Operand& of) { EXPECT_EQ(value_at(of("y"), 0, 1), 6); });
}

}  // namespace
}  // namespace tokitai
