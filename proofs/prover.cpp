#include "proofs/prover.h"

#include <fmt/format.h>

#include "compiler/at_once.h"
#include "proofs/columns.h"
#include "proofs/each.h"
#include "proofs/row.h"
#include "proofs/tile.h"

namespace tokitai::proofs {
namespace {

using Job = std::function<std::vector<Outcome>()>;

std::vector<Job> jobs_of(const Subjects& subjects, const Settings& settings, Answers& answers) {
  std::vector<Job> jobs;
  for (const device::EachPlan& plan : subjects.each)
    jobs.emplace_back([&plan, &answers, settings] {
      Report report("each", words_of(plan), settings, &answers);
      EachClaims<EachIndex>{plan, report}.all();
      return report.outcomes();
    });
  for (const RowSubject& subject : subjects.row)
    jobs.emplace_back([&subject, &answers, settings] {
      Report report("row", words_of(subject), settings, &answers);
      RowClaims<RowIndex>{subject, report}.all();
      ColumnClaims<ColumnIndex>{subject, report}.all();
      return report.outcomes();
    });
  for (const TileSubject& subject : subjects.tile)
    jobs.emplace_back([&subject, &answers, settings] {
      Report report("tile", words_of(subject), settings, &answers);
      TileClaims<TileIndex>{subject, report}.all();
      return report.outcomes();
    });
  return jobs;
}

std::vector<Outcome> prove(const Subjects& subjects, const Settings& settings, const Progress& progress) {
  Answers answers;
  const std::vector<Job> jobs = jobs_of(subjects, settings, answers);
  std::vector<std::vector<Outcome>> outcomes(jobs.size());
  std::atomic<std::size_t> done = 0;
  compiler::at_once(jobs.size(), [&](std::size_t i) {
    outcomes[i] = jobs[i]();
    if (progress) progress(++done, jobs.size());
  });
  std::vector<Outcome> all;
  for (std::vector<Outcome>& some : outcomes)
    for (Outcome& outcome : some) all.push_back(std::move(outcome));
  return all;
}

std::string solver_name() {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return fmt::format("Z3 {}.{}.{}", major, minor, build);
}

}  // namespace
}  // namespace tokitai::proofs

const tokitai::proofs::Prover* tokitai_prover() {
  static const tokitai::proofs::Prover prover{tokitai::proofs::solver_name(), tokitai::proofs::prove};
  return &prover;
}
