// What the registry promises: every built-in operator is in it, operators may be added while others read, and no name
// has two meanings.
#include "contract/registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "problems/problem.h"
#include "tokitai/device.h"

namespace tokitai {
namespace {

// Contracts live until the process ends.
const Contract& named(const Contract& like, std::string name) {
  static std::deque<std::string> names;
  static std::deque<Contract> kept;
  names.push_back(std::move(name));
  kept.push_back(like);
  kept.back().name = names.back();
  return kept.back();
}
Operator like(const Operator& one, std::string name, std::string origin) {
  Operator other = one;
  other.contract = &named(*one.contract, std::move(name));
  auto folder = *one.folder;
  folder.origin = std::move(origin);
  folder.header = other.contract->name;
  folder.problems.clear();
  other.folder = std::make_shared<const OperatorFolder>(std::move(folder));
  return other;
}
const Operator& softmax() { return *find_operator("softmax.forward"); }

TEST(Registry, HoldsEveryBuiltInOperatorWithItsKernelsAndTexts) {
  ASSERT_FALSE(operators().empty());
  for (const Operator* one : operators()) {
    if (!one->folder->origin.starts_with("operators/")) continue;  // another test's
    SCOPED_TRACE(one->contract->name);
    EXPECT_EQ(find_operator(one->contract->name), one);
    EXPECT_EQ(find_operator(*one->contract), one);
    EXPECT_EQ(find_contract(one->contract->name), one->contract);
    EXPECT_NE(one->reference, nullptr);
    for (const std::string& isa : cpu_isas()) EXPECT_NE(one->cpu_kernel(isa), nullptr) << isa;
    EXPECT_NE(one->folder->definition.find("struct "), std::string::npos);
    EXPECT_NE(one->folder->problems.find("verify "), std::string::npos);
  }
  EXPECT_EQ(softmax().definition, "tokitai::softmax::Forward");
  EXPECT_EQ(find_operator("softmax.sideways"), nullptr);
}

TEST(Registry, AnAddedOperatorIsFoundAndRuns) {
  ASSERT_TRUE(add_operators({like(softmax(), "added.forward", "/somewhere/added")}).ok());
  const Operator* added = find_operator("added.forward");
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(added->definition, softmax().definition);
  EXPECT_EQ(contracts().back(), added->contract);
  const auto problem = problems::parse_problems("added.forward rows=3 cols=5");
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  for (const char* name : {"reference", "cpu"}) {
    float x[2] = {1, 1}, y[2] = {};
    Call call;
    call.contract = added->contract;
    call.operands[0] = matrix(x, 1, 2);
    call.operands[1] = matrix(y, 1, 2);
    Device device = open(name).value();
    const Status status = device.run(call);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(y[1], 0.5f);
  }
}

// The first keeps the name, and none of those that came with the second are added.
TEST(Registry, ANameThatIsTakenIsRefusedWithBothPlaces) {
  const Operator* before = find_operator("softmax.forward");
  const Status status = add_operators(
      {like(softmax(), "beside.forward", "/elsewhere"), like(softmax(), "softmax.forward", "/elsewhere")});
  EXPECT_EQ(status.code(), Code::invalid);
  for (const char* word : {"operators/softmax", "/elsewhere", "softmax.forward"})
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  EXPECT_EQ(find_operator("softmax.forward"), before);
  EXPECT_EQ(find_operator("beside.forward"), nullptr);
  Operator same = like(softmax(), "another.forward", "/elsewhere");
  auto folder = *same.folder;
  folder.header = softmax().folder->header;
  same.folder = std::make_shared<const OperatorFolder>(folder);
  EXPECT_NE(add_operators({same}).message().find("operators/softmax/definition.h"), std::string::npos);
  EXPECT_EQ(find_operator("another.forward"), nullptr);
  const Status twice =
      add_operators({like(softmax(), "twice.forward", "/one"), like(softmax(), "twice.forward", "/two")});
  EXPECT_EQ(twice.code(), Code::invalid);
  EXPECT_EQ(find_operator("twice.forward"), nullptr);
}

TEST(Registry, WhatNoCallCouldHoldIsRefused) {
  const auto refused = [](Operator one, std::string_view word) {
    const Status status = add_operators({std::move(one)});
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  };
  refused(like(softmax(), "Softmax", "/x"), "name");
  refused(like(softmax(), "softmax.", "/x"), "name");
  Operator one = like(softmax(), "wide.forward", "/x");
  Contract wide = *one.contract;
  wide.operands.resize(kMaxOperands + 1, wide.operands[0]);
  one.contract = &wide;
  refused(one, "operands");
  wide = softmax().contract[0];
  wide.name = "wide.forward";
  wide.options.resize(kMaxOptions + 1, {"o", OptionKind::flag, {}, "", nullptr, ""});
  refused(one, "options");
  one = like(softmax(), "none.forward", "/x");
  one.reference = nullptr;
  refused(one, "reference");
}

TEST(Registry, ThreadsMayReadAndAddAtOnce) {
  constexpr int kThreads = 4, kEach = 50;
  std::vector<std::vector<Operator>> more(kThreads);
  for (int t = 0; t < kThreads; ++t)
    for (int i = 0; i < kEach; ++i)
      more[static_cast<std::size_t>(t)].push_back(
          like(softmax(), "thread_" + std::to_string(t) + ".o" + std::to_string(i), "/thread"));
  const std::size_t before = operators().size();
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) EXPECT_NE(find_operator("softmax.forward"), nullptr);
  });
  std::vector<std::thread> adders;
  for (auto& mine : more)
    adders.emplace_back([&mine] {
      for (Operator& one : mine) EXPECT_TRUE(add_operators({one}).ok());
    });
  for (std::thread& adder : adders) adder.join();
  done = true;
  reader.join();
  EXPECT_EQ(operators().size(), before + kThreads * kEach);
  for (const auto& mine : more)
    for (const Operator& one : mine) EXPECT_NE(find_operator(one.contract->name), nullptr);
}

}  // namespace
}  // namespace tokitai
