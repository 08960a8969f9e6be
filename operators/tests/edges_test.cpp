// What contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what they say they
// do not claim, by an example of each. contract/tests/promises.txt says which test is for which sentence.
#include <cmath>

#include "evidence/compare.h"
#include "operators/tests/edges.h"
#include "tokitai/cross_entropy.h"

namespace tokitai {
namespace {

constexpr char kTypes[] = " type=f16,bf16,f32";
std::string in_every_type(std::string_view line) { return std::string(line) + kTypes; }
float largest(Type type) { return type == Type::f16 ? 65504.0f : type == Type::bf16 ? 0x1.fep127f : 0x1.fffffep127f; }
float smallest(Type type) { return type == Type::f16 ? 0x1p-24f : type == Type::bf16 ? 0x1p-133f : 0x1p-149f; }

TEST(Edges, EveryNanThatIsStoredIsCanonical) {
  for (const char* line :
       {"adamw.step n=300 t=1", "gradient.norm n=300", "layernorm.forward rows=9 cols=100",
        "softmax.backward rows=9 cols=100", "layernorm.backward rows=9 cols=100", "softmax.forward rows=9 cols=100",
        "cross_entropy.forward_backward rows=9 cols=100 reduction=sum master=yes",
        "embedding.backward queries=90 dim=20 vocab=9",
        "embedding.backward queries=90 dim=20 vocab=9 single=yes accumulate=1", "gemm.forward m=9 n=20 k=3",
        "gemm.grad_a m=9 n=3 k=20", "gemm.grad_b m=3 n=20 k=9"}) {
    std::int64_t nans = 0;
    const testing::Problem problem = testing::parse_problems(line).value().front();
    on_every_device(
        in_every_type(line) + " data=special",
        [&](const Operand& operand) {
          for (const OperandSpec& spec : problem.contract->operands)  // a NaN of other bits in every input
            if (const View& view = operand(spec.name);
                view.present() && spec.role != Role::out && spec.type != TypeRule::index)
              for (std::int64_t r = 0; r < view.rows(); r += 2) {
                if (view.type == Type::f32)
                  reference::at<float>(view, r, 0) = kNan;
                else
                  reference::at<std::uint16_t>(view, r, 0) = view.type == Type::f16 ? 0xfe01 : 0xffc1;
              }
        },
        [&](const Operand& operand) {
          for (const OperandSpec& spec : problem.contract->operands)
            if (const View& view = operand(spec.name);
                view.present() && spec.role != Role::in && spec.type != TypeRule::i64)
              for (std::int64_t r = 0; r < view.rows(); ++r)
                for (std::int64_t c = 0; c < view.cols(); ++c)
                  if (is_nan(value_at(view, r, c))) {
                    ++nans;
                    ASSERT_TRUE(is_canonical_nan(view, r, c)) << spec.name << "[" << r << ", " << c << "]";
                  }
        });
    EXPECT_GT(nans, 0) << line;
  }
}

// In each operator a number below the normal range comes in, is computed with and comes out.
TEST(Edges, SubnormalsAreKept) {
  const auto expect_kept = [](std::string_view line, std::string_view output, auto fill) {
    on_every_device(in_every_type(line), fill, [&](const Operand& operand) {
      EXPECT_TRUE(is_subnormal(value_at(operand(output), 0, 0), operand(output).type)) << line;
    });
  };
  const auto three = [](const View& view) { return 3 * smallest(view.type); };
  expect_kept("adamw.step n=1 t=1", "m", [&](const Operand& of) {
    set_all(of("m"), 3 * smallest(Type::f32));
    set_all(of("grad"), 0);
  });
  expect_kept("adamw.step n=1 t=1 lr=0", "theta", [&](const Operand& of) { set_all(of("theta"), three(of("theta"))); });
  expect_kept("layernorm.forward rows=1 cols=1", "y",
              [&](const Operand& of) { set_all(of("beta"), three(of("beta"))); });
  expect_kept("layernorm.backward rows=1 cols=1 single=no", "dbeta",
              [&](const Operand& of) { set_all(of("dy"), three(of("dy"))); });
  expect_kept("softmax.backward rows=1 cols=2", "dx", [&](const Operand& of) {
    set_row(of("dy"), 0, {1, 0});
    set_row(of("y"), 0, {three(of("y")), 0});
  });
  const auto product = [&](const char* subnormal, const char* one) {
    return [=](const Operand& of) {
      set_all(of(subnormal), three(of(subnormal)));
      set_all(of(one), 1);
    };
  };
  expect_kept("gemm.forward m=1 n=1 k=1", "c", product("a", "b"));
  expect_kept("gemm.grad_a m=1 n=1 k=1", "da", product("dc", "b"));
  expect_kept("gemm.grad_b m=1 n=1 k=1", "db", product("dc", "a"));
}

TEST(AdamwEdges, AGradientThatIsNotFiniteSpreads) {
  for (const float bad : {kInfinity, -kInfinity, kNan})
    on_every_device(
        in_every_type("adamw.step n=5 t=1 master=no,yes"),
        [&](const Operand& of) { reference::write(of("grad"), 3, 0, bad); },
        [&](const Operand& of) {
          EXPECT_TRUE(is_nan(value_at(of("theta"), 3)));
          for (const char* moment : {"m", "v"}) EXPECT_FALSE(std::isfinite(value_at(of(moment), 3)));
          for (const char* name : {"theta", "m", "v"}) EXPECT_TRUE(std::isfinite(value_at(of(name), 2)));
        });
}
// Also an empty tensor among them.
TEST(AdamwEdges, AnyGroupingIntoListsGivesTheSameBits) {
  for (const testing::Problem& problem :
       testing::parse_problems(in_every_type("adamw.step n=5+0+70001+9 t=3 master=no,yes")).value())
    for (Device& device : host_devices()) {
      SCOPED_TRACE(problem.text() + " on " + device.description());
      const auto together = testing::Instance::make(problem).value(), apart = testing::Instance::make(problem).value();
      Call call = together.call();
      ASSERT_TRUE(device.run(call).ok());
      for (const Operands& set : apart.sets()) {
        Call one = apart.call();
        one.list = {set};
        if (set[0].elements() > 0) {
          ASSERT_TRUE(device.run(one).ok());
        }
      }
      for (std::size_t t = 0; t < apart.sets().size(); ++t)
        for (std::size_t i = 0; i < problem.contract->operands.size(); ++i)
          if (apart.sets()[t][i].elements() > 0) {
            EXPECT_EQ(evidence::compare(together.sets()[t][i], apart.sets()[t][i]).differing, 0);
          }
    }
}
TEST(AdamwEdges, ANegativeVGivesNan) {
  on_every_device(
      in_every_type("adamw.step n=3 t=1"), [](const Operand& of) { set_all(of("v"), -100); },
      [](const Operand& of) { EXPECT_TRUE(is_nan(value_at(of("theta"), 0))); });
}

// A norm decides alone: gradients that are not finite do not stop a step, and finite ones do not start it.
TEST(AdamwEdges, BehindANormItLooksAtTheNormAlone) {
  for (const float norm : {3.0f, kInfinity, kNan})
    for (const float grad : {1.0f, kInfinity})
      on_every_device(
          in_every_type("adamw.step n=5 t=1 norm=yes outcome=yes skip_nonfinite=1"),
          [&](const Operand& of) {
            reference::write(of("norm"), 0, 0, norm);
            for (const char* name : {"theta", "m", "v"}) set_all(of(name), 1);
            set_all(of("grad"), grad);
          },
          [&](const Operand& of) {
            const bool skipped = !std::isfinite(norm);
            EXPECT_EQ(reference::read_integer(of("outcome"), 0), skipped ? 1 : 0);
            EXPECT_EQ(value_at(of("m"), 3) == 1, skipped || grad == 1);
            EXPECT_EQ(value_at(of("theta"), 3) == 1, skipped);
          });
}
TEST(AdamwEdges, TheOutcomeIsInMemoryWhereverAStepIsSkipped) {
  for (const float grad : {1.0f, kInfinity})
    on_every_device(
        in_every_type("adamw.step n=5 t=1 outcome=yes skip_nonfinite=0,1"),
        [&](const Operand& of) { set_all(of("grad"), grad); },
        [&](const Operand& of) {
          const std::int64_t outcome = reference::read_integer(of("outcome"), 0);
          EXPECT_TRUE(outcome == 0 || (outcome == 1 && grad == kInfinity));
        });
}

TEST(LayernormEdges, ANanOrInfinityMakesItsRowNan) {
  for (const float bad : {kNan, kInfinity, -kInfinity})
    on_every_device(
        in_every_type("layernorm.forward rows=2 cols=300"),
        [&](const Operand& of) { reference::write(of("x"), 1, 7, bad); },
        [&](const Operand& of) {
          for (std::int64_t c = 0; c < 300; ++c) ASSERT_TRUE(is_nan(value_at(of("y"), 1, c)));
          EXPECT_TRUE(is_nan(value_at(of("rstd"), 1)));
          const float mean = value_at(of("mean"), 1);
          EXPECT_TRUE(is_nan(bad) ? is_nan(mean) : mean == bad) << mean;
          EXPECT_TRUE(std::isfinite(value_at(of("y"), 0, 7)));
        });
}
TEST(LayernormEdges, ASumThatOverflowsGivesInfinityOrNan) {
  for (const bool both : {false, true})
    on_every_device(
        "layernorm.forward rows=1 cols=1024 type=bf16,f32",
        [&](const Operand& of) {
          for (std::int64_t c = 0; c < 1024; ++c)
            reference::write(of("x"), 0, c, both && c % 2 != 0 ? -largest(of("x").type) : largest(of("x").type));
        },
        [&](const Operand& of) {
          const float mean = value_at(of("mean"), 0);
          EXPECT_TRUE(both ? is_nan(mean) : mean == kInfinity) << mean;
        });
}
TEST(LayernormEdges, WithoutEpsNoVarianceMakesRstdInfinite) {
  on_every_device(
      "layernorm.forward rows=2 cols=2 eps=0 type=f32",
      [](const Operand& of) {
        set_row(of("x"), 0, {3, 3});
        set_row(of("x"), 1, {1e-30f, -1e-30f});  // whose squares are too small for f32
        set_all(of("gamma"), 2);
      },
      [](const Operand& of) {
        for (const std::int64_t r : {0, 1}) EXPECT_EQ(value_at(of("rstd"), r), kInfinity);
        for (const std::int64_t c : {0, 1}) EXPECT_TRUE(is_nan(value_at(of("y"), 0, c)));
        EXPECT_EQ(value_at(of("y"), 1, 0), kInfinity);
        EXPECT_EQ(value_at(of("y"), 1, 1), -kInfinity);
      });
}
TEST(LayernormEdges, TheBackwardTakesStatisticsAsGiven) {
  on_every_device(
      in_every_type("layernorm.backward rows=1 cols=2"),
      [](const Operand& of) {
        set_all(of("mean"), 1000);  // of no such x
        set_all(of("rstd"), 0);
      },
      [](const Operand& of) { EXPECT_EQ(value_at(of("dx"), 0, 0), 0); });
}

TEST(SoftmaxEdges, ARowWithNanOrInfinityOrNothingElseThanMinusInfinityIsNan) {
  for (const float bad : {kNan, kInfinity, -kInfinity})
    on_every_device(
        in_every_type("softmax.forward rows=2 cols=300"),
        [&](const Operand& of) {
          for (std::int64_t c = 0; c < 300; ++c)
            if (bad == -kInfinity || c == 7) reference::write(of("x"), 1, c, bad);
        },
        [&](const Operand& of) {
          for (std::int64_t c = 0; c < 300; ++c) ASSERT_TRUE(is_canonical_nan(of("y"), 1, c));
          EXPECT_TRUE(std::isfinite(value_at(of("y"), 0, 7)));
        });
}
TEST(SoftmaxEdges, MinusInfinityBesideNumbersGivesZero) {
  on_every_device(
      in_every_type("softmax.forward rows=1 cols=3"),
      [](const Operand& of) { set_row(of("x"), 0, {1, -kInfinity, 2}); },
      [](const Operand& of) {
        EXPECT_TRUE(is_plus_zero(value_at(of("y"), 0, 1)));
        EXPECT_GT(value_at(of("y"), 0, 0), 0);
      });
}
// e^-17.33 is just below 2^-25, half the smallest f16, and e^-17.32 just above it.
TEST(SoftmaxEdges, HalfTheSmallestSubnormalIsZero) {
  on_every_device(
      "softmax.forward rows=2 cols=2 type=f16",
      [](const Operand& of) {
        set_row(of("x"), 0, {0, -17.34375f});
        set_row(of("x"), 1, {0, -17.3125f});
      },
      [](const Operand& of) {
        EXPECT_TRUE(is_plus_zero(value_at(of("y"), 0, 1)));
        EXPECT_EQ(value_at(of("y"), 1, 1), 0x1p-24f);
      });
  on_every_device(
      "softmax.forward rows=1 cols=2 type=bf16,f32", [](const Operand& of) { set_row(of("x"), 0, {0, -104.5f}); },
      [](const Operand& of) { EXPECT_TRUE(is_plus_zero(value_at(of("y"), 0, 1))); });
}
TEST(SoftmaxEdges, OutputsSumToOneOnlyUpToTheirRoundings) {
  on_every_device(
      in_every_type("softmax.forward rows=1 cols=3"), [](const Operand& of) { set_row(of("x"), 0, {0, 0, 0}); },
      [](const Operand& of) {
        const float each = value_at(of("y"), 0, 0);
        if (of("y").type != Type::f32) {
          EXPECT_NE(each + each + each, 1.0f);
        }
        EXPECT_NEAR(each + each + each, 1.0f, 0x1p-7f);
      });
}
TEST(SoftmaxEdges, TheBackwardTakesYAsGiven) {
  on_every_device(
      in_every_type("softmax.backward rows=1 cols=2"),
      [](const Operand& of) {
        set_row(of("y"), 0, {2, -3});  // no softmax
        set_row(of("dy"), 0, {1, 1});
      },
      [](const Operand& of) {
        EXPECT_EQ(value_at(of("dx"), 0, 0), 4);  // 2 * (1 - (2 - 3))
        EXPECT_EQ(value_at(of("dx"), 0, 1), -6);
      });
}

void set_label(const Operand& of, std::int64_t row, std::int64_t label) {
  reference::at<std::int64_t>(of("labels"), row, 0) = label;
}
TEST(CrossEntropyEdges, AnIgnoredRowIsZeroWhateverItsLogits) {
  for (const std::int64_t ignored : {std::int64_t{-100}, std::int64_t{2}, std::int64_t{1} << 40})
    on_every_device(
        in_every_type("cross_entropy.forward_backward rows=2 cols=5 index=i64 reduction=sum master=yes ignore_index=" +
                      std::to_string(ignored)),
        [&](const Operand& of) {
          set_label(of, 0, ignored);
          set_label(of, 1, 4);
          set_row(of("logits"), 0, {kNan, kInfinity, 0, 1, -kInfinity});
        },
        [&](const Operand& of) {
          EXPECT_TRUE(is_plus_zero(value_at(of("loss"), 0)));
          for (std::int64_t c = 0; c < 5; ++c) EXPECT_TRUE(is_plus_zero(value_at(of("grad"), 0, c)));
          EXPECT_EQ(reference::at<std::int64_t>(of("count"), 0, 0), 1);
          EXPECT_EQ(value_at(of("mean_loss"), 0), value_at(of("loss"), 1));
        });
}
TEST(CrossEntropyEdges, ANanOrInfinityAmongTheLogitsGivesNan) {
  for (const float bad : {kNan, kInfinity})
    on_every_device(
        in_every_type("cross_entropy.forward_backward rows=2 cols=300 label_smoothing=0,0.1"),
        [&](const Operand& of) {
          for (const std::int64_t r : {0, 1}) set_label(of, r, 3);
          reference::write(of("logits"), 1, 7, bad);
        },
        [&](const Operand& of) {
          EXPECT_TRUE(is_nan(value_at(of("loss"), 1)));
          for (std::int64_t c = 0; c < 300; ++c) ASSERT_TRUE(is_nan(value_at(of("grad"), 1, c)));
          EXPECT_TRUE(std::isfinite(value_at(of("loss"), 0)));
        });
}
TEST(CrossEntropyEdges, TheMeanOfNoRowsIsNan) {
  on_every_device(
      in_every_type("cross_entropy.forward_backward rows=2 cols=5 reduction=sum master=yes ignore_index=3"),
      [](const Operand& of) {
        for (const std::int64_t r : {0, 1}) set_label(of, r, 3);
      },
      [](const Operand& of) {
        EXPECT_TRUE(is_canonical_nan(of("mean_loss"), 0));
        EXPECT_EQ(reference::at<std::int64_t>(of("count"), 0, 0), 0);
      });
}
// One column, whose logit is 1: the z-loss alone has a gradient, 1, so that what is stored is 1/f32(count).
TEST(CrossEntropyEdges, TheCountIsRoundedToNearest) {
  constexpr std::int64_t kRows = (1 << 24) + 3;  // half way between two numbers of binary32
  std::vector<float> logits(kRows), loss(kRows);
  const std::vector<std::int32_t> labels(kRows, 0);
  for (const char* name : {"reference", "cpu"}) {
    logits.assign(kRows, 1.0f);
    Device device = open(name).value();
    const Status status = cross_entropy_forward_backward(device, {.logits = matrix(logits.data(), kRows, 1),
                                                                  .labels = vector(labels.data(), kRows),
                                                                  .z_loss = 0.5f,
                                                                  .reduction = Reduction::mean,
                                                                  .loss = vector(loss.data(), kRows),
                                                                  .grad = matrix(logits.data(), kRows, 1)});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(logits, std::vector<float>(kRows, 1.0f / 16777220.0f)) << name;
    EXPECT_NE(1.0f / 16777220.0f, 1.0f / 16777218.0f);  // where a count that is cut off would lie
  }
}
TEST(CrossEntropyEdges, TheMeanDependsOnTheBatch) {
  on_every_device(
      "cross_entropy.forward_backward rows=2 cols=5 reduction=sum master=yes type=f32",
      [](const Operand& of) { set_row(of("logits"), 1, {9, 0, 0, 0, 0}), set_label(of, 1, 1); },
      [](const Operand& of) { EXPECT_NE(value_at(of("mean_loss"), 0), value_at(of("loss"), 0)); });
}

TEST(GemmEdges, AChainBeyondTheRangeGivesInfinity) {
  const std::pair<const char*, std::array<const char*, 3>> all[] = {{"gemm.forward m=1 n=1 k=3", {"a", "b", "c"}},
                                                                    {"gemm.grad_a m=1 n=3 k=1", {"dc", "b", "da"}},
                                                                    {"gemm.grad_b m=3 n=1 k=1", {"a", "dc", "db"}}};
  for (const auto& [line, names] : all) {
    on_every_device(  // on the way: the last product would bring it back
        std::string(line) + " type=bf16,f32",
        [&](const Operand& of) {
          set_all(of(names[1]), 1);
          for (std::int64_t i = 0; i < 3; ++i)
            reference::write(of(names[0]), of(names[0]).rows() == 3 ? i : 0, of(names[0]).rows() == 3 ? 0 : i,
                             i == 2 ? -largest(of(names[0]).type) : largest(of(names[0]).type));
        },
        [&](const Operand& of) { EXPECT_EQ(value_at(of(names[2]), 0, 0), kInfinity); });
    on_every_device(  // at the end, where the chain itself is in range
        std::string(line) + " type=f16",
        [&](const Operand& of) { set_all(of(names[0]), 60000), set_all(of(names[1]), -2); },
        [&](const Operand& of) { EXPECT_EQ(value_at(of(names[2]), 0, 0), -kInfinity); });
  }
}
TEST(GemmEdges, AnInfiniteChainMeetsTheOtherInfinity) {
  on_every_device(
      "gemm.forward m=1 n=1 k=3 type=bf16,f32",
      [](const Operand& of) {
        set_all(of("b"), 1);
        set_row(of("a"), 0, {largest(of("a").type), largest(of("a").type), -kInfinity});
      },
      [](const Operand& of) { EXPECT_TRUE(is_canonical_nan(of("c"), 0)); });
}

}  // namespace
}  // namespace tokitai
