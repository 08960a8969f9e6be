// The crew waits briefly on the processor before it sleeps: a training step calls operators back to back, and
// waking a sleeping thread costs more than a small call.
#include "machines/cpu/pool.h"

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdlib>

#include "base/float_mode.h"

namespace tokitai::cpu {
namespace {

constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Streaming stores are not ordered by a release: they are made visible before a worker says it is done.
void publish_streamed_stores() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

template <class T> void wait_while(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Scratch::~Scratch() { std::free(data_); }

void* Scratch::reserve(std::size_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  if (static_cast<std::int64_t>(bytes) > size_.load(std::memory_order_relaxed)) {
    std::free(data_);
    data_ = std::aligned_alloc(64, bytes);
    size_.store(data_ != nullptr ? static_cast<std::int64_t>(bytes) : 0, std::memory_order_relaxed);
  }
  return data_;
}

#if defined(__x86_64__)
namespace {
constexpr long kSupported = 0x1021, kRequest = 0x1023, kTileData = 18;  // arch_prctl's words, XFEATURE_XTILEDATA
}
bool has_tiles() {
  unsigned long features = 0;
  return __builtin_cpu_supports("amx-int8") && __builtin_cpu_supports("amx-tile") &&
         ::syscall(SYS_arch_prctl, kSupported, &features) == 0 && (features >> kTileData & 1u) != 0;
}
bool tiles_granted() { return ::syscall(SYS_arch_prctl, kRequest, kTileData) == 0; }
#else
bool has_tiles() { return false; }
bool tiles_granted() { return false; }
#endif

Pool::Pool(int threads, IntegerUnit unit)
    : threads_(threads), unit_(unit), worker_scratch_(static_cast<std::size_t>(threads)) {
  try {
    for (int worker = 1; worker < threads; ++worker) crew_.emplace_back([this, worker] { loop(worker); });
  } catch (...) {  // the system has no more threads: those that started must end before the members do
    dismiss();
    throw;
  }
}

Pool::~Pool() { dismiss(); }

void Pool::dismiss() {
  stop_.store(true, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : crew_) thread.join();
}

std::int64_t Pool::scratch_bytes() const {
  std::int64_t bytes = shared_scratch_.bytes();
  for (const Scratch& scratch : worker_scratch_) bytes += scratch.bytes();
  return bytes;
}

void Pool::dispatch(std::int64_t units, Work work, void* context) {
  if (units <= 1 || threads_ == 1) {
    for (std::int64_t unit = 0; unit < units; ++unit) work(context, unit, 0);
    publish_streamed_stores();
    return;
  }
  work_ = work;
  context_ = context;
  units_ = units;
  next_.store(0, std::memory_order_relaxed);
  working_.store(threads_ - 1, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  work_through(0);
  for (int left = working_.load(std::memory_order_acquire); left != 0; left = working_.load(std::memory_order_acquire))
    wait_while(working_, left);
}

void Pool::work_through(int worker) {
  for (std::int64_t unit = next_.fetch_add(1, std::memory_order_relaxed); unit < units_;
       unit = next_.fetch_add(1, std::memory_order_relaxed))
    work_(context_, unit, worker);
  publish_streamed_stores();
}

void Pool::loop(int worker) {
  const DefaultFloatMode mode;  // a thread starts with its creator's
  std::uint32_t seen = 0;
  for (;;) {
    wait_while(round_, seen);
    seen = round_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    work_through(worker);
    if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) working_.notify_all();
  }
}

}  // namespace tokitai::cpu
