// What a machine does that says nothing else: it works in the host's memory, and its calls are done when they return.
#include "runtime/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "contract/workspace.h"

namespace tokitai {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kAlignment = 256;

}  // namespace

Result<std::int64_t> Machine::workspace(const Call& call) const { return workspace_bytes(call, threads()); }

Status Machine::compile_ahead(const std::vector<Call>&, const CompileProgress&) { return {}; }
Result<double> Machine::compile_seconds(const Call&) { return 0.0; }

Result<void*> Machine::allocate(std::int64_t bytes) {
  const std::int64_t rounded = (bytes / kAlignment + 1) * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, static_cast<std::size_t>(rounded));
  if (memory == nullptr)
    return Status(Code::unavailable, fmt::format("out of memory: {} bytes asked; this machine has {}", bytes,
                                                 std::int64_t{sysconf(_SC_PAGESIZE)} * sysconf(_SC_PHYS_PAGES)));
  host_bytes_ += bytes;
  return memory;
}
void Machine::release(void* memory, std::int64_t bytes) {
  std::free(memory);
  host_bytes_ -= bytes;
}
Result<void*> Machine::allocate_pinned(std::int64_t bytes) { return Machine::allocate(bytes); }
void Machine::release_pinned(void* memory, std::int64_t bytes) { Machine::release(memory, bytes); }
Status Machine::copy_in(void* device, const void* host, std::int64_t bytes) {
  return Machine::copy(device, host, bytes);
}
Status Machine::copy_out(void* host, const void* device, std::int64_t bytes) {
  return Machine::copy(host, device, bytes);
}
Status Machine::copy(void* to, const void* from, std::int64_t bytes) {
  std::memmove(to, from, static_cast<std::size_t>(bytes));
  return {};
}
Result<DeviceMemory> Machine::memory() {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return DeviceMemory{host_bytes_, 0, page * sysconf(_SC_AVPHYS_PAGES), page * sysconf(_SC_PHYS_PAGES)};
}
Status Machine::trim() { return {}; }

Status Machine::queue(const Call& call) {
  Outcome ignored;
  return run(call, ignored);
}
Status Machine::wait() { return {}; }
Result<void*> Machine::mark() { return new Clock::time_point(Clock::now()); }
void Machine::release_mark(void* mark) { delete static_cast<Clock::time_point*>(mark); }
Result<double> Machine::seconds_between(void* earlier, void* later) {
  return std::chrono::duration<double>(*static_cast<const Clock::time_point*>(later) -
                                       *static_cast<const Clock::time_point*>(earlier))
      .count();
}

}  // namespace tokitai
