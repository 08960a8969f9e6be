// tokitai gradients: shows that each backward operator is the transpose of its forward's derivative.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "accuracy/gradients.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "cli/problem_choice.h"
#include "cli/progress_line.h"
#include "cli/result_files.h"
#include "cli/table.h"

namespace tokitai::cli {
namespace {

using evidence::GradientResult;

struct Arguments {
  DeviceChoice device;
  ProblemChoice problems;
  int directions = 16;
  ResultFiles files;
};

Json to_json(const Arguments& a, const std::vector<GradientResult>& all) {
  Json operators = Json::array();
  for (const GradientResult& one : all) {
    Json j = {{"operator", one.name},           {"problems", one.problems},
              {"directions", one.directions},   {"failed", one.failed},
              {"widest_interval", one.widest},  {"worst_deviation", one.worst_deviation},
              {"worst_bound", one.worst_bound}, {"largest_ratio", one.tightest}};
    if (!one.first_failure.empty()) j["first_failure"] = one.first_failure;
    operators.push_back(j);
  }
  return {{"device", a.device.device}, {"operators", operators}};
}

const std::vector<std::string> kHeader = {"operator",      "problems", "directions",     "intervals within",
                                          "device off by", "bound",    "distance/bound", "result"};
std::vector<std::string> cells(const GradientResult& r) {
  return {r.name,
          fmt::format("{}", r.problems),
          fmt::format("{}", r.directions),
          fmt::format("{:.1e}", r.widest),
          fmt::format("{:.1e}", r.worst_deviation),
          fmt::format("{:.1e}", r.worst_bound),
          fmt::format("{:.2f}", r.tightest),
          r.failed == 0 ? "the gradient" : "NOT THE GRADIENT"};
}

void print(const Arguments& a, const std::vector<GradientResult>& all) {
  Table table(kHeader);
  for (const GradientResult& one : all) table.add(cells(one));
  fmt::print("{}: <w, J v> against <J^T w, v>, of the sum of |gradient * v|\n\n{}", base::one_line(a.device.device),
             table.text());
  for (const GradientResult& one : all)
    if (!one.first_failure.empty()) fmt::print("\nfirst failure of {}:\n  {}\n", one.name, one.first_failure);
}

std::string markdown(const std::vector<GradientResult>& all) {
  std::string text = fmt::format("| {} |\n|", fmt::join(kHeader, " | "));
  for (std::size_t c = 0; c < kHeader.size(); ++c) text += "---|";
  for (const GradientResult& one : all) text += fmt::format("\n| {} |", fmt::join(cells(one), " | "));
  return text + "\n";
}

Status run(const Arguments& a, int& exit_code) {
  constexpr double kMostDirections = 1'000'000;
  if (Status s = check_range("--directions", a.directions, kMostDirections); !s.ok()) return s;
  if (Status s = a.files.writable(); !s.ok()) return s;
  const auto problems = a.problems.chosen({problems::Use::gradients});
  if (!problems.ok()) return problems.status();
  auto device = a.device.open();
  if (!device.ok()) return device.status();
  ProgressLine progress;
  const auto result = evidence::gradients(problems.value(), a.directions, device.value(),
                                          [&](const problems::Problem& problem, std::size_t done, std::size_t all) {
                                            progress.say(fmt::format("{} of {}  {}", done + 1, all, problem.text()));
                                          });
  progress.say("");
  if (!result.ok()) return result.status();
  if (a.files.table()) print(a, result.value());
  if (Status s = a.files.write(to_json(a, result.value()), markdown(result.value())); !s.ok()) return s;
  for (const GradientResult& one : result.value())
    if (one.failed > 0) exit_code = 1;
  return {};
}

}  // namespace

void add_gradients(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("gradients", "show that each backward operator is its forward's gradient");
  a->device.add_to(*command);
  a->problems.add_to(*command);
  command->add_option("--directions", a->directions, "random directions for each problem")->capture_default_str();
  a->files.add_to(*command);
  command->footer(
      "Examples:\n  tokitai gradients --op softmax.backward\n"
      "  tokitai gradients --problem \"layernorm.backward rows=2 cols=9 type=f32\" --directions 3 --json -");
  command->callback([a, &exit_code] { report(run(*a, exit_code), exit_code); });
}

}  // namespace tokitai::cli
