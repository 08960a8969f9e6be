// No machine touches a byte outside of the views. Every operand lies against a page that nobody may touch, behind it or
// in front of it, and rows end in the middle of registers: an access too far ends the test.
#include <gtest/gtest.h>

#include "reports/compare.h"
#include "testing/guarded.h"
#include "tokitai/tokitai.h"

namespace tokitai {
namespace {

using testing::Against;

struct Case {
  std::string isa;  // empty: the reference
  Against side;
};
class Bounds : public ::testing::TestWithParam<Case> {
 protected:
  static Device device() {
    const std::string& isa = GetParam().isa;
    return (isa.empty() ? open("reference") : open("cpu", {.threads = 2, .isa = isa})).value();
  }
  static void expect_within(const std::string& line) {
    SCOPED_TRACE(line);
    const auto problem = problems::parse_problems(line).value().front();
    const auto expected = problems::Instance::make(problem).value();
    const testing::GuardedCall guarded(expected.call(), GetParam().side);
    ASSERT_TRUE(guarded.has_memory());
    Call call = guarded.call(), unguarded = expected.call();
    ASSERT_TRUE(device().run(call).ok());
    ASSERT_TRUE(open("cpu")->run(unguarded).ok());
    const std::vector<Operands> found = guarded.sets();
    for (std::size_t t = 0; t < found.size(); ++t)
      for (std::size_t i = 0; i < call.contract->operands.size(); ++i)
        if (expected.written(i) && found[t][i].present()) {
          EXPECT_EQ(evidence::compare(expected.sets()[t][i], found[t][i]).differing, 0)
              << call.contract->operands[i].name;
        }
  }
};

TEST_P(Bounds, OfOddSizes) {
  for (const std::string type : {" type=f16", " type=bf16", " type=f32"}) {
    expect_within("adamw.step n=1+63+200+0+1025 t=2" + type);
    expect_within("adamw.step n=77 t=2 master=yes skip_nonfinite=1" + type);
    for (const int cols : {1, 5, 17, 63, 255, 300, 2049, 4100}) {
      const std::string rows = " rows=3 cols=" + std::to_string(cols) + type;
      for (const char* name : {"layernorm.forward", "layernorm.backward", "rmsnorm.forward", "rmsnorm.backward",
                               "softmax.forward", "softmax.backward", "cross_entropy.forward_backward"})
        expect_within(name + rows);
      for (const char* name : {"layernorm.forward", "layernorm.backward", "rmsnorm.forward", "rmsnorm.backward"})
        for (const char* sum : {" master=yes", " master=yes single=yes"}) expect_within(name + (sum + rows));
      for (const char* over : {"x", "residual"})
        expect_within(std::string("rmsnorm.forward master=yes in_place=") + over + rows);
      expect_within("cross_entropy.forward_backward in_place=yes" + rows);
      expect_within("layernorm.backward pad=3" + rows);
      for (const char* name : {"swiglu.forward", "swiglu.backward pad=3", "gelu.backward", "add.forward pad=3",
                               "cast.forward to=f16", "cast.forward to=f32 pad=3"})
        expect_within(name + rows);
      const std::string half = std::to_string(cols), width = std::to_string(4 * cols);
      for (const char* name : {"rope.forward", "rope.forward interleaved=1 pad=3", "rope.backward master=yes"})
        expect_within(name + (" tokens=3 positions=3 half=" + half + " width=" + width + type));
      const std::string rows_of = " queries=7 vocab=5 dim=" + std::to_string(cols) + type;
      expect_within("embedding.forward" + rows_of);
      expect_within("embedding.backward" + rows_of);
    }
    for (const char* sizes : {" m=1 n=1 k=1", " m=17 n=33 k=65", " m=5 n=130 k=7"})
      for (const char* name : {"gemm.forward", "gemm.grad_a", "gemm.grad_b"}) expect_within(name + (sizes + type));
  }
}

// Large enough to be streamed past the cache, in rows that begin anywhere in a line.
TEST_P(Bounds, OfWhatIsStreamed) {
  if (GetParam().isa.empty()) GTEST_SKIP() << "the reference streams nothing";
  for (const char* line :
       {"layernorm.forward rows=8209 cols=1031", "layernorm.backward rows=8209 cols=1031",
        "rmsnorm.forward rows=8209 cols=1031 master=yes single=residual",
        "rmsnorm.backward rows=8209 cols=1031 master=yes single=yes", "softmax.forward rows=8209 cols=1031",
        "embedding.forward queries=8209 dim=1031 vocab=9", "embedding.backward queries=11 dim=1031 vocab=8209"})
    expect_within(line);
}

std::vector<Case> cases() {
  std::vector<std::string> isas = cpu_isas();
  isas.emplace_back();
  std::vector<Case> all;
  for (const std::string& isa : isas)
    for (const Against side : {Against::begin, Against::end}) all.push_back({isa, side});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Machine, Bounds, ::testing::ValuesIn(cases()), [](const auto& p) {
  return (p.param.isa.empty() ? "reference" : p.param.isa) + (p.param.side == Against::begin ? "_begin" : "_end");
});

}  // namespace
}  // namespace tokitai
