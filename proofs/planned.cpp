#include "proofs/planned.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <tuple>

#include "contract/registry.h"
#include "contract/ways.h"
#include "problems/instance.h"

namespace tokitai::proofs {
namespace {

using problems::Problem;

// Targets that differ in what a planner asks about.
std::vector<compiler::Target> kinds_of_target() {
  std::map<std::tuple<compiler::Vendor, int, bool, bool, Fragment>, compiler::Target> kinds;
  for (const compiler::Target& t : compiler::targets())
    kinds.try_emplace({t.vendor, t.shared_bytes, t.clusters, t.warpgroups, t.fragment}, t);
  std::vector<compiler::Target> out;
  for (const auto& [key, target] : kinds) out.push_back(target);
  return out;
}

// Around whole chunks, whole blocks of columns, and whole vectors.
std::string columns() {
  std::set<std::int64_t> cols{1, 3, 7, 16777215, 16777216};
  const auto around = [&](std::int64_t size) {
    for (const int by : {-8, -4, -1, 0, 1, 4, 8}) cols.insert(size + by);
  };
  for (const int size : {16, 32, 64, 128, 256, 512, 1024}) around(size);
  for (int blocks = 1; blocks <= 130; ++blocks) around(blocks * std::int64_t{2048});
  return fmt::format("{}", fmt::join(cols, ","));
}

Result<std::vector<Problem>> problems() {
  std::vector<Problem> all;
  for (const problems::Use use : {problems::Use::verify, problems::Use::verify_gpu, problems::Use::verify_lockstep,
                                  problems::Use::bench, problems::Use::bench_gpu, problems::Use::compile}) {
    auto some = problems::for_use(use);
    if (!some.ok()) return some.status();
    all.insert(all.end(), some->begin(), some->end());
  }
  const std::string cols = columns();
  for (const Operator* one : operators()) {
    const Contract& contract = *one->contract;
    std::set<std::string_view> symbols;
    for (const OperandSpec& spec : contract.operands)
      for (const std::string_view symbol : spec.shape)
        if (!symbol.empty() && symbol != "1") symbols.insert(size_named(symbol).symbol);
    const auto sizes = [&](const char* values) {
      std::string text;
      for (const std::string_view symbol : symbols)
        text += fmt::format(" {}={}", symbol, symbol == "groups" ? "1,7,300" : values);
      return text;
    };
    const auto& first = contract.operands[0].shape;
    std::string line(contract.name);
    const Pattern pattern = tokitai::pattern_of(contract);
    const bool matrices = contract.operands[0].rank() == 2 && symbols.size() == 2;
    if (pattern == Pattern::each && matrices)  // as many threads share a row as it has vectors
      line += fmt::format(" {}=40 {}=1,9,17,33,65,129,257,513,1025 type=f16,f32 pad=0,1,4,8", first[0], first[1]);
    else if (pattern == Pattern::row && matrices)
      line += fmt::format(" {}=40 {}={} type=f16,f32 pad=0,1", first[0], first[1], cols);
    else if (pattern == Pattern::tile)
      line += sizes("1,2,4,8,300,8192") + " type=f16,f32 single=no,yes";
    else
      continue;
    std::vector<std::string> lines{line};
    if (pattern ==
        Pattern::tile)  // rows that are aligned and rows that are not, as many tiles as fill a device or fewer
      for (const char* how : {" type=f16 arithmetic=hopper,block15", " type=f32 arithmetic=block15"})
        lines.push_back(
            fmt::format("{}{}{} single=no,yes", contract.name, sizes("1,8,300,1536,4095,4096,8192,12000,12001"), how));
    for (const std::string& one_line : lines) {
      auto grid = problems::parse_problems(one_line);
      if (!grid.ok()) return grid.status();
      all.insert(all.end(), grid->begin(), grid->end());
    }
  }
  return all;
}

class Collection {
 public:
  Subjects subjects;

  void add(const std::vector<Part>& parts) {
    if (parts.empty()) return;
    std::string words;
    for (const Part& part : parts) words += pattern_of(part) + words_of(part);
    if (!plans_.insert(words).second) return;
    ++subjects.plans[pattern_of(parts.front())];
    for (const Part& part : parts) keep(part);
  }

 private:
  void keep(const Part& part) {
    const auto [at, fresh] = known_.try_emplace(pattern_of(part) + words_of(part), subjects.parts.size());
    if (fresh) subjects.parts.push_back({part, 0});
    ++subjects.parts[at->second].plans;
  }
  std::set<std::string> plans_;
  std::map<std::string, std::size_t> known_;
};

}  // namespace

Result<Subjects> planned() {
  auto all = problems();
  if (!all.ok()) return all.status();
  Collection collection;
  std::set<std::string> asked;  // problems that differ in data only plan alike
  for (Problem& problem : all.value()) {
    problem.family = problems::Family::normal;
    problem.spread = problems::Spread::uniform;
    if (!asked.insert(problem.text()).second) continue;
    auto call = problems::call_without_memory(problem);
    if (!call.ok()) return call.status();
    const Pattern pattern = tokitai::pattern_of(*call->contract);
    for (const compiler::Target& target : kinds_of_target())
      for (int variant = 0; variant < device::kVariants; ++variant)
        for (const int multiprocessors : {1, 3, 132}) {                      // clusters of two leave one of three idle
          if (multiprocessors != 132 && pattern != Pattern::tile) continue;  // only tiles ask for them
          auto program = device::plan(call.value(), {target, multiprocessors, variant});
          if (!program.ok()) return program.status();
          for (const device::Launch& launch : program->launches) collection.add(parts_of(call.value(), launch));
        }
  }
  return collection.subjects;
}

}  // namespace tokitai::proofs
