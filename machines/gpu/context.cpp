#include "machines/gpu/context.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokitai::gpu {

Context::Context(Driver& driver, DeviceFacts facts, void* handle)
    : driver_(driver),
      facts_(std::move(facts)),
      handle_(handle),
      name_(fmt::format("{}:{}", driver.prefix(), facts_.index)) {}

Result<std::unique_ptr<Context>> Context::open(Driver& driver, int index) {
  auto facts = driver.facts(index);
  if (!facts.ok()) return facts.status();
  const auto refused = [&](const char* doing, Error error) {
    return Status(Code::unavailable, fmt::format("{}:{} ({}) cannot be used: {}: {}", driver.prefix(), index,
                                                 facts->name, doing, driver.text(error)));
  };
  void* handle = nullptr;
  if (const Error e = driver.retain(index, handle); e != 0) return refused("opening its context", e);
  return std::unique_ptr<Context>(new Context(driver, std::move(facts).value(), handle));
}

Context::~Context() {
  {
    const Entered entered(driver_, handle_);
    for (const auto& [key, module] : modules_) static_cast<void>(driver_.unload(module.handle));
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
  return Stream(*this, handle, true);
}
Result<Stream> Context::borrow_stream(void* handle) {
  if (lost()) return lost_status();
  // A handle of 1 is the default stream, as null is; 2 means another stream in every thread.
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number == 1) handle = nullptr;
  if (number == 2)
    return Status::invalid(fmt::format(
        "{}: the per-thread default stream is another one in each thread; give a stream of its own", name_));
  void* owner = handle_;
  const Entered entered(driver_, handle_);
  if (entered.error() != 0) return check(entered.error(), "entering its context");
  if (const Error e = driver_.owner_of(handle, owner); e != 0)
    return driver_.fatal(e)
               ? check(e, "asking whose a stream is")
               : Status::invalid(fmt::format("{}: no stream {}: the driver said {}", name_, handle, driver_.text(e)));
  if (owner != handle_)
    return Status::invalid(
        fmt::format("{}: the stream is of another device, or not of this one's primary context", name_));
  return Stream(*this, handle, false);
}
Status Context::ready(const Stream& stream) {
  if (stream.owned()) return {};
  if (lost()) return lost_status();
  const Entered entered(driver_, handle_);
  if (entered.error() != 0) return check(entered.error(), "entering its context");
  bool recording = false;
  if (const Error e = driver_.recording(stream.handle(), recording); e != 0)
    return driver_.fatal(e) ? check(e, "asking what a stream does")
                            : Status::invalid(fmt::format("{}: the caller's stream cannot be used: the driver said {}",
                                                          name_, driver_.text(e)));
  if (recording)
    return Status::invalid(
        fmt::format("{}: the caller's stream records a graph; a call is done once, when it is queued", name_));
  return {};
}
Result<Event> Context::make_event(bool timing) {
  void* handle = nullptr;
  if (Status s = within("making an event", [&] { return driver_.create_event(handle, timing); }); !s.ok()) return s;
  return Event(*this, handle);
}

Status Context::wait() {
  return within("waiting for the device", [&] { return driver_.wait_device(); });
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
void Context::add(Allocator& of_stream) {
  const std::lock_guard lock(allocators_mutex_);
  allocators_.push_back(&of_stream);
  streams_.store(allocators_.size(), std::memory_order_release);
}
void Context::remove(Allocator& of_stream) {
  const std::lock_guard lock(allocators_mutex_);
  std::erase(allocators_, &of_stream);
  streams_.store(allocators_.size(), std::memory_order_release);
}
std::int64_t Context::cached_bytes() const {
  const std::lock_guard lock(allocators_mutex_);
  std::int64_t bytes = 0;
  for (const Allocator* one : allocators_) bytes += one->cached();
  return bytes;
}
Result<DeviceMemory> Context::memory() {
  std::size_t free = 0, total = 0;
  if (Status s = within("asking for free memory", [&] { return driver_.memory(free, total); }); !s.ok()) return s;
  const std::lock_guard lock(allocators_mutex_);
  DeviceMemory memory{0, 0, static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
  for (const Allocator* one : allocators_) {
    memory.in_use += one->in_use();
    memory.cached += one->cached();
  }
  return memory;
}
Status Context::trim() {
  if (lost()) return lost_status();
  std::vector<void*> blocks;  // which nobody can get any more, and whose uses are queued
  {
    const std::lock_guard lock(allocators_mutex_);
    for (Allocator* one : allocators_) one->take(blocks);
  }
  return within("giving memory back", [&] {
    const Error error = driver_.wait_device();
    for (void* block : blocks) static_cast<void>(driver_.free(block));
    return error;
  });
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
      grid.cluster > f.permitted_cluster_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(modules_mutex_);
    if (Status s = permit(f, grid); !s.ok()) return s;
  }
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

}  // namespace tokitai::gpu
