#include "proofs/subject.h"

#include <fmt/format.h>

#include "machines/device/row_shape.h"

namespace tokitai::proofs {

std::string words_of(const device::EachPlan& p) {
  return fmt::format("{} threads, {} x {} elements", p.threads, p.turns, p.wide);
}

std::string words_of(const RowSubject& subject) {
  const device::RowPlan& p = subject.plan;
  const device::RowNumbers n = device::row_numbers(p);
  constexpr const char* kGuards[] = {"no guard", "guarded vectors", "guarded elements"};
  std::string text = fmt::format("{} threads, {} teams, cluster of {}, {} x {} elements, {}", p.threads, p.teams,
                                 p.cluster, p.chunks, p.wide, kGuards[static_cast<int>(p.guard)]);
  text += p.on_chip ? fmt::format(", {} stages of {} operands of {} bytes", p.stages, n.staged, n.vector_bytes / p.wide)
                    : ", not on chip";
  if (p.blind) text += ", blind";
  if (p.column_sums) text += ", column sums";
  return text + fmt::format(", {} bytes shared", subject.shared_bytes);
}

std::string words_of(const TileSubject& subject) {
  const device::TilePlan& p = subject.plan;
  const auto factor = [&](const Factor& f) {
    return fmt::format("{} bytes along the {}", p.access[f.operand], f.along_outer ? "output" : "inner index");
  };
  return fmt::format("tiles of {} x {}, {} x {} per thread, elements of {} bytes; a: {}, b: {}, outputs by {}", p.rows,
                     p.cols, p.thread_rows, p.thread_cols, bytes_of(device::kind_at(p.kinds, subject.a.operand)),
                     factor(subject.a), factor(subject.b), subject.out_vector);
}

}  // namespace tokitai::proofs
