// The problems a subcommand works on: lines given by hand, else the built-in ones; of every operator, or of those
// named; all, or a sample.
#pragma once
#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <vector>

#include "problems/problem.h"

namespace tokitai::cli {

struct ProblemChoice {
  std::vector<std::string> operators;  // empty: every one
  std::vector<std::string> lines;      // "softmax.forward rows=3 cols=5"; empty: the built-in problems
  int one_in = 1;                      // of each operator's the first, and every so-many-th after it

  void add_to(CLI::App& command);
  // The built-in ones are those of these uses, in this order. To find none is refused: a command that had nothing to
  // do must not look good.
  Result<std::vector<problems::Problem>> chosen(std::initializer_list<problems::Use> uses) const;
};

}  // namespace tokitai::cli
