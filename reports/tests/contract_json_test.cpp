// The contract for programs: complete, one text with one digest, and formulas that are read as they are written.
#include "reports/contract_json.h"

#include <gtest/gtest.h>

#include "contract/formula.h"
#include "problems/instance.h"
#include "reports/digest.h"

namespace tokitai {
namespace {

TEST(ContractJson, ChangesItsDigestWithEveryWord) {
  for (const Contract* contract : contracts()) {
    SCOPED_TRACE(contract->name);
    const std::string before = evidence::contract_digest(*contract);
    EXPECT_EQ(before.size(), 64u);
    EXPECT_EQ(before, evidence::contract_digest(*contract));
    Contract changed = *contract;
    changed.non_claims[0] = "No claim.";
    EXPECT_NE(evidence::contract_digest(changed), before);
    changed = *contract;
    changed.ensures[0].kind = Guarantee::bounded;
    EXPECT_NE(evidence::contract_digest(changed), before);
    changed = *contract;
    changed.operands[0].text = "something else";
    EXPECT_NE(evidence::contract_digest(changed), before);
    changed = *contract;
    changed.limits.push_back({"rows", 7});
    EXPECT_NE(evidence::contract_digest(changed), before);
  }
}

TEST(ContractJson, HasOneTextWhateverTheOrderOfItsKeys) {
  EXPECT_EQ(canonical(nlohmann::json::parse(R"({"b": [1, 2.5],  "a": "ä"})")), R"({"a":"ä","b":[1,2.5]})");
}

TEST(ContractJson, SaysWhichTypesAPromiseHoldsFor) {
  const auto json = to_json(*find_contract("embedding.backward"));
  EXPECT_EQ(json["ensures"][0]["kind"], "correctly_rounded");
  EXPECT_EQ(json["ensures"][0]["storage_types"], nlohmann::ordered_json({"f16"}));
  EXPECT_EQ(json["ensures"][1]["storage_types"], nlohmann::ordered_json({"bf16", "f32"}));
}

TEST(ContractJson, RequiresWhatTheTablesAndTheConditionsSay) {
  const auto all = requirements(*find_contract("cross_entropy.forward_backward"));
  const auto has = [&](std::string_view text) {
    return std::any_of(all.begin(), all.end(), [&](const std::string& s) { return s.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(has("grad may be logits itself"));
  EXPECT_TRUE(has("cols <= 16777216"));
  EXPECT_TRUE(has("label_smoothing: in [0, 1)"));
  EXPECT_TRUE(has("each label is in [0, cols)"));
}

TEST(ContractJson, NamesTheValuesOfAChoiceAndWhatKeepsACallWhole) {
  const auto json = to_json(*find_contract("cross_entropy.forward_backward"));
  const auto& reduction = json["options"].back();
  EXPECT_EQ(reduction["kind"], "choice");
  EXPECT_EQ(reduction["choices"], nlohmann::ordered_json({"sum", "mean"}));
  EXPECT_EQ(reduction["range"], "sum or mean");
  EXPECT_TRUE(reduction["default"].is_null());
  EXPECT_EQ(json["determinism"]["whole_when"], "reduction");
}

class Formula : public ::testing::Test {
 protected:
  Result<std::int64_t> value(std::string_view formula) {
    call_ =
        problems::call_without_memory(
            problems::parse_problems("embedding.backward queries=7 dim=5 vocab=9 single=yes accumulate=1").value()[0])
            .value();
    return evaluate(formula, call_, 3);
  }
  Call call_;
};

TEST_F(Formula, IsReadAsItIsWritten) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"2 + 3 * 4", 14},          {"(2 + 3) * 4", 20},     {"10 - 4 - 3", 3},      {"threads * queries", 21},
      {"ceil(queries, 4)", 2},    {"ceil(8, 4)", 2},       {"vocab", 9},           {"accumulate * 2", 2},
      {"elements(dy)", 35},       {"bytes(dweight)", 180}, {"given(dy) + 1", 2},   {"padding_index", 0},
      {"size(dweight)", 4},       {"size(index)", 8},      {"distinct(index)", 7}, {"min(queries, 4)", 4},
      {"min(queries, vocab)", 7},
  };
  for (const auto& [formula, expected] : cases) {
    const auto found = value(formula);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found.value(), expected) << formula;
  }
}

TEST_F(Formula, StopsAtTheLargestNumber) {
  EXPECT_EQ(value("4611686018427387904 * 3").value(), INT64_MAX);
  EXPECT_EQ(value("9223372036854775807 + 1").value(), INT64_MAX);
}

TEST_F(Formula, IsRefusedWhereItCannotBeRead) {
  for (const char* wrong :
       {"", "2 +", "(2", "2)", "rows", "bytes(nobody)", "root(dy)", "ceil(4)", "min(4)", "2 3", "bytes dy"}) {
    const auto found = value(wrong);
    ASSERT_FALSE(found.ok()) << wrong;
    EXPECT_EQ(found.status().code(), Code::internal);
  }
}

}  // namespace
}  // namespace tokitai
