// tokitai prove: the claims about the GPU patterns' index arithmetic, each decided by a solver for all sizes and for
// every plan the planner can choose.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
  int one_in = 1;
};

// One claim over all parts of plans, as the table shows it.
struct Line {
  std::string pattern, claim;
  std::size_t parts = 0;
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
    ++line.parts;
    line.all += o.seconds;
    line.slowest = std::max(line.slowest, o.seconds);
    if (o.verdict != Verdict::proved && line.verdict != Verdict::refuted) line.verdict = o.verdict;
  }
  return lines;
}

void print(const std::vector<Outcome>& outcomes, const proofs::Subjects& subjects, const std::string& solver,
           int one_in) {
  Table table({"pattern", "claim", "parts", "slowest ms", "all ms", "result"});
  for (const Line& line : lines_of(outcomes))
    table.add({line.pattern, line.claim, fmt::format("{}", line.parts), fmt::format("{:.1f}", 1e3 * line.slowest),
               fmt::format("{:.0f}", 1e3 * line.all), name_of(line.verdict)});
  fmt::print("{}\n", table.text());
  for (const Outcome& o : outcomes)
    if (o.verdict != Verdict::proved)
      fmt::print("{}: {}: {}\n  {}\n  {}\n", name_of(o.verdict), o.pattern, o.claim, o.part, o.counterexample);
  const auto proved =
      std::count_if(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.verdict == Verdict::proved; });
  std::string plans;
  for (const auto& [pattern, count] : subjects.plans)
    plans += fmt::format("{}{} of {}", plans.empty() ? "" : ", ", count, pattern);
  fmt::print("{} of {} claims proved by {}; {}\n", proved, outcomes.size(), solver,
             one_in == 1 ? fmt::format("plans that they cover: {}", plans)
                         : fmt::format("a sample: of one part of plans in {}", one_in));
}

Json to_json(const std::vector<Outcome>& outcomes, const proofs::Subjects& subjects, const std::string& solver,
             int one_in) {
  Json claims = Json::array();
  for (const Outcome& o : outcomes) {
    Json one{{"pattern", o.pattern},         {"part", o.part},      {"plans", o.plans}, {"claim", o.claim},
             {"result", name_of(o.verdict)}, {"seconds", o.seconds}};
    if (!o.counterexample.empty()) one["counterexample"] = o.counterexample;
    claims.push_back(std::move(one));
  }
  return {{"solver", solver}, {"plans", subjects.plans}, {"one_in", one_in}, {"claims", std::move(claims)}};
}

// One file per claim.
Status add_smt2(std::vector<OutputFile>& files, const std::string& folder, const std::vector<Outcome>& outcomes,
                FileUses& uses) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& o = outcomes[i];
    const std::string answer = o.verdict == Verdict::proved    ? "unsat"
                               : o.verdict == Verdict::refuted ? "sat"
                                                               : "unknown";
    auto where = uses.writes("--smt2", fmt::format("{}/{:04}_{}.smt2", folder, i, o.pattern));
    if (!where.ok()) return where.status();
    std::string text =
        fmt::format("; {}: {}\n; {}\n(set-logic ALL)\n(set-info :status {})\n{}", o.pattern, o.claim, o.part, answer,
                    o.smt2.substr(std::min(o.smt2.find("(declare-"), o.smt2.find("(assert"))));
    files.push_back({"--smt2", std::move(where).value(), std::move(text)});
  }
  return {};
}

constexpr int kMostParts = 1'000'000;
constexpr std::string_view kPatterns[] = {"each", "list_sum", "row", "segment", "tile"};

// Leaves what was asked for; without a pattern that is everything.
Status choose(const std::vector<std::string>& patterns, proofs::Subjects& subjects) {
  const auto wanted = [&](const std::string& name) {
    return patterns.empty() || std::find(patterns.begin(), patterns.end(), name) != patterns.end();
  };
  for (const std::string& name : patterns)
    if (std::find(std::begin(kPatterns), std::end(kPatterns), name) == std::end(kPatterns))
      return Status::invalid(
          fmt::format("no claims about '{}'; there are claims about {}", name, fmt::join(kPatterns, ", ")));
  std::erase_if(subjects.parts, [&](const proofs::Subject& s) { return !wanted(pattern_of(s.part)); });
  std::erase_if(subjects.plans, [&](const auto& plans) { return !wanted(plans.first); });
  return {};
}

// Of each kind of part the first, and every one_in-th after it.
void sample(int one_in, std::vector<proofs::Subject>& parts) {
  std::map<std::size_t, int> seen;
  std::erase_if(parts, [&](const proofs::Subject& s) { return seen[s.part.index()]++ % one_in != 0; });
}

Status run(const Arguments& a, int& exit_code) {
  if (Status s = check_range("--timeout", a.timeout, kMostSeconds); !s.ok()) return s;
  if (Status s = check_range("--one-in", a.one_in, kMostParts); !s.ok()) return s;
  FileUses files;
  if (Status s = files.writes_text("--json", a.json); !s.ok()) return s;
  proofs::Subjects none;  // patterns that there are no claims about are refused before anything is looked for
  if (Status s = choose(a.patterns, none); !s.ok()) return s;
  const auto prover = proofs::load_prover();
  if (!prover.ok()) return prover.status();
  auto subjects = proofs::planned();
  if (!subjects.ok()) return subjects.status();
  if (Status s = choose(a.patterns, subjects.value()); !s.ok()) return s;
  sample(a.one_in, subjects->parts);

  ProgressLine progress;
  const proofs::Settings settings{std::max(1, static_cast<int>(a.timeout * 1000)), !a.smt2.empty()};
  const std::vector<Outcome> outcomes = prover.value()->prove(
      subjects.value(), settings,
      [&](std::size_t done, std::size_t all) { progress.say(fmt::format("{} of {} parts of plans", done, all)); });
  progress.say("");
  if (outcomes.empty()) return {Code::check_failed, "nothing was claimed"};
  std::vector<OutputFile> written;
  MadeFolder folder;
  if (!a.smt2.empty()) {
    auto made = MadeFolder::make(a.smt2);
    if (!made.ok()) return made.status();
    folder = std::move(made).value();
    if (Status s = add_smt2(written, a.smt2, outcomes, files); !s.ok()) return s;
  }
  const std::string& solver = prover.value()->solver;
  if (Status s = add_text(written, a.json, dumped(to_json(outcomes, subjects.value(), solver, a.one_in))); !s.ok())
    return s;
  if (a.json != kStandardOutput) print(outcomes, subjects.value(), solver, a.one_in);
  if (Status s = write_all(written); !s.ok()) return s;
  exit_code =
      std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.verdict == Verdict::proved; }) ? 0
                                                                                                                   : 1;
  return {};
}

}  // namespace

void add_prove(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("prove", "prove GPU patterns' index arithmetic for all sizes");
  command->add_option("pattern", a->patterns, fmt::format("{} (all of them)", fmt::join(kPatterns, ", ")));
  command->add_option("--timeout", a->timeout, "seconds a claim may take; it is undecided then")->capture_default_str();
  command->add_option("--one-in", a->one_in, "a sample: of each kind of claims those of one part of plans in so many")
      ->capture_default_str();
  command->add_option("--smt2", a->smt2, "write every claim as an SMT-LIB file into this folder");
  command->add_option("--json", a->json, "write the result as JSON to this file (- for standard output)");
  command->footer(
      "Examples:\n  tokitai prove list_sum\n  tokitai prove --one-in 100\n  tokitai prove list_sum --smt2 claims "
      "--json "
      "tile.json");
  command->callback([a, &exit_code] { report(run(*a, exit_code), exit_code); });
}

}  // namespace tokitai::cli
