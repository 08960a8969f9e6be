#include "machines/lockstep/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "compiler/cache.h"
#include "machines/lockstep/box_map.h"
#include "machines/lockstep/engine.h"
#include "machines/lockstep/library.h"
#include "runtime/answer.h"
#include "runtime/machine.h"

namespace tokitai::lockstep {
namespace {

// A small device: every loop over more work than it holds at once is taken.
constexpr int kMultiprocessors = 2, kResident = 2;
constexpr std::int64_t kFewAccesses = 300000;  // up to here every schedule is tried

std::int64_t span_of(const View& v) { return v.span() * static_cast<std::int64_t>(size_of(v.type)); }

// The operands of a call as the engine sees them, and what the written ones held.
class CheckedOperands {
 public:
  explicit CheckedOperands(const Call& call) {
    const Contract& contract = *call.contract;
    for (const Operands& set : call.list.empty() ? std::vector<Operands>{call.operands} : call.list)
      for (std::size_t i = 0; i < contract.operands.size(); ++i) {
        const OperandSpec& spec = contract.operands[i];
        const View& view = set[i];
        if (!view.present() || view.elements() == 0) continue;
        const bool read = spec.role != Role::out || (!spec.read_when.empty() && call.option_set(spec.read_when));
        const auto bytes = static_cast<std::int64_t>(size_of(view.type));
        for (std::int64_t block = 0; block < view.blocks(); ++block)
          ranges_.push_back({static_cast<std::byte*>(view.data) + view.block_offset(block) * bytes, view.block_lines(),
                             view.line_elements() * bytes, view.row_stride * bytes, read, spec.role != Role::in,
                             std::string(spec.name)});
        if (spec.role != Role::in) written_.push_back({view, copy_of(view)});
      }
  }
  void add_to(Memory& memory) const {
    for (const Range& range : ranges_) memory.add(range);
  }
  void restore() const {
    for (const Written& w : written_) std::memcpy(w.view.data, w.before.data(), w.before.size());
  }
  std::vector<std::vector<std::byte>> results() const {
    std::vector<std::vector<std::byte>> all;
    for (const Written& w : written_) all.push_back(copy_of(w.view));
    return all;
  }

 private:
  struct Written {
    View view;
    std::vector<std::byte> before;
  };
  static std::vector<std::byte> copy_of(const View& view) {
    const auto* p = static_cast<const std::byte*>(view.data);
    return {p, p + span_of(view)};
  }
  std::vector<Range> ranges_;
  std::vector<Written> written_;
};

class LockstepMachine final : public Machine {
 public:
  LockstepMachine(const compiler::Target& target, int plan, Library::Headers headers)
      : machinery_{target, kMultiprocessors, plan}, library_(std::move(headers)) {}

  Status run(const Call& call, Outcome& outcome) override {
    const std::lock_guard lock(mutex_);
    auto program = device::plan(call, machinery_);
    if (!program.ok()) return program.status();
    std::vector<Kernel> kernels;
    for (const device::Launch& launch : program->launches) {
      auto kernel = library_.get(launch, call.contract->name);
      if (!kernel.ok()) return kernel.status();
      kernels.push_back(kernel.value());
    }
    try {
      return run_schedules(call, program.value(), kernels, outcome);
    } catch (const std::invalid_argument& error) {
      return {Code::internal, fmt::format("{}: lockstep: {}", call.contract->name, error.what())};
    }
  }
  Status compile_ahead(const std::vector<Call>& calls, const CompileProgress& progress) override {
    return library_.compile_ahead(calls, machinery_, progress);
  }
  AccessChecks access_checks() const override {
    const std::lock_guard lock(mutex_);
    return checks_;
  }
  std::vector<KernelFacts> kernels() const override {
    const std::lock_guard lock(mutex_);
    return library_.facts();
  }
  std::string description() const override {
    return fmt::format("the GPU text on the CPU, warps of {}: races, bounds, barriers checked", machinery_.target.warp);
  }

 private:
  Status run_schedules(const Call& call, const device::Program& program, const std::vector<Kernel>& kernels,
                       Outcome& outcome);
  Status run_once(const Call& call, const device::Program& program, const std::vector<Kernel>& kernels,
                  const CheckedOperands& operands, Schedule schedule, std::uint64_t& flag, std::int64_t& accesses);

  const device::Machinery machinery_;
  mutable std::mutex mutex_;
  Library library_;
  AccessChecks checks_;
};

int grid_of(const device::Launch& launch) {
  std::int64_t blocks = launch.work;
  if (launch.persistent) {
    blocks = std::min<std::int64_t>(blocks, std::int64_t{kMultiprocessors} * kResident * launch.cluster);
    // A product's blocks have several tiles each, so that the slots of their rings are filled more than once.
    if (!launch.maps.empty()) blocks = std::min(blocks, launch.work / 3);
    blocks = std::max<std::int64_t>(blocks / launch.cluster, 1) * launch.cluster;
  }
  return static_cast<int>(blocks);
}

// A matrix as the copy engine knows it. Throws for one that the driver of a GPU would not make.
device::Map map_of(const device::MapPlan& plan, const device::Arguments& arguments) {
  device::Map map{};
  if (plan.size[0] == 0) return map;
  BoxMap m;
  m.mark = BoxMap::kMark;
  m.data = plan.operand < 0 ? static_cast<const std::byte*>(arguments.workspace) + plan.offset
                            : arguments.operand[plan.operand].data;
  std::copy_n(plan.size, 3, m.size);
  std::copy_n(plan.stride, 2, m.stride);
  std::copy_n(plan.box, 2, m.box);
  m.element = plan.kind == device::Kind::absent ? 1 : device::bytes_of(plan.kind);
  m.swizzled = plan.swizzled ? 1 : 0;
  if (m.address() % 16 != 0 || m.stride[0] % 16 != 0 || m.stride[1] % 16 != 0)
    throw std::invalid_argument("a map's address and strides are no multiples of 16 bytes");
  if (m.box[0] < 1 || m.box[0] > 256 || m.box[1] < 1 || m.box[1] > 256 || m.line_bytes() % 16 != 0 ||
      (plan.swizzled && m.line_bytes() != 128))
    throw std::invalid_argument("a map's box is none that the copy engine takes");
  static_assert(sizeof(m) <= sizeof(map));
  std::memcpy(map.word, &m, sizeof(m));
  return map;
}

// What every thread of a launch calls.
std::function<void()> threads_of(const device::Launch& launch, Kernel kernel, const device::Arguments& arguments) {
  if (launch.maps.empty()) return [=] { reinterpret_cast<void (*)(device::Arguments)>(kernel)(arguments); };
  device::MappedArguments mapped{arguments, {}};
  for (std::size_t i = 0; i < launch.maps.size(); ++i) mapped.map[i] = map_of(launch.maps[i], arguments);
  return [=] { reinterpret_cast<void (*)(device::MappedArguments)>(kernel)(mapped); };
}

Status LockstepMachine::run_once(const Call& call, const device::Program& program, const std::vector<Kernel>& kernels,
                                 const CheckedOperands& operands, Schedule schedule, std::uint64_t& flag,
                                 std::int64_t& accesses) {
  std::vector<std::uint64_t> workspace(static_cast<std::size_t>(program.workspace_bytes / 8 + 2));
  std::uint32_t counter[2] = {0, 0};
  std::uint64_t counted = 0;
  flag = device::kUnflagged;
  device::Arguments arguments = program.arguments;
  arguments.workspace = workspace.data();
  arguments.flag = &flag;
  arguments.counter = counter;
  arguments.counted = &counted;
  arguments.tensors = program.tensors.data();
  Memory memory;
  operands.add_to(memory);
  const std::int64_t bytes = program.tensors.bytes();
  memory.add({const_cast<std::uint64_t*>(program.tensors.data()), 1, bytes, bytes, true, false, "tensor table"});
  memory.add({workspace.data(), 1, program.workspace_bytes, program.workspace_bytes, false, true, "workspace"});
  memory.add({&flag, 1, 8, 8, true, true, "flag"});
  memory.add({counter, 1, 4, 4, true, true, "counter"});
  memory.add({&counted, 1, 8, 8, true, true, "counted"});
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const device::Launch& launch = program.launches[i];
    const Report report = lockstep::run({.name = launch.kernel,
                                         .grid = grid_of(launch),
                                         .block = launch.block,
                                         .cluster = launch.cluster,
                                         .cooperative = launch.cooperative,
                                         .follows = launch.follows,
                                         .shared_bytes = launch.shared_bytes,
                                         .warp = machinery_.target.warp},
                                        memory, schedule, 1 + i, threads_of(launch, kernels[i], arguments));
    accesses += report.accesses;
    checks_.accesses += report.accesses;
    checks_.findings += report.count;
    if (!report.clean())
      return {Code::check_failed, fmt::format("{}: lockstep: {} ({} findings; {})", call.contract->name,
                                              report.findings.front().text, report.count, launch.plan)};
  }
  return {};
}

Status LockstepMachine::run_schedules(const Call& call, const device::Program& program,
                                      const std::vector<Kernel>& kernels, Outcome& outcome) {
  const CheckedOperands operands(call);
  std::vector<std::vector<std::byte>> first;
  std::int64_t accesses = 0;
  std::uint64_t flag = device::kUnflagged;
  for (Schedule schedule : {Schedule::ascending, Schedule::random, Schedule::descending, Schedule::preempt}) {
    const bool again = !first.empty();
    if (again && accesses > kFewAccesses && schedule != Schedule::random) break;
    if (again) operands.restore();
    std::uint64_t now = 0;
    if (Status s = run_once(call, program, kernels, operands, schedule, now, accesses); !s.ok()) {
      operands.restore();
      return s;
    }
    auto results = operands.results();
    if (again && (results != first || now != flag)) {
      operands.restore();
      return {Code::check_failed,
              fmt::format("{}: lockstep: the result depends on the order in which threads run", call.contract->name)};
    }
    first = std::move(results);
    flag = now;
  }
  if (flag == device::kUnflagged) return {};
  return status_of(call, device::answer_of(program.pattern, flag), outcome);
}

// What a planner asks about the device that is meant.
Result<compiler::Target> target_of(std::string_view name) {
  constexpr compiler::Target kNarrow{"lockstep", compiler::Vendor::host, 32, 227 * 1024, true, true, Fragment::mma};
  constexpr compiler::Target kWide{"lockstep:64", compiler::Vendor::host, 64, 64 * 1024, false,
                                   false,         Fragment::mfma32};
  if (name == kNarrow.name) return kNarrow;
  if (name == kWide.name) return kWide;
  constexpr std::string_view kAs = "lockstep:";
  auto as = compiler::find_target(name.starts_with(kAs) ? name.substr(kAs.size()) : "");
  if (!as.ok())
    return Status::invalid(fmt::format(
        "no device '{}'; there are lockstep, lockstep:64 and lockstep:TARGET, as in lockstep:gfx942", name));
  as->vendor = compiler::Vendor::host;
  return as;
}

}  // namespace

Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options) {
  return make_machine(name, options, device::lockstep_headers);
}

Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options,
                                              std::function<std::vector<device::Text>()> headers) {
  if (options.plan < 0 || options.plan >= device::kVariants)
    return Status::invalid(fmt::format("plan = {}; it must be in [0, {})", options.plan, device::kVariants));
  auto target = target_of(name);
  if (!target.ok()) return target.status();
  if (const auto cache = compiler::Cache::open(); !cache.ok()) return cache.status();  // its kernels come from there
  return std::shared_ptr<Machine>(std::make_shared<LockstepMachine>(target.value(), options.plan, std::move(headers)));
}

}  // namespace tokitai::lockstep
