// What a definition asks for is what it does: the record of every operator beside its contract, and definitions that
// say otherwise.
#include <gtest/gtest.h>

#include "contract/build.h"
#include "contract/record.h"
#include "contract/ways.h"
#include "machines/describe/instantiate.h"
#include "numerics/elementary.h"
#include "problems/problem.h"

namespace tokitai {
namespace {

Record described(const char* name) { return describe(plainest_way(*find_contract(name))); }
Set operands(const char* name, std::initializer_list<const char*> names) {
  Set set = 0;
  for (const char* operand : names) set |= set_of(find_contract(name)->operand_index(operand));
  return set;
}

TEST(Describe, EveryDefinitionAgreesWithItsContract) {
  for (const Contract* contract : contracts()) {
    const Status status = agrees(*contract);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(Describe, SaysWhatARowOperatorReadsMakesAndWrites) {
  const Record record = described("layernorm.backward");
  const auto of = [](std::initializer_list<const char*> names) { return operands("layernorm.backward", names); };
  EXPECT_EQ(record.pattern, Pattern::row);
  EXPECT_EQ(record.loaded | record.read, of({"dy", "x"}));
  EXPECT_EQ(record.columns, of({"gamma"}));
  EXPECT_EQ(record.row_values, of({"mean", "rstd"}));
  EXPECT_EQ(record.made, of({"dx"}));
  EXPECT_EQ(record.stored, of({"dx"}));
  EXPECT_EQ(record.writes, of({"dx", "dgamma", "dbeta"}));
  EXPECT_EQ(record.column_sums, of({"dgamma", "dbeta"}));
  EXPECT_EQ(record.terms, 2);
  EXPECT_FALSE(record.checks || record.counted);
  EXPECT_EQ(record.once, 0u);
}

TEST(Describe, SaysWhatDependsOnTheWayOfAsking) {
  const Contract& contract = *find_contract("cross_entropy.forward_backward");
  const Record plain = described("cross_entropy.forward_backward");
  EXPECT_TRUE(plain.checks);
  EXPECT_FALSE(plain.counted);
  EXPECT_EQ(plain.once, 0u);
  for (const Toggle& toggle : toggles_of(contract)) {
    if (toggle.operand != contract.operand_index("mean_loss")) continue;
    const Record with = describe(way_with(contract, toggle));
    EXPECT_TRUE(with.counted);
    EXPECT_EQ(with.once, set_of(toggle.operand));
    EXPECT_EQ(with.totals, set_of(contract.operand_index("loss")));
  }
  EXPECT_FALSE(described("adamw.step").checks);
  const Contract& adamw = *find_contract("adamw.step");
  const int theta = adamw.operand_index("theta");
  for (const Toggle& toggle : toggles_of(adamw)) {
    const Record with = describe(way_with(adamw, toggle));
    EXPECT_EQ(with.checks, toggle.option >= 0) << toggle.factor;
    EXPECT_EQ(holds(with.reads, theta), toggle.operand != adamw.operand_index("master")) << toggle.factor;
  }
}

TEST(Describe, SaysWhichTensorsOfAListDiffer) {
  Call call = plainest_way(*find_contract("adamw.step"));
  const int master = call.contract->operand_index("master");
  call.list.push_back(call.list[0]);
  call.list[1][static_cast<std::size_t>(master)] = call.list[1][1];
  const Record record = describe(call);
  EXPECT_TRUE(holds(record.reads, master));
  EXPECT_TRUE(holds(record.reads, call.contract->operand_index("theta")));  // the other has no master weights
}

TEST(Describe, SaysWhatIsLookedUpAndMultiplied) {
  const Record lookup = described("embedding.forward"), sums = described("embedding.backward");
  EXPECT_FALSE(lookup.sums);
  EXPECT_TRUE(sums.sums);
  EXPECT_EQ(find_contract("embedding.backward")->operands[static_cast<std::size_t>(sums.table)].name, "dweight");
  EXPECT_EQ(find_contract("embedding.forward")->options[static_cast<std::size_t>(lookup.padding)].name,
            "padding_index");
  const Record product = described("gemm.grad_b");
  EXPECT_EQ(find_contract("gemm.grad_b")->operands[static_cast<std::size_t>(product.a)].name, "a");
  EXPECT_TRUE(product.a_transposed);
  EXPECT_FALSE(product.b_transposed);
}

// --- Definitions that nobody has written yet.

struct Names {
  static constexpr Storage<0> x{};
  static constexpr Storage<1> y{};
  static constexpr Storage<2> weight{};
  static constexpr StorageOrSingle<3> dweight{};
  static constexpr Scalar<0> limit{};
};

// Every word of the algebra, five reductions, one column sum.
struct Everything {
  static constexpr char name[] = "everything.forward";
  using Pattern = patterns::Row;
  using Names = tokitai::Names;
  template <class M> static TK_FN void row(M& m) {
    auto x = m.read(m.x);
    auto w = m.columns(m.weight);
    auto e = m.make(m.y);
    auto [a, b, c] = m.reduce(Sum{[&](auto i) { return e.keep(i, exp(x[i]) + log(x[i])); }},
                              SumFma{[&](auto i) { return product(tanh(x[i]), erf(w[i])); }},
                              Max{[&](auto i) { return sqrt(x[i]) / 2.0f; }});
    auto top = m.max([&](auto i) { return select(x[i] > 0.0f, x[i], -x[i]); });
    auto total = m.sum([&](auto i) { return select((x[i] < top) & !(x[i] == a), x[i], b); });
    m.store(m.y, [&](auto i) { return fma(e[i] - c, total, m.value(m.limit)); });
    m.column_sums(m.dweight, Sum{[&](auto i) { return x[i]; }});
  }
};

TEST(Describe, TakesTheWholeAlgebraAndAnyNumberOfReductions) {
  Call call = plainest_way(*find_contract("layernorm.backward"));
  const Record record = describing::describer<Everything>()(call);
  EXPECT_EQ(record.terms, 3);
  EXPECT_EQ(record.column_sums, set_of(3));
  EXPECT_EQ(record.scalars, set_of(0));
  EXPECT_EQ(record.made, set_of(1));
  using namespace describing;
  EXPECT_EQ(record.operations, (kExp + 1 + kLog + 1) + (kTanh + kErf + kFma) + (1 + 1 + 1) + (1 + 1 + 1) +
                                   (1 + 1 + 1 + 1 + 1) + (1 + kFma) + 1);
}

TEST(Describe, CountsNothingThatIsDoneOncePerRow) {
  EXPECT_EQ(described("softmax.backward").operations, 2 + 1 + 1);  // an fma, a difference, a product
}

}  // namespace
}  // namespace tokitai
