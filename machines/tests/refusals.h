// Calls that are refused, or called off, for what lies in memory, in several places at once. Every device must answer
// to them with one sentence, which names the first place.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "problems/instance.h"
#include "reports/compare.h"
#include "tokitai/device.h"

namespace tokitai {

struct Refusal {
  std::string_view line;
  void (*spoil)(Call&);
  std::string_view words;  // of the answer
};

inline void set_integer(const View& view, std::int64_t i, std::int64_t value) {
  if (view.type == Type::i32)
    static_cast<std::int32_t*>(view.data)[i] = static_cast<std::int32_t>(value);
  else
    static_cast<std::int64_t*>(view.data)[i] = value;
}
// Labels or indices outside of [0, 5) at several positions; the first and the last are let pass by an option.
inline void spoil_integers(Call& call) {
  const View& integers = call.operand(1);
  for (const std::int64_t i : {std::int64_t{0}, integers.rows() - 1}) set_integer(integers, i, -100);
  for (const std::int64_t i : {integers.rows() - 2, integers.rows() / 2, integers.rows() / 3 + 1})
    set_integer(integers, i, 1000 + i);
  set_integer(integers, integers.rows() / 3, -7);
}
// Gradients that are not finite in two tensors behind an empty one.
inline void spoil_gradients(Call& call) {
  for (const std::size_t t : {std::size_t{2}, std::size_t{3}}) {
    const View& grad = call.list[t][3];
    for (const std::int64_t i : {grad.rows() - 1, grad.rows() / 2}) static_cast<float*>(grad.data)[i] = HUGE_VALF;
  }
}

// What a device says of a call, its outcome included.
inline std::string answer(Device& device, Call call) {
  Outcome outcome;
  const Status status = device.run(call, &outcome);
  return status.ok() ? fmt::format("skipped {}: tensor {}, position {}", outcome.skipped, outcome.skipped_tensor,
                                   outcome.skipped_position)
                     : status.message();
}

inline void expect_one_sentence(const Refusal& refusal, std::vector<Device>& devices) {
  if (find_contract(refusal.line.substr(0, refusal.line.find(' '))) == nullptr) return;  // a build of few operators
  for (const problems::Problem& problem : problems::parse_problems(refusal.line).value()) {
    SCOPED_TRACE(problem.text());
    auto found = problems::Instance::make(problem).value(), untouched = problems::Instance::make(problem).value();
    for (problems::Instance* instance : {&found, &untouched}) instance->reset(std::byte{0xa5});
    Call call = found.call();
    refusal.spoil(call);
    Device reference = open("reference").value();
    const std::string expected = answer(reference, call);
    EXPECT_NE(expected.find(refusal.words), std::string::npos) << expected;
    for (Device& device : devices) EXPECT_EQ(answer(device, call), expected) << device.name() << device.description();
    for (std::size_t t = 0; t < found.sets().size(); ++t)
      for (std::size_t i = 0; i < problem.contract->operands.size(); ++i)
        if (found.written(i) && found.sets()[t][i].elements() > 0) {
          EXPECT_EQ(evidence::compare(found.sets()[t][i], untouched.sets()[t][i]).differing, 0) << "was written";
        }
  }
}

}  // namespace tokitai
