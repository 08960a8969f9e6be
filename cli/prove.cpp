// tokitai prove: the claims about the GPU patterns' index arithmetic, each decided by a solver for all sizes and for
// every plan the planner can choose.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/output_files.h"
#include "cli/progress_line.h"
#include "cli/table.h"
#include "proofs/planned.h"
#include "proofs/prover.h"

namespace tokitai::cli {
namespace {

using proofs::Outcome;
using proofs::Verdict;

struct Arguments {
  std::vector<std::string> patterns;
  std::string json, smt2;
  double timeout = 10;
};

// One claim over all plans, as the table shows it.
struct Line {
  std::string pattern, claim;
  std::size_t plans = 0;
  double slowest = 0, all = 0;
  Verdict verdict = Verdict::proved;
};

std::vector<Line> lines_of(const std::vector<Outcome>& outcomes) {
  std::vector<Line> lines;
  std::map<std::string, std::size_t> at;
  for (const Outcome& o : outcomes) {
    const auto [place, fresh] = at.try_emplace(o.pattern + " " + o.claim, lines.size());
    if (fresh) lines.push_back({o.pattern, o.claim});
    Line& line = lines[place->second];
    ++line.plans;
    line.all += o.seconds;
    line.slowest = std::max(line.slowest, o.seconds);
    if (o.verdict != Verdict::proved && line.verdict != Verdict::refuted) line.verdict = o.verdict;
  }
  return lines;
}

void print(const std::vector<Outcome>& outcomes, const std::string& solver) {
  Table table({"pattern", "claim", "plans", "slowest ms", "all ms", "result"});
  for (const Line& line : lines_of(outcomes))
    table.add({line.pattern, line.claim, fmt::format("{}", line.plans), fmt::format("{:.1f}", 1e3 * line.slowest),
               fmt::format("{:.0f}", 1e3 * line.all), name_of(line.verdict)});
  fmt::print("{}\n", table.text());
  for (const Outcome& o : outcomes)
    if (o.verdict != Verdict::proved)
      fmt::print("{}: {}: {}\n  plan: {}\n  {}\n", name_of(o.verdict), o.pattern, o.claim, o.plan, o.counterexample);
  const auto proved =
      std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.verdict == Verdict::proved; });
  fmt::print("{} of {} claims proved by {}\n", proved, outcomes.size(), solver);
}

Json to_json(const std::vector<Outcome>& outcomes, const std::string& solver) {
  Json claims = Json::array();
  for (const Outcome& o : outcomes) {
    Json one{{"pattern", o.pattern},
             {"plan", o.plan},
             {"claim", o.claim},
             {"result", name_of(o.verdict)},
             {"seconds", o.seconds}};
    if (!o.counterexample.empty()) one["counterexample"] = o.counterexample;
    claims.push_back(std::move(one));
  }
  return {{"solver", solver}, {"claims", std::move(claims)}};
}

// One file per question; a claim that asks the same of several plans is written once.
Status write_smt2(const std::string& folder, const std::vector<Outcome>& outcomes) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status::invalid(fmt::format("--smt2 {}: {}", folder, error.message()));
  std::map<std::string, std::size_t> known;
  for (const Outcome& o : outcomes) {
    if (!known.try_emplace(o.smt2, known.size()).second) continue;
    const std::string path = fmt::format("{}/{}_{:04}.smt2", folder, o.pattern, known.size());
    const std::string answer = o.verdict == Verdict::proved    ? "unsat"
                               : o.verdict == Verdict::refuted ? "sat"
                                                               : "unknown";
    const std::string text =
        fmt::format("; {}: {}\n; {}\n(set-info :status {})\n{}", o.pattern, o.claim, o.plan, answer, o.smt2);
    if (Status s = write_text(path, text); !s.ok()) return s;
  }
  return {};
}

Status choose(const Arguments& a, proofs::Subjects& subjects) {
  const auto wanted = [&](const char* name) {
    // The row pattern has too many plans to be decided in minutes: only where it is asked for.
    if (a.patterns.empty()) return std::string_view(name) != "row";
    return std::find(a.patterns.begin(), a.patterns.end(), name) != a.patterns.end();
  };
  for (const std::string& name : a.patterns)
    if (name != "each" && name != "row" && name != "tile")
      return Status::invalid(fmt::format("no claims about '{}'; there are claims about each, row, tile", name));
  if (!wanted("each")) subjects.each.clear();
  if (!wanted("row")) subjects.row.clear();
  if (!wanted("tile")) subjects.tile.clear();
  return {};
}

Status run(const Arguments& a, int& exit_code) {
  if (!(a.timeout > 0) || a.timeout > 86400)
    return Status::invalid(fmt::format("--timeout {}; it must be above 0 and at most 86400 seconds", a.timeout));
  if (!a.json.empty() && a.json != "-")
    if (auto there = destination(a.json); !there.ok()) return there.status();
  proofs::Subjects known;
  if (Status s = choose(a, known); !s.ok()) return s;
  const auto prover = proofs::load_prover();
  if (!prover.ok()) return prover.status();
  auto subjects = proofs::planned();
  if (!subjects.ok()) return subjects.status();
  if (Status s = choose(a, subjects.value()); !s.ok()) return s;

  ProgressLine progress;
  const proofs::Settings settings{std::max(1, static_cast<int>(a.timeout * 1000)), !a.smt2.empty()};
  const std::vector<Outcome> outcomes = prover.value()->prove(
      subjects.value(), settings,
      [&](std::size_t done, std::size_t all) { progress.say(fmt::format("{} of {} plans", done, all)); });
  progress.say("");
  if (outcomes.empty()) return {Code::check_failed, "nothing was claimed"};
  if (!a.smt2.empty())
    if (Status s = write_smt2(a.smt2, outcomes); !s.ok()) return s;
  if (a.json != "-") print(outcomes, prover.value()->solver);
  if (!a.json.empty())
    if (Status s = write_text(a.json, dumped(to_json(outcomes, prover.value()->solver))); !s.ok()) return s;
  exit_code =
      std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.verdict == Verdict::proved; }) ? 0
                                                                                                                   : 1;
  return {};
}

}  // namespace

void add_prove(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("prove", "prove GPU patterns' index arithmetic for all sizes");
  command->add_option("pattern", a->patterns, "each, tile (both), row (hours)");
  command->add_option("--timeout", a->timeout, "seconds a claim may take; it is undecided then")->capture_default_str();
  command->add_option("--smt2", a->smt2, "write every claim as an SMT-LIB file into this folder");
  command->add_option("--json", a->json, "write the result as JSON to this file (- for standard output)");
  command->callback([a, &exit_code] { report(run(*a, exit_code), exit_code); });
}

}  // namespace tokitai::cli
