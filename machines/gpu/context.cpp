#include "machines/gpu/context.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokitai::gpu {

template <class Work> Status Context::within(const char* doing, const Work& work) const {
  if (lost()) return lost_status();
  const Entered entered(driver_, handle_);
  if (entered.error() != 0) return check(entered.error(), "entering its context");
  const Error error = work();
  return error == 0 ? Status() : check(error, doing);
}

Context::Context(Driver& driver, DeviceFacts facts, void* handle)
    : driver_(driver),
      facts_(std::move(facts)),
      handle_(handle),
      name_(fmt::format("{}:{}", driver.prefix(), facts_.index)),
      allocator_(driver),
      staging_(driver) {}

Result<std::unique_ptr<Context>> Context::open(Driver& driver, int index) {
  auto facts = driver.facts(index);
  if (!facts.ok()) return facts.status();
  const auto refused = [&](const char* doing, Error error) {
    return Status(Code::unavailable, fmt::format("{}:{} ({}) cannot be used: {}: {}", driver.prefix(), index,
                                                 facts->name, doing, driver.text(error)));
  };
  void* handle = nullptr;
  if (const Error e = driver.retain(index, handle); e != 0) return refused("opening its context", e);
  std::unique_ptr<Context> context(new Context(driver, std::move(facts).value(), handle));
  const Entered entered(driver, handle);
  if (entered.error() != 0) return refused("entering its context", entered.error());
  void* stream = nullptr;
  if (const Error e = driver.create_stream(stream); e != 0) return refused("making a stream", e);
  context->stream_ = std::make_unique<Stream>(*context, stream);
  return context;
}

Context::~Context() {
  {
    const Entered entered(driver_, handle_);
    if (stream_ && !lost()) static_cast<void>(driver_.wait_stream(stream_->handle()));
    staging_.close();
    allocator_.trim();
    for (const auto& [key, module] : modules_) static_cast<void>(driver_.unload(module.handle));
    stream_.reset();
  }
  driver_.release(facts_.index);
}

Status Context::lost_status() const {
  const std::lock_guard lock(lost_mutex_);
  return {Code::internal, fmt::format("{} is lost to this process: {}", name_, lost_why_)};
}

Status Context::check(Error error, const char* doing) const {
  if (error == 0) return {};
  if (driver_.fatal(error)) {
    {
      const std::lock_guard lock(lost_mutex_);
      if (lost_why_.empty())
        lost_why_ = fmt::format("while {} or in work queued before, the driver said {}", doing, driver_.text(error));
    }
    lost_.store(true, std::memory_order_release);
    return lost_status();
  }
  return {driver_.out_of_memory(error) ? Code::unavailable : Code::internal,
          fmt::format("{}: {}: {}", name_, doing, driver_.text(error))};
}

Result<Stream> Context::make_stream() {
  void* handle = nullptr;
  if (Status s = within("making a stream", [&] { return driver_.create_stream(handle); }); !s.ok()) return s;
  return Stream(*this, handle);
}
Result<Event> Context::make_event(bool timing) {
  void* handle = nullptr;
  if (Status s = within("making an event", [&] { return driver_.create_event(handle, timing); }); !s.ok()) return s;
  return Event(*this, handle);
}

Result<Block> Context::allocate(std::int64_t bytes) {
  if (lost()) return lost_status();
  const Entered entered(driver_, handle_);
  if (entered.error() != 0) return check(entered.error(), "entering its context");
  Block block;
  const Error error = allocator_.allocate(bytes, block);
  if (error == 0) return block;
  if (!driver_.out_of_memory(error)) return check(error, "allocating memory");
  std::size_t free = 0, total = 0;
  static_cast<void>(driver_.memory(free, total));
  return Status(Code::unavailable,
                fmt::format("{}: out of memory: {} bytes asked, {} free of {}", name_, bytes, free, total));
}
void Context::release(const Block& block) {
  const Entered entered(driver_, handle_);
  allocator_.release(block);
}
Result<void*> Context::allocate_pinned(std::int64_t bytes) {
  void* memory = nullptr;
  if (Status s = within(
          "allocating pinned host memory",
          [&] { return driver_.allocate_pinned(memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))); });
      !s.ok())
    return Status(s.code(), fmt::format("{} ({} bytes asked)", s.message(), bytes));
  return memory;
}
void Context::release_pinned(void* memory) {
  const Entered entered(driver_, handle_);
  static_cast<void>(driver_.free_pinned(memory));
}
Result<DeviceMemory> Context::memory() {
  std::size_t free = 0, total = 0;
  if (Status s = within("asking for free memory", [&] { return driver_.memory(free, total); }); !s.ok()) return s;
  return DeviceMemory{allocator_.in_use(), allocator_.cached(), static_cast<std::int64_t>(free),
                      static_cast<std::int64_t>(total)};
}
Status Context::trim() {
  return within("giving memory back", [&] {
    const Error error = driver_.wait_stream(stream_->handle());
    if (error == 0) allocator_.trim();
    return error;
  });
}

Status Context::copy_in(void* device, const void* host, const Rows& rows, bool pinned) {
  return within("copying to the device",
                [&] { return staging_.copy_in(device, host, rows, pinned, stream_->handle()); });
}
Status Context::copy_out(void* host, const void* device, const Rows& rows, bool pinned) {
  return within("copying from the device",
                [&] { return staging_.copy_out(host, device, rows, pinned, stream_->handle()); });
}
Status Context::queue_copy_out(void* pinned, const void* device, std::int64_t bytes) {
  return within("copying from the device",
                [&] { return driver_.copy_out(pinned, device, static_cast<std::size_t>(bytes), stream_->handle()); });
}
Status Context::queue_copy(void* to, const void* from, std::int64_t bytes) {
  return within("copying on the device",
                [&] { return driver_.copy_on_device(to, from, static_cast<std::size_t>(bytes), stream_->handle()); });
}
Status Context::queue_fill(void* device, unsigned char byte, std::int64_t bytes) {
  return within("filling memory",
                [&] { return driver_.fill(device, byte, static_cast<std::size_t>(bytes), stream_->handle()); });
}

Result<Place> Context::place(const void* pointer) {
  Place place;
  if (Status s = within("asking where memory lies", [&] { return driver_.place(pointer, place); }); !s.ok()) return s;
  return place;
}

Result<Function*> Context::function(const std::string& module_key, const std::string& binary,
                                    const std::string& kernel) {
  if (lost()) return lost_status();
  const std::lock_guard lock(modules_mutex_);
  Module& module = modules_[module_key];
  if (module.handle == nullptr) {
    if (Status s = within("loading a kernel", [&] { return driver_.load(module.handle, binary.data()); }); !s.ok()) {
      modules_.erase(module_key);
      return Status(s.code(), fmt::format("{} ({}, {} bytes)", s.message(), kernel, binary.size()));
    }
  }
  std::unique_ptr<Function>& function = module.functions[kernel];
  if (!function) {
    void* handle = nullptr;
    std::size_t parameter_bytes = 0;
    Status s = within("finding a kernel in its module", [&] {
      const Error error = driver_.function(handle, module.handle, kernel.c_str());
      if (error == 0) parameter_bytes = driver_.parameter_bytes(handle);
      return error;
    });
    if (!s.ok()) {
      module.functions.erase(kernel);
      return Status(s.code(), fmt::format("{} ({})", s.message(), kernel));
    }
    function = std::make_unique<Function>(handle, kernel, parameter_bytes);
  }
  return function.get();
}

Status Context::permit(Function& f, const Grid& grid) {
  const int shared = std::max(grid.shared_bytes, f.permitted_shared_.load(std::memory_order_relaxed));
  const int cluster = std::max(grid.cluster, f.permitted_cluster_.load(std::memory_order_relaxed));
  if (grid.shared_bytes > facts_.shared_per_block)
    return {Code::internal, fmt::format("{}: {} asks for {} bytes of shared memory; {} has {}", name_, f.name_,
                                        grid.shared_bytes, facts_.name, facts_.shared_per_block)};
  if (Status s = within("readying a kernel", [&] { return driver_.permit(f.handle_, shared, cluster); }); !s.ok())
    return {s.code(), fmt::format("{} ({})", s.message(), f.name_)};
  f.permitted_shared_.store(shared, std::memory_order_relaxed);
  f.permitted_cluster_.store(cluster, std::memory_order_relaxed);
  return {};
}

Status Context::launch(Function& f, const Grid& grid, const void* arguments, std::size_t bytes, Stream& stream) {
  if (lost()) return lost_status();
  if (f.parameter_bytes_ != 0 && f.parameter_bytes_ != bytes)
    return {Code::internal, fmt::format("{}: {} takes {} bytes of arguments, {} were given", name_, f.name_,
                                        f.parameter_bytes_, bytes)};
  if (grid.shared_bytes > f.permitted_shared_.load(std::memory_order_relaxed) ||
      grid.cluster > f.permitted_cluster_.load(std::memory_order_relaxed))
    if (Status s = permit(f, grid); !s.ok()) return s;
  const Entered entered(driver_, handle_);
  if (entered.error() != 0) return check(entered.error(), "entering its context");
  const Error error = driver_.launch(f.handle_, grid, arguments, stream.handle());
  if (error == 0) return {};
  const Status s = check(error, "launching a kernel");
  return {s.code(), fmt::format("{} ({}: {} blocks of {} threads, clusters of {}, {} bytes of shared memory{})",
                                s.message(), f.name_, grid.grid, grid.block, grid.cluster, grid.shared_bytes,
                                grid.cooperative ? ", cooperative" : "")};
}

Status Context::launch(const Launch& l, Stream& stream) {
  auto found = function(l.module_key, *l.binary, l.kernel);
  if (!found.ok()) return found.status();
  return launch(*found.value(), l.grid, l.arguments, l.argument_bytes, stream);
}

Result<int> Context::resident_blocks(Function& f, int block, int shared_bytes, int cluster) {
  const std::lock_guard lock(modules_mutex_);
  for (const Function::Residency& r : f.residency_)
    if (r.block == block && r.shared_bytes == shared_bytes && r.cluster == cluster) return r.count;
  const Grid grid{.grid = cluster, .block = block, .cluster = cluster, .shared_bytes = shared_bytes};
  if (shared_bytes > f.permitted_shared_ || cluster > f.permitted_cluster_)
    if (Status s = permit(f, grid); !s.ok()) return s;
  int count = 0;
  if (Status s = within("asking how many blocks fit", [&] { return driver_.resident(count, f.handle_, grid); });
      !s.ok())
    return Status(s.code(), fmt::format("{} ({})", s.message(), f.name_));
  f.residency_.push_back({block, shared_bytes, cluster, count});
  return count;
}

Stream::~Stream() {
  if (handle_ == nullptr) return;
  const Entered entered(context_->driver(), context_->handle());
  static_cast<void>(context_->driver().destroy_stream(handle_));
}
Status Stream::wait() {
  if (context_->lost()) return context_->lost_status();
  const Entered entered(context_->driver(), context_->handle());
  return context_->check(context_->driver().wait_stream(handle_), "waiting for queued work");
}

Event::~Event() {
  if (handle_ == nullptr) return;
  const Entered entered(context_->driver(), context_->handle());
  static_cast<void>(context_->driver().destroy_event(handle_));
}
Status Event::record(Stream& stream) {
  if (context_->lost()) return context_->lost_status();
  const Entered entered(context_->driver(), context_->handle());
  return context_->check(context_->driver().record(handle_, stream.handle()), "marking a stream");
}
Status Event::wait() {
  if (context_->lost()) return context_->lost_status();
  const Entered entered(context_->driver(), context_->handle());
  return context_->check(context_->driver().wait_event(handle_), "waiting for queued work");
}
Status Event::hold(Stream& stream) {
  if (context_->lost()) return context_->lost_status();
  const Entered entered(context_->driver(), context_->handle());
  return context_->check(context_->driver().stream_wait(stream.handle(), handle_), "ordering streams");
}
Result<double> Event::seconds_since(Event& earlier) {
  if (context_->lost()) return context_->lost_status();
  const Entered entered(context_->driver(), context_->handle());
  float milliseconds = 0;
  if (Status s = context_->check(context_->driver().elapsed(milliseconds, earlier.handle_, handle_), "timing"); !s.ok())
    return s;
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace tokitai::gpu
