// Views of three and four dimensions: which element is where, what a call refuses, and that machines which work on rows
// give the bits that they give for the same rows as a matrix. The operators here are softmax with other shapes.
#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <random>
#include <set>

#include "contract/registry.h"
#include "evidence/verify.h"
#include "machines/reference/memory.h"
#include "tokitai/tokitai.h"

namespace tokitai {
namespace {

const Operator& softmax() { return *find_operator("softmax.forward"); }

// Softmax over the last of those dimensions.
const Contract& over(const std::string& name, std::array<std::string_view, kMaxRank> shape, bool any_strides) {
  static std::deque<std::string> names;
  static std::deque<Contract> kept;
  if (const Contract* known = find_contract(name)) return *known;
  Contract& contract = kept.emplace_back(*softmax().contract);
  contract.name = names.emplace_back(name);
  for (OperandSpec& spec : contract.operands) spec.shape = shape;
  contract.batch = shape[0];
  contract.limits.clear();
  contract.any_strides = any_strides;
  Operator one = softmax();
  one.contract = &contract;
  auto folder = *one.folder;
  folder.origin = "/tests/" + name;
  folder.header = name;
  folder.problems.clear();
  one.folder = std::make_shared<const OperatorFolder>(std::move(folder));
  if (any_strides) one.cpu.clear();  // its kernels work on rows that are one stride apart
  EXPECT_TRUE(add_operators({one}).ok());
  return contract;
}
const Contract& three() { return over("rank3.forward", {"batch", "heads", "cols"}, false); }
const Contract& four() { return over("rank4.forward", {"batch", "heads", "seq", "cols"}, false); }
const Contract& any_three() { return over("any3.forward", {"batch", "heads", "cols"}, true); }

Call call_of(const Contract& contract, const View& x, const View& y) {
  Call call;
  call.contract = &contract;
  call.operands[0] = x;
  call.operands[1] = y;
  return call;
}
void expect_refused(const Contract& contract, const View& x, const View& y, std::initializer_list<const char*> words) {
  Call call = call_of(contract, x, y);
  const Status status = check(call);
  EXPECT_EQ(status.code(), Code::invalid) << status.message();
  for (const char* word : words) EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
}

TEST(Rank, AViewKnowsWhereItsRowsLie) {
  float memory[400] = {};
  const View dense = tensor(memory, {2, 3, 4, 5});
  EXPECT_EQ(dense.rows(), 24);
  EXPECT_EQ(dense.cols(), 5);
  EXPECT_EQ(dense.elements(), 120);
  EXPECT_EQ(dense.span(), 120);
  EXPECT_TRUE(dense.evenly_spaced());
  EXPECT_FALSE(has_gaps(dense));
  for (std::int64_t r = 0; r < 24; ++r) EXPECT_EQ(dense.row_offset(r), r * 5);
  const View permuted = tensor(memory, {2, 4, 3, 5}, {60, 5, 20});
  EXPECT_FALSE(permuted.evenly_spaced());
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 4; ++h)
      for (std::int64_t s = 0; s < 3; ++s) EXPECT_EQ(permuted.row_offset((b * 4 + h) * 3 + s), b * 60 + h * 5 + s * 20);
  EXPECT_EQ(permuted.span(), 120);
  EXPECT_EQ(permuted.blocks(), 8);
  EXPECT_EQ(permuted.block_lines(), 3);
  EXPECT_EQ(permuted.block_offset(5), 60 + 5);
}

TEST(Rank, MachinesGiveTheBitsOfTheSameRowsAsAMatrix) {
  std::vector<float> x(6 * 11), y(x.size()), expected(x.size());
  std::iota(x.begin(), x.end(), -20.0f);
  for (const char* name : {"reference", "cpu"}) {
    Device device = open(name).value();
    Call matrices = call_of(*softmax().contract, matrix(x.data(), 6, 9, 11), matrix(expected.data(), 6, 9, 11));
    ASSERT_TRUE(device.run(matrices).ok());
    const auto same = [&](const Contract& contract, const View& from, const View& to) {
      std::fill(y.begin(), y.end(), 0.0f);
      Call call = call_of(contract, from, to);
      const Status status = device.run(call);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(y, expected) << contract.name << " on " << name;
    };
    same(three(), tensor(x.data(), {2, 3, 9}, {33, 11}), tensor(y.data(), {2, 3, 9}, {33, 11}));
    same(four(), tensor(x.data(), {3, 1, 2, 9}, {22, 7, 11}), tensor(y.data(), {3, 1, 2, 9}, {22, 22, 11}));
    // The stride of a dimension of one index says nothing.
    same(three(), tensor(x.data(), {6, 1, 9}, {11, 0}), tensor(y.data(), {6, 1, 9}, {11, 1000000}));
    same(three(), tensor(x.data(), {1, 6, 9}, {-5, 11}), tensor(y.data(), {1, 6, 9}, {1, 11}));
  }
}

// Problems of three dimensions are made, padded, cut and compared like any other.
TEST(Rank, TheVerifierTakesProblemsOfAnyRank) {
  three(), four();
  std::vector<problems::Problem> problems;
  for (const char* line : {"rank3.forward batch=1,4 heads=1,3 cols=7,257 pad=0,3 type=f16,bf16,f32 data=normal,special",
                           "rank4.forward batch=3 heads=2 seq=5 cols=33 pad=0,2 type=f16 in_place=no"}) {
    const auto more = problems::parse_problems(line);
    ASSERT_TRUE(more.ok()) << more.status().message();
    problems.insert(problems.end(), more->begin(), more->end());
  }
  auto variants = evidence::cpu_variants(cpu_isas(), {1, 3});
  ASSERT_TRUE(variants.ok());
  const auto result = evidence::verify(problems, std::move(variants).value(), {});
  EXPECT_GT(result.summary.compared, 10000);
  EXPECT_EQ(result.summary.mismatches, 0);
  EXPECT_EQ(result.summary.failed, 0) << result.summary.first_failure;
}

// Where a contract allows any strides, every element is where they say.
TEST(Rank, EveryStrideCounts) {
  constexpr std::int64_t kBatch = 2, kHeads = 3, kCols = 4;
  const std::pair<std::int64_t, std::int64_t> all[] = {{12, 4}, {15, 5}, {17, 5}, {5, 11}, {4, 8}, {100, 6}};
  Device device = open("reference").value();
  for (const auto& [batch, heads] : all) {
    std::vector<float> x(400), y(400, 7.0f), rows(kBatch * kHeads * kCols), expected(rows.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) * 0.25f;
    std::set<std::int64_t> ours;
    for (std::int64_t b = 0, i = 0; b < kBatch; ++b)
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t c = 0; c < kCols; ++c) {
          ours.insert(b * batch + h * heads + c);
          rows[static_cast<std::size_t>(i++)] = x[static_cast<std::size_t>(b * batch + h * heads + c)];
        }
    Call matrices = call_of(*softmax().contract, matrix(rows.data(), kBatch * kHeads, kCols),
                            matrix(expected.data(), kBatch * kHeads, kCols));
    ASSERT_TRUE(device.run(matrices).ok());
    Call call = call_of(any_three(), tensor(x.data(), {kBatch, kHeads, kCols}, {batch, heads}),
                        tensor(y.data(), {kBatch, kHeads, kCols}, {batch, heads}));
    const Status status = device.run(call);
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::int64_t b = 0, i = 0; b < kBatch; ++b)
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t c = 0; c < kCols; ++c)
          EXPECT_EQ(y[static_cast<std::size_t>(b * batch + h * heads + c)], expected[static_cast<std::size_t>(i++)])
              << batch << " " << heads;
    for (std::int64_t i = 0; i < 400; ++i) EXPECT_TRUE(ours.contains(i) || y[static_cast<std::size_t>(i)] == 7.0f);
  }
}

TEST(Rank, StridesThatNoCallCanHaveAreRefused) {
  float x[64] = {}, y[64] = {};
  const View good = tensor(y, {2, 3, 4});
  expect_refused(three(), matrix(x, 6, 4), good, {"x has 2 dimensions", "3"});
  expect_refused(three(), tensor(x, {2, 3, 4}, {20, 5}), good, {"x", "[2, 3, 4]", "[20, 5, 1]", "one stride apart"});
  expect_refused(three(), tensor(x, {2, 3, 4}, {9, 3}), good, {"x", "share memory"});
  expect_refused(three(), tensor(x, {2, 3, 4}, {0, 4}), good, {"x", "share memory"});
  expect_refused(three(), tensor(x, {2, 3, 4}, {-12, 4}), good, {"x", "share memory"});
  expect_refused(any_three(), tensor(x, {2, 3, 4}, {4, 4}), good, {"x", "share memory"});
  expect_refused(three(), tensor(x, {2, 0, 4}), good, {"x is empty", "heads"});
  expect_refused(three(), tensor(x, {2, -3, 4}), good, {"x", "negative"});
  expect_refused(three(), tensor(x, {2, 2, 4}), good, {"heads is 2"});
  expect_refused(three(), tensor(x, {2, 3, 4}, {4}), good, {"dimensions"});
  expect_refused(three(), tensor(x, {2, 3, 4, 1, 1}), good, {"dimensions"});
  constexpr std::int64_t kLarge = std::int64_t{1} << 31;
  expect_refused(three(), tensor(x, {kLarge, kLarge, kLarge}), good, {"x", "2^48"});
  expect_refused(three(), tensor(x, {kLarge, kLarge, 1}), good, {"x", "2^48"});
  expect_refused(any_three(), tensor(x, {2, 3, 4}, {kLarge * kLarge, 4}), good, {"x", "2^48"});
}

// Against every pair of elements: what is accepted shares none, and parts of one tensor are accepted.
TEST(Rank, AnOutputBesideAnInputIsToldFromOneOverIt) {
  std::vector<float> memory(4096);
  std::mt19937 random(1);
  const auto draw = [&](int from, int to) { return std::uniform_int_distribution<std::int64_t>(from, to)(random); };
  const auto elements_in = [](const View& v) {
    std::set<std::int64_t> all;
    for (std::int64_t r = 0; r < v.rows(); ++r)
      for (std::int64_t c = 0; c < v.cols(); ++c) all.insert(v.row_offset(r) + c);
    return all;
  };
  int accepted = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::int64_t b = draw(1, 3), h = draw(1, 3), c = draw(1, 4);
    const std::int64_t inner = draw(1, 9), outer = draw(1, 30), apart = draw(0, 40);
    const View x = tensor(memory.data() + 100, {b, h, c}, {outer, inner});
    const bool alike = draw(0, 3) > 0;
    const View y =
        tensor(memory.data() + 100 + apart, {b, h, c}, {alike ? outer : draw(1, 30), alike ? inner : draw(1, 9)});
    const auto mine = elements_in(x);
    bool shared = false;
    for (const std::int64_t e : elements_in(y)) shared |= mine.contains(e + apart);
    Call call = call_of(any_three(), x, y);
    const Status status = check(call);
    const bool overlaps = status.message().find("overlaps") != std::string::npos;
    EXPECT_FALSE(shared && status.ok()) << b << h << c << " " << outer << " " << inner << " + " << apart;
    EXPECT_FALSE(alike && !shared && overlaps) << b << h << c << " " << outer << " " << inner << " + " << apart;
    ++(status.ok() ? accepted : refused);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(Rank, ATensorOfAListMayHaveUpToFourDimensionsWithoutGaps) {
  float theta[24] = {}, m[24] = {}, v[24] = {}, grad[24] = {};
  const auto step = [&](const View& t) {
    const auto as = [&](float* data) {
      View other = t;
      other.data = data;
      return other;
    };
    const AdamwTensor tensors[] = {{as(theta), as(m), as(v), as(grad), {}}};
    Call call = bind(AdamwStep{.tensors = tensors, .t = 1});
    return check(call);
  };
  EXPECT_TRUE(step(tensor(theta, {2, 3, 4})).ok());
  EXPECT_TRUE(step(tensor(theta, {2, 3, 2, 2})).ok());
  EXPECT_NE(step(tensor(theta, {2, 2, 4}, {12, 4})).message().find("without gaps"), std::string::npos);
  EXPECT_NE(step(tensor(theta, {2, 3, 4}, {4, 8})).message().find("without gaps"), std::string::npos);
}

TEST(Rank, TensorsOfADeviceHaveUpToFourDimensions) {
  Device device = open("cpu").value();
  auto made = device.tensor<float>({2, 3, 4, 5});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->elements(), 120);
  const View view = made.value();
  EXPECT_EQ(view.rank, 4);
  EXPECT_EQ(view.stride(0), 60);
  EXPECT_EQ(made->flat().rank, 1);
  EXPECT_FALSE(device.tensor<float>({1, 1, 1, 1, 1}).ok());
  EXPECT_FALSE(device.tensor<float>({2, -1, 3}).ok());
}

}  // namespace
}  // namespace tokitai
