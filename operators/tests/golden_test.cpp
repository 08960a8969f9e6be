// The bits of a release, frozen: the reference's outputs for fixed problems hash to the recorded values.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "operators/tests/golden.h"

namespace tokitai {
namespace {

TEST(Golden, ReferenceWritesTheFrozenBits) {
  Device reference = open("reference").value();
  const bool print = std::getenv("TOKITAI_PRINT_GOLDEN") != nullptr;
  for (const golden::Entry& entry : golden::kTable) {
    const auto hash = golden::hash_of(entry.line, reference);
    ASSERT_TRUE(hash.ok()) << entry.line << ": " << hash.status().message();
    if (print)
      fmt::print("{{\"{}\", {:#018x}}},\n", entry.line, hash.value());
    else
      EXPECT_EQ(hash.value(), entry.hash) << fmt::format("{} hashes to {:#018x}", entry.line, hash.value());
  }
}

TEST(Golden, CpuWritesTheFrozenBits) {
  if (std::getenv("TOKITAI_PRINT_GOLDEN") != nullptr) GTEST_SKIP();
  for (const std::string& isa : cpu_isas()) {
    Device device = open("cpu", {.threads = 3, .isa = isa}).value();
    for (const golden::Entry& entry : golden::kTable) {
      const auto hash = golden::hash_of(entry.line, device);
      ASSERT_TRUE(hash.ok()) << entry.line << ": " << hash.status().message();
      EXPECT_EQ(hash.value(), entry.hash) << isa << ": " << entry.line;
    }
  }
}

TEST(Golden, CoversEveryOperatorInEveryStorageType) {
  std::map<std::string, int> lines;
  for (const golden::Entry& entry : golden::kTable) {
    const auto problems = problems::parse_problems(entry.line);
    ASSERT_TRUE(problems.ok()) << problems.status().message();
    for (const problems::Problem& problem : problems.value())
      ++lines[fmt::format("{} {}", problem.contract->name, name_of(problem.storage))];
  }
  for (const Contract* contract : contracts())
    for (Type type : {Type::f16, Type::bf16, Type::f32})
      EXPECT_GE(lines[fmt::format("{} {}", contract->name, name_of(type))], 2)
          << contract->name << " " << name_of(type);
}

}  // namespace
}  // namespace tokitai
