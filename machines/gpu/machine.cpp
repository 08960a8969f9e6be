#include "machines/gpu/machine.h"

#include <fmt/format.h>

#include "compiler/cache.h"
#include "machines/gpu/gpu.h"
#include "runtime/machine.h"

namespace tokitai::gpu {
namespace {

// One stream of a GPU as a machine; what it shares with the other streams of the same is the Gpu.
class GpuMachine final : public Machine {
 public:
  GpuMachine(std::shared_ptr<Gpu> gpu, std::shared_ptr<Runner> runner)
      : gpu_(std::move(gpu)), context_(gpu_->context()), runner_(std::move(runner)), queue_(runner_->queue()) {}

  Status run(const Call& call, Outcome& outcome) override { return runner_->run(call, &outcome); }
  Status queue(const Call& call) override { return runner_->run(call, nullptr); }
  std::string description() const override {
    const DeviceFacts& f = context_.facts();
    return fmt::format("{}, {}, {:.0f} GiB, driver {}", f.name, f.architecture,
                       static_cast<double>(f.memory_bytes) / (1 << 30), f.driver_version);
  }

  std::int64_t scratch_bytes() const override { return context_.cached_bytes(); }
  Result<std::int64_t> workspace(const Call& call) const override {
    auto program = device::plan(call, gpu_->machinery());
    if (!program.ok()) return program.status();
    return program->workspace_bytes + program->tensors.bytes();
  }

  Status compile_ahead(const std::vector<Call>& calls, const CompileProgress& progress) override {
    return gpu_->kernels().compile_ahead(calls, gpu_->machinery(), progress);
  }
  Result<double> compile_seconds(const Call& call) override {
    return gpu_->kernels().compile_seconds(call, gpu_->machinery());
  }
  std::vector<KernelFacts> kernels() const override { return gpu_->kernels().loaded(); }

  const void* device() const override { return gpu_.get(); }
  Result<std::shared_ptr<Machine>> on(void* stream) override { return with(gpu_->on(stream)); }
  Result<std::shared_ptr<Machine>> on_new_stream() override { return with(gpu_->on_new_stream()); }

  Result<void*> allocate(std::int64_t bytes) override {
    auto block = queue_.allocate(bytes);
    if (!block.ok()) return block.status();
    gpu_->buffers().add(block->data, bytes, queue_);
    return block->data;
  }
  void release(void* memory, std::int64_t bytes) override {
    queue_.release({memory, Allocator::size_class(bytes)}, gpu_->buffers().remove(memory));
  }
  Result<void*> allocate_pinned(std::int64_t bytes) override {
    auto memory = context_.allocate_pinned(bytes);
    if (memory.ok()) gpu_->buffers().add_pinned(memory.value(), bytes);
    return memory;
  }
  void release_pinned(void* memory, std::int64_t) override {
    for (const auto& use : gpu_->buffers().remove(memory)) static_cast<void>(use->wait());
    context_.release_pinned(memory);
  }
  Status copy_in(void* device, const void* host, std::int64_t bytes) override {
    if (Status s = context_.ready(queue_.stream()); !s.ok()) return s;
    auto from = on_host(host);
    if (!from.ok()) return from.status();
    if (Status s = on_device(device, bytes); !s.ok()) return s;
    return using_both(device, host, queue_.copy_in(device, host, Rows::flat(bytes), from->kind == Place::pinned));
  }
  Status copy_out(void* host, const void* device, std::int64_t bytes) override {
    if (Status s = context_.ready(queue_.stream()); !s.ok()) return s;
    auto to = on_host(host);
    if (!to.ok()) return to.status();
    if (Status s = on_device(device, bytes); !s.ok()) return s;
    return using_both(host, device, queue_.copy_out(host, device, Rows::flat(bytes), to->kind == Place::pinned));
  }
  Status copy(void* to, const void* from, std::int64_t bytes) override {
    if (Status s = context_.ready(queue_.stream()); !s.ok()) return s;
    if (Status s = on_device(to, bytes); !s.ok()) return s;
    if (Status s = on_device(from, bytes); !s.ok()) return s;
    return using_both(to, from, queue_.queue_copy(to, from, bytes));
  }
  Result<bool> holds(const void* memory) override {
    auto place = context_.place(memory);
    if (!place.ok()) return place.status();
    if (place->kind != Place::device && place->kind != Place::managed) return false;
    if (Status s = on_device(memory, 1); !s.ok()) return s;
    return true;
  }
  Status wait() override { return runner_->wait(); }
  Result<DeviceMemory> memory() override { return context_.memory(); }
  Status trim() override { return gpu_->trim(); }

  Result<void*> mark() override {
    auto made = context_.make_event(true);
    if (!made.ok()) return made.status();
    auto event = std::make_unique<Event>(std::move(made).value());
    if (Status s = event->record(queue_.stream()); !s.ok()) return s;
    return event.release();
  }
  void release_mark(void* mark) override { delete static_cast<Event*>(mark); }
  Status wait_for(void* mark) override { return static_cast<Event*>(mark)->hold(queue_.stream()); }
  Result<double> seconds_between(void* earlier, void* later) override {
    for (void* mark : {earlier, later})
      if (Status s = static_cast<Event*>(mark)->wait(); !s.ok()) return s;
    return static_cast<Event*>(later)->seconds_since(*static_cast<Event*>(earlier));
  }

 private:
  Result<std::shared_ptr<Machine>> with(Result<std::shared_ptr<Runner>> runner) const {
    if (!runner.ok()) return runner.status();
    return std::shared_ptr<Machine>(std::make_shared<GpuMachine>(gpu_, std::move(runner).value()));
  }
  Status on_device(const void* memory, std::int64_t bytes);
  Result<Place> on_host(const void* memory);
  // A copy between the two was queued.
  Status using_both(const void* to, const void* from, const Status& queued) {
    const void* both[] = {to, from};
    const Status kept = gpu_->buffers().used(queue_, both);
    return queued.ok() ? kept : queued;
  }

  const std::shared_ptr<Gpu> gpu_;
  Context& context_;
  const std::shared_ptr<Runner> runner_;
  Queue& queue_;
};

Status GpuMachine::on_device(const void* memory, std::int64_t bytes) {
  auto place = context_.place(memory);
  if (!place.ok()) return place.status();
  if (place->kind == Place::managed) return {};
  if (place->kind != Place::device)
    return Status::invalid(fmt::format("{}: a copy names host memory where the device's is needed", context_.name()));
  if (place->owner != context_.facts().index)
    return Status::invalid(
        fmt::format("{}: a copy names memory of {}:{}", context_.name(), context_.driver().prefix(), place->owner));
  const auto* begin = static_cast<const std::byte*>(memory);
  if (place->bytes > 0 && bytes > place->begin + place->bytes - begin)
    return Status::invalid(fmt::format("{}: a copy of {} bytes, but its memory there ends after {}", context_.name(),
                                       bytes, place->begin + place->bytes - begin));
  return {};
}

Result<Place> GpuMachine::on_host(const void* memory) {
  auto place = context_.place(memory);
  if (place.ok() && place->kind == Place::device)
    return Status::invalid(fmt::format("{}: a copy names device memory where the host's is needed", context_.name()));
  return place;
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
  auto gpu = std::make_shared<Gpu>(std::move(context).value(), target.value(), options.plan);
  auto runner = gpu->on_new_stream();
  if (!runner.ok()) return runner.status();
  return std::shared_ptr<Machine>(std::make_shared<GpuMachine>(std::move(gpu), std::move(runner).value()));
}

}  // namespace tokitai::gpu
