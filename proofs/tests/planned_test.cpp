// What is proved covers what is planned: the plans of problems that nobody chose are made of parts that `planned`
// knows.
#include "proofs/planned.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "problems/instance.h"

namespace tokitai::proofs {
namespace {

class Sizes {
 public:
  // Any number of digits is as likely; multiples of powers of two come often, as plans tell them apart.
  std::int64_t any(int bits) {
    const auto size = static_cast<std::int64_t>(random_() >> (64 - 1 - random_() % static_cast<unsigned>(bits)));
    const std::int64_t multiple = std::int64_t{1} << (random_() % 12);
    return std::max<std::int64_t>(random_() % 2 == 0 ? size : (size + multiple - 1) / multiple * multiple, 1);
  }
  template <class T> T one_of(std::initializer_list<T> all) { return all.begin()[random_() % all.size()]; }

 private:
  std::mt19937_64 random_{7};
};

std::string line_of(const Contract& contract, Sizes& s) {
  const char* type = s.one_of({"f16", "bf16", "f32"});
  if (contract.operands[0].shape[0] == "rows" && contract.operands[0].shape[1] == "cols")
    return fmt::format("{} rows={} cols={} type={} pad={}", contract.name, s.any(20), s.any(24), type,
                       s.one_of({0, 0, 1, 4, 8}));
  if (contract.family() == "gemm" || contract.family() == "grouped")
    return fmt::format(
        "{}{} m={} n={} k={} type={} arithmetic={}", contract.name,
        contract.family() == "grouped" ? fmt::format(" groups={}", s.any(9)) : "", s.any(14), s.any(14), s.any(14),
        type,
        type == std::string_view("f32") ? s.one_of({"chain", "block15"}) : s.one_of({"chain", "block15", "hopper"}));
  if (contract.family() == "embedding")
    return fmt::format("{} queries={} dim={} vocab={} type={}", contract.name, s.any(20), s.any(12), s.any(20), type);
  return {};
}

TEST(Planned, KnowsThePartsOfProblemsThatNobodyChose) {
  const auto subjects = planned();
  ASSERT_TRUE(subjects.ok()) << subjects.status().message();
  std::set<std::string> known;
  for (const Subject& subject : subjects->parts) known.insert(pattern_of(subject.part) + words_of(subject.part));
  Sizes sizes;
  int asked = 0;
  for (int i = 0; i < 400; ++i)
    for (const Contract* contract : contracts()) {
      const std::string line = line_of(*contract, sizes);
      if (line.empty()) continue;
      const auto problem = problems::parse_problems(line);
      ASSERT_TRUE(problem.ok()) << line << ": " << problem.status().message();
      const auto call = problems::call_without_memory(problem->at(0));
      ASSERT_TRUE(call.ok()) << line << ": " << call.status().message();
      for (const char* target : {"sm_80", "sm_90a", "gfx942", "gfx1101"}) {
        const device::Machinery machinery{compiler::find_target(target).value(), 132, i % device::kVariants};
        const auto program = device::plan(call.value(), machinery);
        ASSERT_TRUE(program.ok()) << line << ": " << program.status().message();
        for (const device::Launch& launch : program->launches)
          for (const Part& part : parts_of(call.value(), launch)) {
            ++asked;
            EXPECT_TRUE(known.contains(pattern_of(part) + words_of(part)))
                << line << " on " << target << ", variant " << machinery.variant << ": " << words_of(part);
          }
      }
    }
  EXPECT_GT(asked, 20000);
}

// The table of groups' slots says rows in 32 bits (proofs/product_groups.cpp): what they cannot say is no plan.
TEST(Planned, GroupsHaveNoMoreRowsThanTheirTableCanSay) {
  const auto plan = [](std::int64_t rows) {
    const std::string line = fmt::format("grouped.forward m={} groups=3 k=1 n=1 type=f16", rows);
    const auto call = problems::call_without_memory(problems::parse_problems(line).value().at(0));
    return device::plan(call.value(), {compiler::find_target("sm_80").value(), 132, 0});
  };
  EXPECT_TRUE(plan((std::int64_t{1} << 31) - 65536).ok());
  const auto refused = plan((std::int64_t{1} << 31) - 65535);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(),
            "grouped.forward: the groups of c have 2147418113 rows; a GPU takes at most 2147418112");
}

}  // namespace
}  // namespace tokitai::proofs
