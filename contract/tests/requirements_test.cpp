// What contracts require beyond what lies in memory, of every operator that this build has: each operand, type, shape,
// stride, limit and option of its tables is put wrong, and the check must refuse it by name. (check_test.cpp looks at
// the sentences, and that nothing is written.)
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "contract/contract.h"
#include "problems/instance.h"

namespace tokitai {
namespace {

// A small problem of every operator, outputs in the storage type, with and without optional operands.
template <class F> void for_every_operator(const F& look) {
  const auto all = problems::for_use(problems::Use::verify).value();
  for (const Contract* contract : contracts()) {
    const auto first = std::find_if(all.begin(), all.end(), [&](const auto& p) { return p.contract == contract; });
    ASSERT_NE(first, all.end()) << contract->name;
    problems::Problem problem = *first;
    problem.pad = 0;
    problem.in_place = false;
    problem.single.clear();
    problem.master = {true};
    for (const OperandSpec& spec : contract->operands)
      if (spec.optional && contract->has_once(spec)) problem.once.emplace_back(spec.name);
    for (const OptionSpec& option : contract->options)  // what is given may want a choice
      if (!option.choices.empty()) problem.options.emplace_back(option.name, option.choices[0]);
    if (contract->list) problem.list = {4, 4};
    const auto own = problem.sizes;
    for (auto& [symbol, size] : problem.sizes) size = 4;
    if (!problems::call_without_memory(problem).ok()) problem.sizes = own;  // they have to do with each other
    SCOPED_TRACE(problem.text());
    const auto instance = problems::Instance::make(problem);
    ASSERT_TRUE(instance.ok()) << instance.status().message();
    Call good = instance->call();
    ASSERT_TRUE(check(good).ok());
    look(*contract, instance->call());
  }
}
View& operand(Call& call, std::size_t i) {
  if (!call.contract->list) return call.operands[i];
  return call.list[call.contract->has_once(call.contract->operands[i]) ? 0 : 1][i];
}

void expect_refused(Call call, std::string_view name, std::string_view words) {
  const Status status = check(call);
  ASSERT_EQ(status.code(), Code::invalid) << name << ": " << words;
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  EXPECT_TRUE(status.message().starts_with(call.contract->name)) << status.message();
}

TEST(Requirements, EveryOperandThatIsNotOptionalIsGiven) {
  for_every_operator([](const Contract& contract, const Call& good) {
    for (std::size_t i = 0; i < contract.operands.size(); ++i) {
      Call call = good;
      operand(call, i) = {};
      const OperandSpec& spec = contract.operands[i];
      const bool belongs =
          std::any_of(contract.operands.begin(), contract.operands.end(),
                      [&](const OperandSpec& other) { return other.with == spec.name || spec.with == other.name; });
      if (belongs)
        expect_refused(call, spec.name, "it is given with");
      else if (spec.optional)
        EXPECT_TRUE(check(call).ok());
      else
        expect_refused(call, contract.operands[i].name, "is missing");
    }
  });
}

bool allowed(TypeRule rule, Type type, Type storage) {
  switch (rule) {
    case TypeRule::storage: return type == storage;
    case TypeRule::floating: return type == Type::f16 || type == Type::bf16 || type == Type::f32;
    case TypeRule::f32: return type == Type::f32;
    case TypeRule::storage_or_f32: return type == storage || type == Type::f32;
    case TypeRule::index: return type == Type::i32 || type == Type::i64;
    case TypeRule::i64: return type == Type::i64;
  }
  return false;
}
TEST(Requirements, EveryOperandHasATypeOfTheTableAndStorageIsOneType) {
  for_every_operator([](const Contract& contract, const Call& good) {
    Call checked = good;
    ASSERT_TRUE(check(checked).ok());
    for (std::size_t i = 0; i < contract.operands.size(); ++i)
      for (const Type type : {Type::f16, Type::bf16, Type::f32, Type::i32, Type::i64}) {
        Call call = good;
        operand(call, i).type = type;
        // The only operand of the storage type says which that is.
        const auto stored = std::count_if(contract.operands.begin(), contract.operands.end(), [](const OperandSpec& s) {
          return s.type == TypeRule::storage || s.type == TypeRule::storage_or_f32;
        });
        const bool real = type == Type::f16 || type == Type::bf16 || type == Type::f32;
        const Type storage =
            stored == 1 && real && contract.operands[i].type == TypeRule::storage ? type : checked.storage;
        if (!allowed(contract.operands[i].type, type, storage))
          expect_refused(call, contract.operands[i].name, "has type");
      }
  });
}

// Whether a list's tensors have one operand: then there is nothing that its shape could differ from.
bool alone(const Contract& contract) {
  return std::count_if(contract.operands.begin(), contract.operands.end(),
                       [&](const OperandSpec& spec) { return !contract.has_once(spec); }) == 1;
}

TEST(Requirements, EveryOperandHasTheShapeOfTheTable) {
  for_every_operator([](const Contract& contract, const Call& good) {
    for (std::size_t i = 0; i < contract.operands.size(); ++i) {
      const OperandSpec& spec = contract.operands[i];
      const int rank = spec.rank();
      for (int wrong = 1; wrong <= kMaxRank + 1; ++wrong)
        if (wrong != rank) {
          Call call = good;
          operand(call, i).rank = wrong;
          // A tensor of a list may have up to four dimensions: then it is its shape that is wrong.
          const bool any = contract.list && !contract.has_once(spec) && wrong <= kMaxRank;
          if (any && alone(contract)) continue;
          expect_refused(call, spec.name, any ? "shape [" : "dimension");
        }
      for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
        std::size_t occurrences = 0;
        for (const OperandSpec& other : contract.operands)
          for (const std::string_view symbol : other.shape) occurrences += symbol == spec.shape[d] ? 1 : 0;
        for (const std::int64_t size : {-1, 0, 3, 5}) {
          Call call = good;
          View& view = operand(call, i);
          view.shape[d] = size;
          if (rank == 2) view.row_stride = std::max(view.row_stride, view.cols());
          // A size that stands alone may be any from 1 on.
          const bool may_be_empty = contract.list && occurrences == 1 && spec.shape[d] != "1" && size == 0;
          if ((size < 1 && !may_be_empty) || occurrences > 1 || spec.shape[d] == "1")
            expect_refused(call, spec.name, "shape [");
        }
      }
    }
  });
}

TEST(Requirements, NoStrideIsShorterThanARow) {
  for_every_operator([](const Contract& contract, const Call& good) {
    for (std::size_t i = 0; i < contract.operands.size(); ++i)
      if (const std::int64_t columns = good.operands[i].cols(); !contract.operands[i].shape[1].empty())
        for (const std::int64_t stride : {columns - 1, std::int64_t{0}, std::int64_t{-4}}) {
          Call call = good;
          operand(call, i).row_stride = stride;
          expect_refused(call, contract.operands[i].name,
                         contract.operands[i].rank() > 2 ? "elements of it share memory" : "has row stride");
        }
  });
}

TEST(Requirements, WhatIsWrittenOverlapsNothingElse) {
  for_every_operator([](const Contract& contract, const Call& good) {
    for (std::size_t i = 0; i < contract.operands.size(); ++i)
      for (std::size_t j = 0; j < contract.operands.size(); ++j) {
        const OperandSpec &written = contract.operands[i], &other = contract.operands[j];
        if (i == j || written.role == Role::in) continue;
        Call call = good;
        operand(call, i).data = operand(call, j).data;
        if (written.may_lie_over(other.name) || other.may_lie_over(written.name)) {
          if (written.type == TypeRule::storage_or_f32) operand(call, i).type = operand(call, j).type;
          EXPECT_TRUE(check(call).ok()) << written.name << " over " << other.name;
          operand(call, i).data = static_cast<std::byte*>(operand(call, j).data) + size_of(operand(call, i).type);
        }
        expect_refused(call, written.name, "overlap");
      }
  });
}

TEST(Requirements, LimitsAreKept) {
  for_every_operator([](const Contract& contract, const Call& good) {
    for (const Limit& limit : contract.limits)
      for (const std::int64_t size : {limit.most, limit.most + 1}) {
        Call call = good;
        std::uintptr_t nowhere = 1;  // for sizes that no test can allocate: a check reads nothing
        for (std::size_t i = 0; i < contract.operands.size(); ++i) {
          View& view = operand(call, i);
          view.data = reinterpret_cast<void*>(nowhere++ << 44);
          for (std::size_t d = 0; d < 2; ++d)
            if (contract.operands[i].shape[d] == limit.symbol) view.shape[d] = size;
          if (view.rank == 2) view.row_stride = view.cols();
        }
        if (size == limit.most)
          EXPECT_TRUE(check(call).ok()) << limit.symbol;
        else
          expect_refused(call, limit.symbol, "must be at most");
      }
  });
}

// What each range's words leave out.
std::vector<Option> outside(const OptionSpec& option) {
  const auto floats = [](std::initializer_list<float> values) {
    std::vector<Option> all;
    for (const float value : values) all.push_back(option_f32(value));
    return all;
  };
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  if (!option.choices.empty())
    return {option_integer(-1), option_integer(static_cast<std::int64_t>(option.choices.size()))};
  if (option.range == "finite and >= 0") return floats({nan, infinity, -infinity, -1e-30f});
  if (option.range == "in [0, 1)") return floats({nan, infinity, -1e-30f, 1});
  if (option.range == "finite") return floats({nan, infinity, -infinity});
  if (option.range == ">= 1") return {option_integer(0), option_integer(-1)};
  if (option.range == "0 or 1") return {option_integer(2), option_integer(-1)};
  EXPECT_EQ(option.range, "an integer") << "say here what is outside of it";
  return {};
}
TEST(Requirements, OptionsAreInTheirRange) {
  for_every_operator([](const Contract& contract, const Call& good) {
    for (std::size_t o = 0; o < contract.options.size(); ++o) {
      const OptionSpec& option = contract.options[o];
      for (const Option& value : outside(option)) {
        Call call = good;
        call.options[o] = value;
        expect_refused(call, option.name, std::string(option.name) + " = ");
      }
      Call call = good;
      call.options[o] = option_unset();
      for (std::size_t i = 0; i < contract.operands.size(); ++i)  // what is given may want an option
        if (contract.operands[i].optional && !contract.list) operand(call, i) = {};
      if (option.required)
        expect_refused(call, option.name, std::string(option.name) + " is missing");
      else
        EXPECT_TRUE(check(call).ok()) << option.name;
    }
  });
}

TEST(Requirements, AListHoldsATensorAndOneOfThemElements) {
  for_every_operator([](const Contract& contract, const Call& good) {
    if (!contract.list) return;
    Call call = good;
    call.list.clear();
    expect_refused(call, "list", "the list of tensors is empty");
    call = good;
    for (Operands& set : call.list)
      for (std::size_t i = 0; i < contract.operands.size(); ++i)
        if (!contract.has_once(contract.operands[i])) set[i].shape[0] = 0;
    if (contract.may_be_empty)
      EXPECT_TRUE(check(call).ok());
    else
      expect_refused(call, "list", "has no elements in any tensor of the list");
    for (std::size_t i = 0; i < contract.operands.size(); ++i)
      if (contract.has_once(contract.operands[i])) {
        call = good;
        call.list[1][i] = call.list[0][i];
        expect_refused(call, contract.operands[i].name, "a call has one");
      }
  });
}

}  // namespace
}  // namespace tokitai
