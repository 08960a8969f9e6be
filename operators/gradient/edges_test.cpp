// What gradient.norm's contract says of its edges, sentence by sentence.
#include <cmath>

#include "operators/tests/edges.h"

namespace tokitai {
namespace {

constexpr char kTypes[] = " type=f16,bf16,f32";
std::string in_every_type(std::string_view line) { return std::string(line) + kTypes; }

TEST(GradientEdges, ANormIsThatOfAllItsTensors) {
  on_every_device(
      in_every_type("gradient.norm n=3000+0+5+1 max_norm=0.5 grad_scale=2"),
      [](const Operand& of) {
        const Operands* set = of.set;  // the list's sets lie one behind the other
        set_all(set[0][0], 0.25f);
        set_all(set[2][0], -2.0f);
        set_all(set[3][0], 4.0f);
      },
      [](const Operand& of) {
        const float norm = 2 * std::sqrt(3000 * 0.0625f + 5 * 4 + 16);
        EXPECT_FLOAT_EQ(value_at(of("norm"), 0), norm);
        EXPECT_FLOAT_EQ(value_at(of("scale"), 0), 0.5f / norm);
      });
}

TEST(GradientEdges, ANanMakesBothNan) {
  on_every_device(
      in_every_type("gradient.norm n=5+300"), [](const Operand& of) { reference::write(of.set[1][0], 299, 0, kNan); },
      [](const Operand& of) {
        EXPECT_TRUE(is_canonical_nan(of("norm"), 0));
        EXPECT_TRUE(is_canonical_nan(of("scale"), 0));
      });
}

TEST(GradientEdges, AnInfinityOrAnOverflowGivesInfinityAndZero) {
  const auto expect_none = [](const Operand& of) {
    EXPECT_EQ(value_at(of("norm"), 0), kInfinity);
    EXPECT_TRUE(is_plus_zero(value_at(of("scale"), 0)));
  };
  for (const float bad : {kInfinity, -kInfinity})
    on_every_device(
        in_every_type("gradient.norm n=5+300"), [&](const Operand& of) { reference::write(of.set[1][0], 7, 0, bad); },
        expect_none);
  on_every_device(
      "gradient.norm n=5 type=bf16,f32", [](const Operand& of) { set_all(of("grad"), 0x1p64f); }, expect_none);
  on_every_device(
      in_every_type("gradient.norm n=5 grad_scale=3e38"), [](const Operand& of) { set_all(of("grad"), 2.0f); },
      expect_none);
}

TEST(GradientEdges, WithoutElementsTheNormIsZero) {
  const auto nothing = [](const Operand&) {};
  for (const char* line : {"gradient.norm n=0,0+0+0", "gradient.norm n=0 grad_scale=-0 max_norm=1e9"})
    on_every_device(in_every_type(line), nothing, [](const Operand& of) {
      EXPECT_TRUE(is_plus_zero(value_at(of("norm"), 0)));
      EXPECT_EQ(value_at(of("scale"), 0), 1);
    });
}

TEST(GradientEdges, EmptyTensorsChangeNothing) {
  for (Device& device : host_devices()) {
    float norms[2][2];
    int which = 0;
    for (const char* line : {"gradient.norm n=300+2049+7", "gradient.norm n=0+300+0+0+2049+7+0"}) {
      const problems::Problem problem = problems::parse_problems(line).value().front();
      const auto instance = problems::Instance::make(problem).value();
      for (const Operands& set : instance.sets())
        for (std::int64_t i = 0; i < set[0].elements(); ++i)
          reference::write(set[0], i, 0, static_cast<float>(i % 7) - 2.5f);
      Call call = instance.call();
      ASSERT_TRUE(device.run(call).ok());
      for (int out = 0; out < 2; ++out)
        norms[which][out] = value_at(instance.sets()[0][static_cast<std::size_t>(out + 1)], 0);
      ++which;
    }
    EXPECT_EQ(bits(norms[0][0]), bits(norms[1][0])) << device.description();
    EXPECT_EQ(bits(norms[0][1]), bits(norms[1][1])) << device.description();
  }
}

TEST(GradientEdges, SubnormalsAreKept) {
  on_every_device(
      "gradient.norm n=1 type=f32,bf16 grad_scale=1e-30", [](const Operand& of) { set_all(of("grad"), 0x1p-40f); },
      [](const Operand& of) { EXPECT_TRUE(is_subnormal(value_at(of("norm"), 0), Type::f32)); });
}

TEST(GradientEdges, SquaresOfTinyGradientsVanish) {
  on_every_device(
      "gradient.norm n=5000 type=f32,bf16", [](const Operand& of) { set_all(of("grad"), 0x1.fep-76f); },
      [](const Operand& of) { EXPECT_TRUE(is_plus_zero(value_at(of("norm"), 0))); });
}

}  // namespace
}  // namespace tokitai
