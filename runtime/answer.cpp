#include "runtime/answer.h"

#include <fmt/format.h>

#include "patterns/segment.h"

namespace tokitai {

Status no_kernel(const Call& call, std::string_view machine) {
  return {Code::internal, fmt::format("{} has no kernel on the {} machine", call.contract->name, machine)};
}

Status status_of(const Call& call, const Answer& answer, Outcome& outcome) {
  switch (answer.kind) {
    case Answer::good: return {};
    case Answer::refused: return Status::invalid(call.contract->refusal(call, answer.position));
    case Answer::too_many:
      return Status::invalid(fmt::format("{}: index value {} occurs more than {} times; an exact f16 sum holds no more",
                                         call.contract->name, answer.position, kMostOccurrences));
    case Answer::skipped:
      outcome.skipped = true;
      outcome.skipped_tensor = answer.tensor;
      outcome.skipped_position = answer.position;
      return {};
    case Answer::out_of_memory:
      return {Code::unavailable, fmt::format("{}: out of memory for scratch buffers", call.contract->name)};
  }
  return {Code::internal, "a kernel gave an unknown answer"};
}

}  // namespace tokitai
