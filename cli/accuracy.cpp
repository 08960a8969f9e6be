// tokitai accuracy: the true error of a device's outputs and the derived bound, as a table, JSON or Markdown.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "accuracy/accuracy.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "cli/problem_choice.h"
#include "cli/progress_line.h"
#include "cli/result_files.h"
#include "cli/table.h"

namespace tokitai::cli {
namespace {

using evidence::AccuracyFigures;
using evidence::OperatorAccuracy;
using evidence::OutputAccuracy;

struct Arguments {
  DeviceChoice device;
  ProblemChoice problems;
  ResultFiles files;
};

// Errors around a half are read to the fifth digit, as 0.5 and 0.51 must differ; large ones to the third.
std::string ulp(double value) {
  return value == 0 ? "0" : value < 10 ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
}

Json to_json(const AccuracyFigures& f) {
  Json j = {{"outputs", f.outputs},
            {"not_real", f.not_real},
            {"overflowed", f.overflowed},
            {"worst_ulp", f.worst_ulp},
            {"worst_ulp_at", f.worst_ulp_at},
            {"worst_bound_ulp", f.worst_bound_ulp},
            {"cancelled", f.cancelled},
            {"worst_kept_ulp", f.worst_kept_ulp},
            {"worst_kept_bound_ulp", f.worst_kept_bound_ulp},
            {"largest_ratio", f.tightest},
            {"mean_ratio", f.mean_ratio()},
            {"widest_enclosure", f.widest_enclosure},
            {"exceeded", f.exceeded}};
  if (!f.first_exceeded.empty()) j["first_exceeded"] = f.first_exceeded;
  j["histogram"] = f.histogram;
  return j;
}

Json to_json(const OutputAccuracy& output) {
  Json j = {{"operand", output.operand}, {"type", name_of(output.type)}};
  if (!output.data.empty()) j["data"] = output.data;
  j.update(to_json(static_cast<const AccuracyFigures&>(output)));
  return j;
}

Json to_json(const Arguments& a, const std::vector<OperatorAccuracy>& all) {
  Json operators = Json::array();
  for (const OperatorAccuracy& one : all) {
    Json j = {{"operator", one.name}, {"problems", one.problems}};
    j.update(to_json(static_cast<const AccuracyFigures&>(one)));
    j["by_output"] = Json::array();
    for (const OutputAccuracy& output : one.by_output) j["by_output"].push_back(to_json(output));
    j["by_data"] = Json::array();
    for (const OutputAccuracy& output : one.by_data) j["by_data"].push_back(to_json(output));
    operators.push_back(j);
  }
  return {{"device", a.device.device}, {"histogram_edges", evidence::kUlpEdges}, {"operators", operators}};
}

const std::vector<std::string> kHeader = {"operator",   "output",    "outputs",    "worst error", "worst bound",
                                          "above 0.51", "cancelled", "rest error", "rest bound",  "error/bound"};
std::vector<std::string> cells(const std::string& name, const OutputAccuracy& o) {
  return {name,
          fmt::format("{} {}", o.operand, name_of(o.type)),
          fmt::format("{}", o.outputs),
          ulp(o.worst_ulp),
          ulp(o.worst_bound_ulp),
          fmt::format("{}", o.above(0.51)),
          fmt::format("{}", o.cancelled),
          ulp(o.worst_kept_ulp),
          ulp(o.worst_kept_bound_ulp),
          o.exceeded > 0 ? "EXCEEDED" : fmt::format("{:.2f}", o.mean_ratio())};
}

void print(const Arguments& a, const std::vector<OperatorAccuracy>& all) {
  Table table(kHeader);
  for (const OperatorAccuracy& one : all)
    for (const OutputAccuracy& output : one.by_output) table.add(cells(one.name, output));
  fmt::print("{}: true error and derived bound, in units in the last place\n\n{}\n", base::one_line(a.device.device),
             table.text());
  fmt::print("cancelled: less than 1/16 is left of the largest term added; rest: all other outputs\n");
  for (const OperatorAccuracy& one : all)
    if (!one.first_exceeded.empty()) fmt::print("\nfirst bound exceeded of {}:\n  {}\n", one.name, one.first_exceeded);
}

std::string markdown(const std::vector<OperatorAccuracy>& all) {
  std::string text = fmt::format("| {} |\n|", fmt::join(kHeader, " | "));
  for (std::size_t c = 0; c < kHeader.size(); ++c) text += "---|";
  for (const OperatorAccuracy& one : all)
    for (const OutputAccuracy& output : one.by_output)
      text += fmt::format("\n| {} |", fmt::join(cells(one.name, output), " | "));
  text +=
      "\n\n| operator | problems | outputs | no real answer | beyond range | worst error at "
      "|\n|---|---|---|---|---|---|";
  for (const OperatorAccuracy& one : all)
    text += fmt::format("\n| {} | {} | {} | {} | {} | `{}` |", one.name, one.problems, one.outputs, one.not_real,
                        one.overflowed, one.worst_ulp_at);
  text +=
      "\n\nf16 outputs above 0.51, by family of data; families that are not listed have none:\n\n"
      "| operator | output | data | outputs | cancelled | above 0.51 | worst error | rest error |\n"
      "|---|---|---|---|---|---|---|---|";
  for (const OperatorAccuracy& one : all)
    for (const OutputAccuracy& o : one.by_data)
      if (o.type == Type::f16 && o.above(0.51) > 0)
        text += fmt::format("\n| {} | {} | {} | {} | {} | {} | {} | {} |", one.name, o.operand, o.data, o.outputs,
                            o.cancelled, o.above(0.51), ulp(o.worst_ulp), ulp(o.worst_kept_ulp));
  return text + "\n";
}

Status run(const Arguments& a, int& exit_code) {
  if (Status s = a.files.writable(); !s.ok()) return s;
  const auto problems = a.problems.chosen({problems::Use::accuracy});
  if (!problems.ok()) return problems.status();
  auto device = a.device.open();
  if (!device.ok()) return device.status();
  ProgressLine progress;
  const auto result = evidence::accuracy(problems.value(), device.value(),
                                         [&](const problems::Problem& problem, std::size_t done, std::size_t all) {
                                           progress.say(fmt::format("{} of {}  {}", done + 1, all, problem.text()));
                                         });
  progress.say("");
  if (!result.ok()) return result.status();
  if (a.files.table()) print(a, result.value());
  if (Status s = a.files.write(to_json(a, result.value()), markdown(result.value())); !s.ok()) return s;
  std::int64_t outputs = 0, exceeded = 0;
  for (const OperatorAccuracy& one : result.value()) outputs += one.outputs, exceeded += one.exceeded;
  if (outputs == 0) return {Code::check_failed, "no output has a real-number answer and a bound: nothing was checked"};
  exit_code = exceeded == 0 ? 0 : 1;
  return {};
}

}  // namespace

void add_accuracy(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("accuracy", "true error of each output, and the derived bound");
  a->device.add_to(*command);
  a->problems.add_to(*command);
  a->files.add_to(*command);
  command->footer(
      "Examples:\n  tokitai accuracy --op softmax.forward\n"
      "  tokitai accuracy --problem \"gemm.forward m=3 n=4 k=50 type=bf16 data=all\" --json -");
  command->callback([a, &exit_code] { report(run(*a, exit_code), exit_code); });
}

}  // namespace tokitai::cli
