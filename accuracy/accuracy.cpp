#include "accuracy/accuracy.h"

#include <algorithm>

#include "base/at_once.h"
#include "contract/parse.h"
#include "contract/record.h"
#include "machines/analysis/machine.h"
#include "problems/instance.h"

namespace tokitai::evidence {
namespace {

using problems::Problem;

void merge(std::vector<OutputAccuracy>& all, const OutputAccuracy& one) {
  auto same = std::find_if(all.begin(), all.end(), [&](const OutputAccuracy& o) {
    return o.operand == one.operand && o.type == one.type && o.data == one.data;
  });
  if (same == all.end())
    all.push_back(one);
  else
    merge(*same, one);
}

void merge(OperatorAccuracy& all, const OperatorAccuracy& one) {
  merge(static_cast<AccuracyFigures&>(all), one);
  all.problems += one.problems;
  for (const OutputAccuracy& output : one.by_output) merge(all.by_output, output);
  for (const OutputAccuracy& output : one.by_data) merge(all.by_data, output);
}

// Products in another arithmetic than a chain are told apart: " block15".
std::string arithmetic_of(const Call& call) {
  if (describe(call).arithmetic == Arithmetic::chain) return "";
  std::string names;
  for (std::size_t i = 0; i < call.contract->options.size(); ++i)
    if (const OptionSpec& spec = call.contract->options[i]; spec.kind == OptionKind::choice)
      names.append(1, ' ').append(text_of(spec, call.options[i]));
  return names;
}

}  // namespace

Result<OperatorAccuracy> accuracy_of(const Problem& problem, Device& device, const analysis::Kernels& kernels) {
  OperatorAccuracy result;
  result.name = problem.contract->name;
  result.problems = 1;
  auto instance = problems::Instance::make(problem);
  if (!instance.ok()) return instance.status();
  Call call = instance->call();
  if (Status s = check(call); !s.ok()) return s;
  result.name += arithmetic_of(call);
  const CallAccuracy accuracy(call, kernels);
  Outcome outcome;
  if (Status s = device.run(call, &outcome); !s.ok()) return s;
  if (outcome.skipped) return result;
  for (OutputAccuracy& output : accuracy.of(call, problem.text())) {
    merge(static_cast<AccuracyFigures&>(result), output);
    merge(result.by_output, output);
    output.data = name_of(problem.family);
    merge(result.by_data, output);
  }
  return result;
}

Result<std::vector<OperatorAccuracy>> accuracy(const std::vector<Problem>& problems, Device& device,
                                               const AccuracyProgress& progress) {
  std::vector<Result<OperatorAccuracy>> results(problems.size(), Status(Code::internal, "not run"));
  base::at_once(problems.size(), [&](std::size_t p) {
    if (progress) progress(problems[p], p, problems.size());
    auto kernels = analysis::kernels(*problems[p].contract);
    results[p] =
        kernels.ok() ? accuracy_of(problems[p], device, kernels.value()) : Result<OperatorAccuracy>(kernels.status());
  });

  std::vector<OperatorAccuracy> all;
  for (const auto& result : results) {
    if (!result.ok()) return result.status();
    auto same = std::find_if(all.begin(), all.end(), [&](const auto& o) { return o.name == result->name; });
    if (same == all.end()) same = all.emplace(same), same->name = result->name;
    merge(*same, result.value());
  }
  return all;
}

}  // namespace tokitai::evidence
