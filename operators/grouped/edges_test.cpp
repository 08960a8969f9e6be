// What the family's contracts say, sentence by sentence: first that a group's bits are gemm's. promises.txt says which
// test is for which sentence.
#include "operators/tests/edges.h"
#include "contract/build.h"
#include "tokitai/grouped.h"

namespace tokitai {
namespace {

std::int64_t offset_at(const View& offsets, std::int64_t i) { return reference::read_integer(offsets, i); }
void set_offset(const View& offsets, std::int64_t i, std::int64_t value) {
  if (offsets.type == Type::i32)
    reference::at<std::int32_t>(offsets, i, 0) = static_cast<std::int32_t>(value);
  else
    reference::at<std::int64_t>(offsets, i, 0) = value;
}

// A group's part of an operand, as a matrix: a matrix of three dimensions, rows of two.
View part_of(View view, const View& offsets, std::int64_t group) {
  const bool matrices = view.rank == 3;
  const std::int64_t rows = matrices ? view.shape[1] : offset_at(offsets, group + 1) - offset_at(offsets, group);
  const std::int64_t first = matrices ? group * view.shape[1] : offset_at(offsets, group);
  view.data = static_cast<std::byte*>(view.data) +
              view.row_offset(std::min(first, view.rows() - 1)) * static_cast<std::int64_t>(size_of(view.type));
  view.shape = {rows, view.cols(), 0, 0};
  view.rank = 2;
  return view;
}

std::vector<float> values_of(const View& view) {
  std::vector<float> values;
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t c = 0; c < view.cols(); ++c) values.push_back(value_at(view, r, c));
  return values;
}

// Every group of a grouped call against gemm's operator of that name on the group alone, on every device.
void expect_gemm_of_each_group(std::string_view line) {
  std::int64_t compared = 0;
  for (const problems::Problem& problem : problems::parse_problems(line).value())
    for (Device& device : host_devices()) {
      SCOPED_TRACE(problem.text() + " on " + device.description());
      const auto instance = problems::Instance::make(problem).value();
      Call call = instance.call();
      ASSERT_TRUE(device.run(call).ok());
      const Operand of{problem.contract, &instance.sets()[0]};
      const View& offsets = of("offsets");
      const std::string name = "gemm" + std::string(problem.contract->name.substr(problem.contract->name.find('.')));
      Device reference = open("reference").value();
      for (std::int64_t g = 0; g + 1 < offsets.rows(); ++g) {
        if (offset_at(offsets, g) == offset_at(offsets, g + 1)) continue;
        const auto& set = instance.sets()[0];
        const View grouped = part_of(set[2], offsets, g);
        std::vector<std::int64_t> memory(static_cast<std::size_t>(grouped.rows() * grouped.cols()));
        View alone = grouped;
        alone.data = memory.data();
        alone.row_stride = alone.cols();
        Call one = make_call(name,
                             {part_of(set[0], offsets, g), part_of(set[1], offsets, g), alone,
                              set[4].present() ? part_of(set[4], offsets, g) : View{}},
                             {call.option(0)});
        const Status status = reference.run(one);
        ASSERT_TRUE(status.ok()) << status.message();
        for (std::int64_t r = 0; r < grouped.rows(); ++r)
          for (std::int64_t c = 0; c < grouped.cols(); ++c, ++compared)
            ASSERT_EQ(bits(value_at(grouped, r, c)), bits(value_at(alone, r, c))) << g << ": " << r << ", " << c;
      }
    }
  EXPECT_GT(compared, 0);
}

TEST(GroupedEdges, EachGroupHasTheBitsOfGemm) {
  for (const char* op : {"grouped.forward", "grouped.grad_a", "grouped.grad_b"}) {
    const std::string name(op);
    expect_gemm_of_each_group(name + " m=150 groups=5 k=9 n=17 spread=uniform,zipf,equal type=f16,f32 data=special");
    expect_gemm_of_each_group(name + " m=300 groups=4 k=20 n=17 master=yes arithmetic=block15,hopper type=bf16");
    expect_gemm_of_each_group(name + " m=9 groups=4 k=140 n=133 pad=3 arithmetic=block15 type=f32 index=i32");
  }
}

TEST(GroupedEdges, AnEmptyGroupIsPlusZeroOrWhatItStartsWith) {
  const auto none_but_the_second = [](const Operand& of) {
    for (std::int64_t i = 0; i < 4; ++i) set_offset(of("offsets"), i, i < 2 ? 0 : 5);
  };
  for (const char* arithmetic : {"chain", "block15", "hopper"}) {
    const std::string line = std::string("grouped.grad_b m=5 groups=3 k=2 n=3 type=f16,bf16 arithmetic=") + arithmetic;
    on_every_device(line, none_but_the_second, [](const Operand& of) {
      for (const std::int64_t row : {0, 1, 4, 5})
        for (std::int64_t c = 0; c < 3; ++c) EXPECT_TRUE(is_plus_zero(value_at(of("db"), row, c))) << row;
    });
    on_every_device(
        line + " master=yes",
        [&](const Operand& of) {
          none_but_the_second(of);
          set_all(of("db0"), 7);
        },
        [](const Operand& of) {
          for (const std::int64_t row : {0, 1, 4, 5}) EXPECT_EQ(value_at(of("db"), row, 2), 7);
        });
  }
}

TEST(GroupedEdges, WhatLiesBesideAGroupChangesNoneOfItsBits) {
  std::vector<float> whole;
  const auto offsets = [](const Operand& of) {
    for (std::int64_t i = 0; i < 4; ++i)
      set_offset(of("offsets"), i, std::array{0, 50, 187, 300}[static_cast<std::size_t>(i)]);
  };
  const auto middle = [](const Operand& of) {
    View db = of("db");
    db.data = static_cast<std::byte*>(db.data) + db.row_offset(3) * static_cast<std::int64_t>(size_of(db.type));
    db.shape = {1, 3, 4, 0};
    return values_of(db);
  };
  for (const char* arithmetic : {"chain", "block15", "hopper"}) {
    const std::string line = std::string("grouped.grad_b m=300 groups=3 k=3 n=4 type=bf16 arithmetic=") + arithmetic;
    on_every_device(line, offsets, [&](const Operand& of) { whole = middle(of); });
    on_every_device(
        line,
        [&](const Operand& of) {
          offsets(of);
          for (std::int64_t r = 0; r < 300; ++r)
            if (r < 50 || r >= 187)
              for (std::int64_t c = 0; c < 3; ++c) reference::write(of("a"), r, c, c == 1 ? kNan : 0x1p60f);
        },
        [&](const Operand& of) { EXPECT_EQ(middle(of), whole); });
  }
}

TEST(GroupedEdges, OffsetsThatDoNotAscendToTheRowsAreRefusedByTheFirstWrongPosition) {
  const struct {
    std::array<std::int64_t, 5> offsets;
    std::string_view words;
  } wrong[] = {{{1, 2, 3, 4, 9}, "offsets[0] = 1; the first must be 0"},
               {{-1, 2, 3, 4, 9}, "offsets[0] = -1; the first must be 0"},
               {{0, 5, 3, 2, 9}, "offsets[2] = 3; it must be at least offsets[1] = 5"},
               {{0, 2, 10, 3, 9}, "offsets[2] = 10; it must be at most the 9 rows"},
               {{0, 2, 3, 4, 8}, "offsets[4] = 8; the last must be the 9 rows"},
               {{0, 2, 3, 4, 10}, "offsets[4] = 10; it must be at most the 9 rows"}};
  for (const char* op : {"grouped.forward", "grouped.grad_a", "grouped.grad_b"})
    for (const problems::Problem& problem :
         problems::parse_problems(std::string(op) + " m=9 groups=4 k=3 n=2 index=i32,i64").value())
      for (const auto& [offsets, words] : wrong)
        for (Device& device : host_devices()) {
          SCOPED_TRACE(problem.text() + " on " + device.description());
          auto instance = problems::Instance::make(problem).value();
          instance.reset(std::byte{0x25});
          const Operand of{problem.contract, &instance.sets()[0]};
          for (std::size_t i = 0; i < offsets.size(); ++i)
            set_offset(of("offsets"), static_cast<std::int64_t>(i), offsets[i]);
          const std::vector<float> before = values_of(instance.sets()[0][2]);
          Call call = instance.call();
          const Status status = device.run(call);
          EXPECT_EQ(status.code(), Code::invalid);
          EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
          EXPECT_EQ(values_of(instance.sets()[0][2]), before);
        }
}

TEST(GroupedEdges, OffsetsAreOneMoreThanTheGroups) {
  const float a[2] = {1, 2}, b[2] = {3, 4};
  const std::int64_t offsets[3] = {0, 1, 2};
  float c[2] = {5, 5};
  for (Device& device : host_devices()) {
    const auto run = [&](std::int64_t count) {
      return grouped_forward(device, {.a = matrix(a, 2, 1),
                                      .b = tensor(b, {2, 1, 1}),
                                      .offsets = vector(offsets, count),
                                      .c = matrix(c, 2, 1)})
          .message();
    };
    EXPECT_NE(run(2).find("offsets has shape [2], but groups is 2"), std::string::npos) << run(2);
    EXPECT_NE(run(1).find("offsets has shape [1]; groups+1 must be at least 2"), std::string::npos) << run(1);
    EXPECT_EQ(c[0], 5);
    EXPECT_EQ(run(3), "");
    EXPECT_EQ(c[0], 3);
    EXPECT_EQ(c[1], 8);
    c[0] = c[1] = 5;
  }
}

TEST(GroupedEdges, EveryNanThatIsStoredIsCanonical) {
  expect_canonical_nans("grouped.forward m=9 groups=3 n=20 k=3");
  expect_canonical_nans("grouped.grad_a m=9 groups=3 n=3 k=20");
  expect_canonical_nans("grouped.grad_b m=9 groups=3 n=20 k=9");
}

TEST(GroupedEdges, HopperTakesHalvesOnly) {
  const float a = 1, b = 1;
  const std::int64_t offsets[2] = {0, 1};
  float c = 5;
  for (Device& device : host_devices()) {
    const Status status = grouped_forward(device, {.a = matrix(&a, 1, 1),
                                                   .b = tensor(&b, {1, 1, 1}),
                                                   .offsets = vector(offsets, 2),
                                                   .c = matrix(&c, 1, 1),
                                                   .arithmetic = GroupedArithmetic::hopper});
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_NE(status.message().find("hopper takes f16 and bf16, not f32"), std::string::npos) << status.message();
    EXPECT_EQ(c, 5);
  }
}

}  // namespace
}  // namespace tokitai
