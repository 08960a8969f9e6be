// The cpu machine's threads: a fixed crew that takes work units in turn, with scratch memory of its own.
// Ours and not OpenMP's: its waiting is visible to the thread sanitizer, it survives being one of several in a
// process, and it sets the floating-point mode of every thread.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace tokitai::cpu {

// Aligned memory that grows and is kept for the next call.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  // At least this many bytes, 64-byte aligned, contents undefined; nullptr where memory ran out.
  void* reserve(std::size_t bytes);
  void* data() const { return data_; }
  std::int64_t bytes() const { return size_.load(std::memory_order_relaxed); }

 private:
  void* data_ = nullptr;
  std::atomic<std::int64_t> size_{0};
};

// What multiplies integers fastest.
enum class IntegerUnit : std::uint8_t { plain, vnni, amx };

// AMX's tiles: whether the processor and the kernel have them, and whether this process gets them. The kernel gives
// them to a whole process, whose alternate signal stacks then need room for them: so they are asked for when they are
// used, and not before. Nothing is kept: a fork beside a first answer that is being kept would wait for it forever.
bool has_tiles();
bool tiles_granted();

class Pool {
 public:
  explicit Pool(int threads, IntegerUnit unit = IntegerUnit::plain);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return threads_; }
  IntegerUnit integer_unit() const { return unit_; }
  // Calls work(unit, worker) for every unit in [0, units), worker in [0, threads()). Units are handed out in
  // ascending order to whoever is free. The caller works too.
  template <class F> void run(std::int64_t units, F&& work) {
    auto call = [](void* context, std::int64_t unit, int worker) { (*static_cast<F*>(context))(unit, worker); };
    dispatch(units, call, &work);
  }
  using Work = void (*)(void*, std::int64_t, int);
  void dispatch(std::int64_t units, Work work, void* context);
  // One call at a time uses the crew and the scratch; held from the first reserve to the last unit.
  std::unique_lock<std::mutex> acquire() { return std::unique_lock(busy_); }

  Scratch& scratch(int worker) { return worker_scratch_[static_cast<std::size_t>(worker)]; }
  Scratch& shared_scratch() { return shared_scratch_; }
  std::int64_t scratch_bytes() const;

 private:
  void work_through(int worker);
  void loop(int worker);
  void dismiss();

  int threads_;
  IntegerUnit unit_;
  std::mutex busy_;
  std::vector<Scratch> worker_scratch_;
  Scratch shared_scratch_;
  std::vector<std::thread> crew_;

  Work work_ = nullptr;
  void* context_ = nullptr;
  std::int64_t units_ = 0;
  alignas(64) std::atomic<std::int64_t> next_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};  // counts up: each new round wakes the crew
  alignas(64) std::atomic<int> working_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace tokitai::cpu
