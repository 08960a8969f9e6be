// Names are checked before any line is read, so that a misspelt operator is told as such.
#include "cli/problem_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "cli/commands.h"
#include "problems/instance.h"

namespace tokitai::cli {
namespace {

using problems::Problem;

constexpr int kMostProblems = 1'000'000;

void append(std::vector<Problem>& all, const std::vector<Problem>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Result<std::vector<Problem>> given(const std::vector<std::string>& lines) {
  std::vector<Problem> all;
  for (const std::string& line : lines) {
    const auto parsed = problems::parse_problems(line);
    if (!parsed.ok()) return parsed.status();
    if (parsed->empty()) return Status::invalid(fmt::format("'{}' is no problem: a key has no value", line));
    for (const Problem& problem : parsed.value())
      if (const auto call = problems::call_without_memory(problem); !call.ok()) return call.status();
    append(all, parsed.value());
  }
  return all;
}

Result<std::vector<Problem>> built_in(std::initializer_list<problems::Use> uses) {
  std::vector<Problem> all;
  for (const problems::Use use : uses) {
    const auto some = problems::for_use(use);
    if (!some.ok()) return some.status();
    append(all, some.value());
  }
  return all;
}

}  // namespace

void ProblemChoice::add_to(CLI::App& command) {
  command.add_option("--op", operators, "only these operators");
  command.add_option("--problem", lines,
                     "a problem line instead of the built-in ones, e.g. \"softmax.forward rows=3 cols=5\"");
  command.add_option("--one-in", one_in, "a sample: of each operator's problems one in so many")->capture_default_str();
}

Result<std::vector<Problem>> ProblemChoice::chosen(std::initializer_list<problems::Use> uses) const {
  if (Status s = check_range("--one-in", one_in, kMostProblems); !s.ok()) return s;
  for (const std::string& name : operators)
    if (const auto known = operator_named(name); !known.ok()) return known.status();
  auto all = lines.empty() ? built_in(uses) : given(lines);
  if (!all.ok()) return all.status();
  std::set<std::string> known;  // the same problem again is the same evidence again
  std::erase_if(all.value(), [&](const Problem& problem) { return !known.insert(problem.text()).second; });
  if (!operators.empty())
    std::erase_if(all.value(), [&](const Problem& problem) {
      return std::find(operators.begin(), operators.end(), problem.contract->name) == operators.end();
    });
  std::map<const Contract*, int> seen;
  std::erase_if(all.value(), [&](const Problem& problem) { return seen[problem.contract]++ % one_in != 0; });
  if (all->empty())
    return Status::invalid(
        fmt::format("no {}problem of {}", lines.empty() ? "built-in " : "", fmt::join(operators, ", ")));
  return all;
}

}  // namespace tokitai::cli
