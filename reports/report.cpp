// Running a call twice and comparing. Operands may lie in the device's memory: they are read through copies.
#include "tokitai/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <new>

#include "contract/parse.h"
#include "contract/roles.h"
#include "reports/compare.h"
#include "reports/digest.h"

namespace tokitai {
namespace {

// Operands as they are now, in the host's memory, with the strides they have.
class Copies {
 public:
  // Two operands over the same memory share a copy, as a call in place needs it.
  Status take(const std::vector<Operands>& sets, Device& device) {
    sets_ = sets;
    for (Operands& set : sets_)
      for (View& view : set) {
        if (!view.present() || view.elements() == 0) continue;
        const auto known = copies_.find(view.data);
        if (known != copies_.end() && known->second.size() >= bytes_of(view)) {
          view.data = known->second.data();
          continue;
        }
        std::vector<std::byte>& copy = copies_[view.data];
        copy.resize(bytes_of(view));
        const auto there = device.holds(view.data);
        if (!there.ok()) return there.status();
        if (!there.value())
          std::memcpy(copy.data(), view.data, copy.size());
        else if (Status s = device.copy_out(copy.data(), view.data, static_cast<std::int64_t>(copy.size())); !s.ok())
          return s;
        view.data = copy.data();
      }
    return {};
  }
  const std::vector<Operands>& sets() const { return sets_; }

 private:
  static std::size_t bytes_of(const View& view) { return static_cast<std::size_t>(view.span()) * size_of(view.type); }
  std::map<const void*, std::vector<std::byte>> copies_;  // by where the original lies
  std::vector<Operands> sets_;
};

std::string shape_text(const Call& call, std::size_t operand) {
  if (call.contract->list && !call.contract->has_once(call.contract->operands[operand])) {
    const auto given =
        std::count_if(call.list.begin(), call.list.end(), [&](const Operands& set) { return set[operand].present(); });
    return fmt::format("{} tensors", given);
  }
  const View& view = sets_of(call).front()[operand];
  return fmt::format("[{}]", fmt::join(view.shape.begin(), view.shape.begin() + view.rank, ", "));
}

void describe(const Call& call, const Device& device, Report& report) {
  const Contract& contract = *call.contract;
  report.op = contract.name;
  report.summary = contract.summary;
  report.device = device.name();
  report.description = device.description();
  report.contract_digest = evidence::contract_digest(contract);
  report.definition_digest = evidence::source_digest(evidence::definition_path(contract));
  report.claims = claims_of(contract);
  report.non_claims.assign(contract.non_claims.begin(), contract.non_claims.end());
  for (std::size_t i = 0; i < contract.options.size(); ++i)
    if (const Option& option = call.options[i]; option.set)
      report.options.emplace_back(contract.options[i].name, text_of(contract.options[i], option));
}

void compare(const Contract& contract, const Copies& expected, const Copies& found, Report& report) {
  for (OperandReport& operand : report.operands) {
    const auto i = static_cast<std::size_t>(contract.operand_index(operand.name));
    if (!writes(contract.operands[i])) continue;
    operand.written = evidence::elements_digest(found.sets(), i);
    for (std::size_t t = 0; t < found.sets().size(); ++t) {
      if (!found.sets()[t][i].present()) continue;
      const evidence::Difference d = evidence::compare(expected.sets()[t][i], found.sets()[t][i]);
      operand.compared += d.compared;
      operand.differing += d.differing;
      if (d.differing > 0 && report.first_difference.empty())
        report.first_difference = fmt::format("{}[{}, {}]: expected bits {:#x}, found {:#x} ({} of {} differ)",
                                              operand.name, d.row, d.col, d.expected, d.found, d.differing, d.compared);
    }
    report.compared += operand.compared;
    report.differing += operand.differing;
  }
}

Call over(const Call& call, const std::vector<Operands>& sets) {
  Call other = call;
  if (call.contract->list)
    other.list = sets;
  else
    other.operands = sets.front();
  return other;
}

Result<Report> reported(Device& device, Call& call, const ReportOptions& options) {
  if (Status s = check(call); !s.ok()) return s;
  const Contract& contract = *call.contract;
  Report report;
  describe(call, device, report);
  const std::vector<Operands> sets(sets_of(call).begin(), sets_of(call).end());
  Copies expected, found;
  if (Status s = expected.take(sets, device); !s.ok()) return s;
  for (std::size_t i = 0; i < contract.operands.size(); ++i) {
    const auto given = std::find_if(sets.begin(), sets.end(), [&](const Operands& set) { return set[i].present(); });
    if (given == sets.end()) continue;
    OperandReport& operand = report.operands.emplace_back();
    operand.name = contract.operands[i].name;
    operand.type = name_of((*given)[i].type);
    operand.shape = shape_text(call, i);
    if (reads(call, contract.operands[i])) operand.read = evidence::elements_digest(expected.sets(), i);
  }
  const auto begin = std::chrono::steady_clock::now();
  if (Status s = device.run(call, &report.outcome); !s.ok()) return s;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report.kernels = device.kernels();
  if (Status s = found.take(sets, device); !s.ok()) return s;

  Call again = over(call, expected.sets());
  if (options.measure && !report.outcome.skipped) report.error = options.measure(again, over(call, found.sets()));
  auto reference = open("reference");
  if (!reference.ok()) return reference.status();
  Outcome outcome;
  if (Status s = reference->run(again, &outcome); !s.ok()) return s;
  compare(contract, expected, found, report);
  if (outcome.skipped != report.outcome.skipped) {
    ++report.differing;
    report.first_difference = "one of device and reference skipped the call and the other did not";
  }
  return report;
}

}  // namespace

Result<Report> run_with_report(Device& device, Call call, const ReportOptions& options) {
  if (call.contract == nullptr) return Status::invalid("the call names no operator");
  try {
    return reported(device, call, options);
  } catch (const std::bad_alloc&) {
    return Status(Code::unavailable, fmt::format("{}: out of memory for the copies of a report", call.contract->name));
  }
}

}  // namespace tokitai
