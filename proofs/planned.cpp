#include "proofs/planned.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <tuple>
#include <variant>

#include "machines/device/plan.h"
#include "machines/device/row_shape.h"
#include "testing/instance.h"

namespace tokitai::proofs {
namespace {

using testing::Problem;

// Targets that differ in what a planner asks about.
std::vector<compiler::Target> kinds_of_target() {
  std::map<std::tuple<compiler::Vendor, int, bool>, compiler::Target> kinds;
  for (const compiler::Target& t : compiler::targets()) kinds.try_emplace({t.vendor, t.shared_bytes, t.clusters}, t);
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
  for (const testing::Use use : {testing::Use::verify, testing::Use::verify_gpu, testing::Use::verify_lockstep,
                                 testing::Use::bench, testing::Use::bench_gpu, testing::Use::compile}) {
    auto some = testing::problems(use);
    if (!some.ok()) return some.status();
    all.insert(all.end(), some->begin(), some->end());
  }
  const std::string cols = columns();
  for (const Contract* contract : contracts()) {
    std::string line;
    if (contract->operands[0].shape[0] == "rows" && contract->operands[0].shape[1] == "cols")
      line = fmt::format("{} rows=40 cols={} type=f16,f32 pad=0,1", contract->name, cols);
    else if (contract->family() == "gemm")
      line = fmt::format("{0} m={1} n={1} k={1} type=f16,f32 single=no,yes", contract->name, "1,2,4,8,300,8192");
    else
      continue;
    auto grid = testing::parse_problems(line);
    if (!grid.ok()) return grid.status();
    all.insert(all.end(), grid->begin(), grid->end());
  }
  return all;
}

class Collection {
 public:
  Subjects subjects;

  void add(const Call&, const device::Launch&, const std::monostate&) {}
  void add(const Call&, const device::Launch&, const device::SegmentPlan&) {}
  void add(const Call&, const device::Launch&, const device::EachPlan& p) {
    device::EachPlan plan{};
    plan.wide = p.wide, plan.turns = p.turns, plan.threads = p.threads;
    keep(subjects.each, plan);
  }
  void add(const Call&, const device::Launch& launch, const device::RowPlan& p) {
    RowSubject subject{p, launch.shared_bytes};
    device::RowPlan& plan = subject.plan;
    plan.ahead = plan.zeros = 0;
    plan.cols = 0;  // what is proved is proved for every number of columns
    plan.access = 0;
    plan.held = plan.checked = plan.finishes = false;
    keep(subjects.row, subject);
  }
  // As the definitions say m.product: a is the factor that has the output's rows, b the one that has its columns.
  void add(const Call& call, const device::Launch& launch, const device::TilePlan& p) {
    TileSubject subject{p, {}, {}, 1, launch.shared_bytes};
    const auto& operands = call.contract->operands;
    const std::string_view rows = operands[2].shape[0], cols = operands[2].shape[1];
    for (int i = 0; i < 2; ++i) {
      const auto& shape = operands[static_cast<std::size_t>(i)].shape;
      if (shape[0] == rows || shape[1] == rows) subject.a = {i, shape[1] == rows};
      if (shape[0] == cols || shape[1] == cols) subject.b = {i, shape[1] == cols};
    }
    subject.out_vector = p.access[2] / bytes_of(device::kind_at(p.kinds, 2)) >= 4 ? 4 : 1;
    keep(subjects.tile, subject);
  }

 private:
  template <class S> void keep(std::vector<S>& list, const S& subject) {
    if (known_.insert(words_of(subject)).second) list.push_back(subject);
  }
  std::set<std::string> known_;
};

}  // namespace

Result<Subjects> planned() {
  auto all = problems();
  if (!all.ok()) return all.status();
  Collection collection;
  std::set<std::string> asked;  // problems that differ in data only plan alike
  for (Problem& problem : all.value()) {
    problem.family = testing::Family::normal;
    problem.spread = testing::Spread::uniform;
    if (!asked.insert(problem.text()).second) continue;
    auto call = testing::call_without_memory(problem);
    if (!call.ok()) return call.status();
    for (const compiler::Target& target : kinds_of_target())
      for (int variant = 0; variant < device::kVariants; ++variant)
        for (const int multiprocessors : {1, 132}) {
          if (multiprocessors == 1 && call->contract->family() != "gemm") continue;  // only tiles ask for them
          auto program = device::plan(call.value(), {target, multiprocessors, variant});
          if (!program.ok()) return program.status();
          for (const device::Launch& launch : program->launches)
            std::visit([&](const auto& plan) { collection.add(call.value(), launch, plan); }, launch.constants);
        }
  }
  return collection.subjects;
}

}  // namespace tokitai::proofs
