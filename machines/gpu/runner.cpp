#include "machines/gpu/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "machines/gpu/gpu.h"
#include "machines/gpu/operands.h"

namespace tokitai::gpu {
namespace {

Matrix matrix_of(const device::MapPlan& plan, void* data) {
  Matrix m{.data = data, .element_bytes = plan.kind == device::Kind::absent ? 1 : device::bytes_of(plan.kind)};
  for (int d = 0; d < 3; ++d) m.size[d] = static_cast<std::uint64_t>(plan.size[d]);
  for (int d = 0; d < 2; ++d) m.stride[d] = static_cast<std::uint64_t>(plan.stride[d]);
  for (int d = 0; d < 2; ++d) m.box[d] = static_cast<std::uint32_t>(plan.box[d]);
  m.box[2] = 1;
  m.swizzled = plan.swizzled;
  return m;
}

}  // namespace

Runner::Runner(Gpu& gpu, Stream stream)
    : gpu_(gpu), context_(gpu.context()), queue_(context_, std::move(stream)), control_(queue_) {}

Result<Grid> Runner::grid_of(const device::Launch& launch, Function& function) {
  Grid grid{.grid = 0,
            .block = launch.block,
            .cluster = launch.cluster,
            .shared_bytes = launch.shared_bytes,
            .follows = launch.follows,
            .cooperative = launch.cooperative};
  std::int64_t blocks = launch.work;
  if (launch.persistent) {
    auto resident = context_.resident_blocks(function, launch.block, launch.shared_bytes, launch.cluster);
    if (!resident.ok()) return resident.status();
    const std::int64_t fit =
        std::int64_t{resident.value()} * (launch.cluster > 1 ? launch.cluster : gpu_.machinery().multiprocessors);
    if (fit == 0)
      return Status(Code::internal, fmt::format("{}: not one block of {} ({} threads, clusters of {}, {} bytes of "
                                                "shared memory) fits on {}",
                                                context_.name(), launch.kernel, launch.block, launch.cluster,
                                                launch.shared_bytes, context_.facts().name));
    blocks = std::max<std::int64_t>(std::min(blocks, fit) / launch.cluster, 1) * launch.cluster;
  }
  if (blocks < 1 || blocks > std::numeric_limits<int>::max())
    return Status(Code::internal, fmt::format("{}: {} wants {} blocks", context_.name(), launch.kernel, blocks));
  grid.grid = static_cast<int>(blocks);
  return grid;
}

Result<std::unique_ptr<Prepared>> Runner::prepare(const Call& call) {
  auto program = device::plan(call, gpu_.machinery());
  if (!program.ok()) return program.status();
  auto prepared = std::make_unique<Prepared>();
  for (const device::Launch& launch : program->launches) {
    auto function = gpu_.kernels().get(launch, call.contract->name);
    if (!function.ok()) return function.status();
    auto grid = grid_of(launch, *function.value());
    if (!grid.ok()) return grid.status();
    prepared->steps.push_back({function.value(), grid.value(), launch.maps});
  }
  prepared->pattern = program->pattern;
  prepared->refuses = program->refuses;
  prepared->arguments = program->arguments;
  prepared->tensors = std::move(program->tensors);
  prepared->workspace_bytes = program->workspace_bytes;
  prepared->checked = program->checked;
  prepared->counts = program->counts;
  if (!prepared->tensors.empty()) {
    auto table = OwnedBlock::make(queue_, prepared->tensors.bytes());
    if (!table.ok()) return table.status();
    prepared->table = std::move(table).value();
  }
  return prepared;
}

Result<Prepared*> Runner::prepared_for(const Call& call, std::unique_ptr<Prepared>& transient) {
  const std::string& key = memo_.key_of(call);
  if (Prepared* known = memo_.find(key)) {
    known->bind(call);
    return known;
  }
  auto made = prepare(call);
  if (!made.ok()) return made.status();
  if (made.value()->bindable(call)) return memo_.keep(key, std::move(made).value());
  transient = std::move(made).value();
  return transient.get();
}

// The same list comes back step after step: what is there already is not copied again.
Status Runner::put_table(Prepared& p) {
  if (p.table_holds == p.tensors) return {};
  p.table_holds = {};
  if (Status s = queue_.copy_in(p.table.data(), p.tensors.data(), Rows::flat(p.tensors.bytes()), false); !s.ok())
    return s;
  p.table_holds = p.tensors;
  return {};
}

Status Runner::launch(Prepared& p, const Control::Slot& slot) {
  device::Arguments arguments = p.arguments;
  // Given back when the launches are queued: only work queued later, on this stream, can get it.
  auto workspace = OwnedBlock::make(queue_, p.workspace_bytes);
  if (!workspace.ok()) return workspace.status();
  arguments.workspace = workspace->data();
  if (!p.tensors.empty()) {
    if (Status s = put_table(p); !s.ok()) return s;
    arguments.tensors = p.table.data();
  }
  arguments.flag = slot.flag;
  arguments.counter = slot.counter;
  arguments.counted = slot.counted;
  for (Prepared::Step& step : p.steps)
    if (Status s = step.maps.empty()
                       ? context_.launch(*step.function, step.grid, &arguments, sizeof(arguments), queue_.stream())
                       : launch_mapped(step, arguments);
        !s.ok())
      return s;
  return {};
}

// A call's memory is mostly that of the call before: maps are made again only where it is not.
Status Runner::launch_mapped(Prepared::Step& step, const device::Arguments& arguments) {
  for (std::size_t i = 0; i < step.maps.size(); ++i) {
    const device::MapPlan& plan = step.maps[i];
    if (plan.size[0] == 0) continue;
    void* data = plan.operand < 0 ? static_cast<std::byte*>(arguments.workspace) + plan.offset
                                  : arguments.operand[plan.operand].data;
    if (step.made_for[i] == data) continue;
    const Matrix matrix = matrix_of(plan, data);
    step.made_for[i] = nullptr;
    if (Status s = context_.check(context_.driver().map(&step.made[i], matrix), "making a map for the copy engine");
        !s.ok())
      return s;
    step.made_for[i] = data;
  }
  device::MappedArguments mapped{};
  mapped.arguments = arguments;
  std::copy_n(step.made, device::kMaps, mapped.map);
  return context_.launch(*step.function, step.grid, &mapped, sizeof(mapped), queue_.stream());
}

Status Runner::run(const Call& call, Outcome* outcome) {
  const std::lock_guard lock(mutex_);
  if (context_.lost()) return context_.lost_status();
  const Entered entered(context_.driver(), context_.handle());
  if (entered.error() != 0) return context_.check(entered.error(), "entering its context");
  if (Status s = context_.ready(queue_.stream()); !s.ok()) return s;

  StagedOperands staged(queue_);
  auto brought = staged.bring(call);
  if (!brought.ok()) return brought.status();
  std::unique_ptr<Prepared> transient;
  auto found = prepared_for(*brought.value(), transient);
  if (!found.ok()) return found.status();
  Prepared& p = *found.value();
  Control::Slot slot;
  if (p.checked || p.counts) {
    auto taken = control_.take();
    if (!taken.ok()) return taken.status();
    slot = taken.value();
  }
  Status launched = launch(p, slot);
  if (context_.several_streams())
    if (Status s = gpu_.buffers().used(queue_, staged.addresses()); !s.ok()) return s;
  if (!launched.ok()) return launched;

  Outcome answered;
  if (p.checked && (outcome != nullptr || staged.any())) {
    if (Status s = control_.answer(slot, call, p.pattern, answered); !s.ok()) return s;
  } else if (p.refuses) {  // nobody asks whether a step was skipped
    control_.remember(slot, call, p.pattern);
  }
  if (Status s = staged.take_back(answered.skipped); !s.ok()) return s;
  answered.host_bytes_copied = staged.bytes_copied();
  if (outcome != nullptr) *outcome = answered;
  return {};
}

Status Runner::wait() {
  const std::lock_guard lock(mutex_);
  return control_.settle();
}

}  // namespace tokitai::gpu
