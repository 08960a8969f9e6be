#include "machines/gpu/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "compiler/cache.h"
#include "machines/gpu/control.h"
#include "machines/gpu/kernels.h"
#include "machines/gpu/memo.h"
#include "machines/gpu/operands.h"

namespace tokitai::gpu {
namespace {

class GpuMachine final : public Machine {
 public:
  GpuMachine(std::unique_ptr<Context> context, const compiler::Target& target, int variant)
      : context_(std::move(context)),
        machinery_{target, context_->facts().multiprocessors, variant},
        kernels_(*context_, target),
        control_(*context_) {}

  Status run(const Call& call, Outcome& outcome) override { return run(call, &outcome); }
  Status queue(const Call& call) override { return run(call, nullptr); }
  std::string description() const override {
    const DeviceFacts& f = context_->facts();
    return fmt::format("{}, {}, {:.0f} GiB, driver {}", f.name, f.architecture,
                       static_cast<double>(f.memory_bytes) / (1 << 30), f.driver_version);
  }

  std::int64_t scratch_bytes() const override { return context_->cached_bytes(); }
  Result<std::int64_t> workspace(const Call& call) const override {
    auto program = device::plan(call, machinery_);
    if (!program.ok()) return program.status();
    return program->workspace_bytes + program->tensors.bytes();
  }

  Status compile_ahead(const std::vector<Call>& calls, const CompileProgress& progress) override {
    return kernels_.compile_ahead(calls, machinery_, progress);
  }
  Result<double> compile_seconds(const Call& call) override { return kernels_.compile_seconds(call, machinery_); }

  std::vector<KernelFacts> kernels() const override {
    const std::lock_guard lock(mutex_);
    return kernels_.loaded();
  }

  Result<void*> allocate(std::int64_t bytes) override {
    auto block = context_->allocate(bytes);
    if (!block.ok()) return block.status();
    return block->data;
  }
  void release(void* memory, std::int64_t bytes) override { context_->release({memory, Allocator::size_class(bytes)}); }
  Result<void*> allocate_pinned(std::int64_t bytes) override { return context_->allocate_pinned(bytes); }
  void release_pinned(void* memory, std::int64_t) override {
    static_cast<void>(context_->stream().wait());  // copies from or into it may be on their way
    context_->release_pinned(memory);
  }
  Status copy_in(void* device, const void* host, std::int64_t bytes) override {
    auto from = on_host(host);
    if (!from.ok()) return from.status();
    if (Status s = on_device(device, bytes); !s.ok()) return s;
    return context_->copy_in(device, host, Rows::flat(bytes), from->kind == Place::pinned);
  }
  Status copy_out(void* host, const void* device, std::int64_t bytes) override {
    auto to = on_host(host);
    if (!to.ok()) return to.status();
    if (Status s = on_device(device, bytes); !s.ok()) return s;
    return context_->copy_out(host, device, Rows::flat(bytes), to->kind == Place::pinned);
  }
  Status copy(void* to, const void* from, std::int64_t bytes) override {
    if (Status s = on_device(to, bytes); !s.ok()) return s;
    if (Status s = on_device(from, bytes); !s.ok()) return s;
    return context_->queue_copy(to, from, bytes);
  }
  Result<bool> holds(const void* memory) override {
    auto place = context_->place(memory);
    if (!place.ok()) return place.status();
    if (place->kind != Place::device && place->kind != Place::managed) return false;
    if (Status s = on_device(memory, 1); !s.ok()) return s;
    return true;
  }
  Status wait() override {
    const std::lock_guard lock(mutex_);
    return control_.settle();
  }
  Result<DeviceMemory> memory() override { return context_->memory(); }
  Status trim() override { return context_->trim(); }

  Result<void*> mark() override {
    auto made = context_->make_event(true);
    if (!made.ok()) return made.status();
    auto event = std::make_unique<Event>(std::move(made).value());
    if (Status s = event->record(context_->stream()); !s.ok()) return s;
    return event.release();
  }
  void release_mark(void* mark) override { delete static_cast<Event*>(mark); }
  Result<double> seconds_between(void* earlier, void* later) override {
    if (Status s = static_cast<Event*>(later)->wait(); !s.ok()) return s;
    return static_cast<Event*>(later)->seconds_since(*static_cast<Event*>(earlier));
  }

 private:
  Status run(const Call& call, Outcome* outcome);
  Result<Prepared*> prepared_for(const Call& call, std::unique_ptr<Prepared>& transient);
  Result<std::unique_ptr<Prepared>> prepare(const Call& call);
  Result<Grid> grid_of(const device::Launch& launch, Function& function);
  Status put_table(Prepared& prepared);

  Status on_device(const void* memory, std::int64_t bytes);
  Result<Place> on_host(const void* memory);

  const std::unique_ptr<Context> context_;
  const device::Machinery machinery_;
  mutable std::mutex mutex_;  // one call at a time is queued
  Kernels kernels_;
  Control control_;
  Memo memo_;
};

Status GpuMachine::on_device(const void* memory, std::int64_t bytes) {
  auto place = context_->place(memory);
  if (!place.ok()) return place.status();
  if (place->kind == Place::managed) return {};
  if (place->kind != Place::device)
    return Status::invalid(fmt::format("{}: a copy names host memory where the device's is needed", context_->name()));
  if (place->owner != context_->facts().index)
    return Status::invalid(
        fmt::format("{}: a copy names memory of {}:{}", context_->name(), context_->driver().prefix(), place->owner));
  const auto* begin = static_cast<const std::byte*>(memory);
  if (place->bytes > 0 && bytes > place->begin + place->bytes - begin)
    return Status::invalid(fmt::format("{}: a copy of {} bytes, but its memory there ends after {}", context_->name(),
                                       bytes, place->begin + place->bytes - begin));
  return {};
}

Result<Place> GpuMachine::on_host(const void* memory) {
  auto place = context_->place(memory);
  if (place.ok() && place->kind == Place::device)
    return Status::invalid(fmt::format("{}: a copy names device memory where the host's is needed", context_->name()));
  return place;
}

Result<Grid> GpuMachine::grid_of(const device::Launch& launch, Function& function) {
  Grid grid{.grid = 0,
            .block = launch.block,
            .cluster = launch.cluster,
            .shared_bytes = launch.shared_bytes,
            .follows = launch.follows,
            .cooperative = launch.cooperative};
  std::int64_t blocks = launch.work;
  if (launch.persistent) {
    auto resident = context_->resident_blocks(function, launch.block, launch.shared_bytes, launch.cluster);
    if (!resident.ok()) return resident.status();
    const std::int64_t fit =
        std::int64_t{resident.value()} * (launch.cluster > 1 ? launch.cluster : machinery_.multiprocessors);
    if (fit == 0)
      return Status(Code::internal, fmt::format("{}: not one block of {} ({} threads, clusters of {}, {} bytes of "
                                                "shared memory) fits on {}",
                                                context_->name(), launch.kernel, launch.block, launch.cluster,
                                                launch.shared_bytes, context_->facts().name));
    blocks = std::max<std::int64_t>(std::min(blocks, fit) / launch.cluster, 1) * launch.cluster;
  }
  if (blocks < 1 || blocks > std::numeric_limits<int>::max())
    return Status(Code::internal, fmt::format("{}: {} wants {} blocks", context_->name(), launch.kernel, blocks));
  grid.grid = static_cast<int>(blocks);
  return grid;
}

Result<std::unique_ptr<Prepared>> GpuMachine::prepare(const Call& call) {
  auto program = device::plan(call, machinery_);
  if (!program.ok()) return program.status();
  auto prepared = std::make_unique<Prepared>();
  for (const device::Launch& launch : program->launches) {
    auto function = kernels_.get(launch, call.contract->name);
    if (!function.ok()) return function.status();
    auto grid = grid_of(launch, *function.value());
    if (!grid.ok()) return grid.status();
    prepared->steps.push_back({function.value(), grid.value()});
  }
  prepared->pattern = program->pattern;
  prepared->arguments = program->arguments;
  prepared->tensors = std::move(program->tensors);
  prepared->workspace_bytes = program->workspace_bytes;
  prepared->checked = program->checked;
  prepared->counts = program->counts;
  if (!prepared->tensors.empty()) {
    auto table = OwnedBlock::make(*context_, prepared->tensors.bytes());
    if (!table.ok()) return table.status();
    prepared->table = std::move(table).value();
  }
  return prepared;
}

Result<Prepared*> GpuMachine::prepared_for(const Call& call, std::unique_ptr<Prepared>& transient) {
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
Status GpuMachine::put_table(Prepared& p) {
  if (p.table_holds == p.tensors) return {};
  p.table_holds = {};
  if (Status s = context_->copy_in(p.table.data(), p.tensors.data(), Rows::flat(p.tensors.bytes()), false); !s.ok())
    return s;
  p.table_holds = p.tensors;
  return {};
}

Status GpuMachine::run(const Call& call, Outcome* outcome) {
  const std::lock_guard lock(mutex_);
  if (context_->lost()) return context_->lost_status();
  const Entered entered(context_->driver(), context_->handle());
  if (entered.error() != 0) return context_->check(entered.error(), "entering its context");

  StagedOperands staged(*context_);
  auto brought = staged.bring(call);
  if (!brought.ok()) return brought.status();
  const Call& on_device = *brought.value();
  std::unique_ptr<Prepared> transient;
  auto found = prepared_for(on_device, transient);
  if (!found.ok()) return found.status();
  Prepared& p = *found.value();

  device::Arguments arguments = p.arguments;
  // Given back when the launches are queued: only work queued later can get it.
  auto workspace = OwnedBlock::make(*context_, p.workspace_bytes);
  if (!workspace.ok()) return workspace.status();
  arguments.workspace = workspace->data();
  if (!p.tensors.empty()) {
    if (Status s = put_table(p); !s.ok()) return s;
    arguments.tensors = p.table.data();
  }
  Control::Slot slot;
  if (p.checked || p.counts) {
    auto taken = control_.take();
    if (!taken.ok()) return taken.status();
    slot = taken.value();
    arguments.flag = slot.flag;
    arguments.counter = slot.counter;
    arguments.counted = slot.counted;
  }
  for (const Prepared::Step& step : p.steps)
    if (Status s = context_->launch(*step.function, step.grid, &arguments, sizeof(arguments), context_->stream());
        !s.ok())
      return s;

  Outcome answered;
  if (p.checked && (outcome != nullptr || staged.any())) {
    if (Status s = control_.answer(slot, call, p.pattern, answered); !s.ok()) return s;
  } else if (p.checked && p.pattern != device::Pattern::each) {  // nobody asks whether a step was skipped
    control_.remember(slot, call, p.pattern);
  }
  if (Status s = staged.take_back(answered.skipped); !s.ok()) return s;
  answered.host_bytes_copied = staged.bytes_copied();
  if (outcome != nullptr) *outcome = answered;
  return {};
}

}  // namespace

Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options) {
  auto parsed = parse_name(name);
  if (!parsed.ok()) return parsed.status();
  if (options.plan < 0 || options.plan >= device::kVariants)
    return Status::invalid(fmt::format("plan = {}; it must be in [0, {})", options.plan, device::kVariants));
  if (!options.isa.empty())
    return Status::invalid(fmt::format("isa = {}; {} has no instruction sets to choose from", options.isa, name));
  auto driver = driver_of(parsed->vendor);
  if (!driver.ok())
    return Status(driver.status().code(), fmt::format("no device '{}': {}", name, driver.status().message()));
  auto context = Context::open(*driver.value(), parsed->index);
  if (!context.ok()) return context.status();
  auto target = target_of(*driver.value(), context.value()->facts());
  if (!target.ok()) return target.status();
  if (const auto cache = compiler::Cache::open(); !cache.ok()) return cache.status();  // its kernels come from there
  return std::shared_ptr<Machine>(
      std::make_shared<GpuMachine>(std::move(context).value(), target.value(), options.plan));
}

}  // namespace tokitai::gpu
