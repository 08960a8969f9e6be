#include "proofs/prover.h"

#include <fmt/format.h>

#include "base/at_once.h"
#include "proofs/claims.h"

namespace tokitai::proofs {
namespace {

std::vector<Outcome> prove(const Subjects& subjects, const Settings& settings, const Progress& progress) {
  std::vector<std::vector<Outcome>> outcomes(subjects.parts.size());
  std::atomic<std::size_t> done = 0;
  const Functions functions;
  base::at_once(outcomes.size(), [&](std::size_t i) {
    const Subject& subject = subjects.parts[i];
    Report report(pattern_of(subject.part), words_of(subject.part), settings);
    std::visit([&](const auto& part) { claim(part, functions, report); }, subject.part);
    outcomes[i] = report.outcomes();
    for (Outcome& o : outcomes[i]) o.plans = subject.plans;
    if (progress) progress(++done, outcomes.size());
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
