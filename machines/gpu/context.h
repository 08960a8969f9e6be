// One GPU, opened: its primary context, which every library of the process that uses the device shares, its streams and
// events, and the kernels loaded on it. What belongs to one stream is in queue.h. Every call makes the context the
// calling thread's while it runs and may come from any thread. After an error that the context does not survive (an
// illegal address) every call says so; nothing hangs.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "machines/gpu/allocator.h"
#include "machines/gpu/driver.h"
#include "machines/gpu/stream.h"
#include "tokitai/device.h"

namespace tokitai::gpu {

// A kernel that is loaded. Lives as long as its context; callers keep the pointer.
class Function {
 public:
  Function(void* handle, std::string name, std::size_t parameter_bytes)
      : handle_(handle), name_(std::move(name)), parameter_bytes_(parameter_bytes) {}
  const std::string& name() const { return name_; }
  std::size_t parameter_bytes() const { return parameter_bytes_; }  // 0: the driver does not tell

 private:
  friend class Context;
  struct Residency {
    int block, shared_bytes, cluster, count;
  };
  void* handle_;
  std::string name_;
  std::size_t parameter_bytes_;             // 0: not known
  std::atomic<int> permitted_shared_ = -1;  // asked of the driver so far
  std::atomic<int> permitted_cluster_ = 1;
  std::vector<Residency> residency_;
};

struct Launch {
  std::string module_key;  // names the binary: its digest
  const std::string* binary = nullptr;
  std::string kernel;
  Grid grid;
  const void* arguments = nullptr;  // one struct, passed by value
  std::size_t argument_bytes = 0;
};

class Context {
 public:
  static Result<std::unique_ptr<Context>> open(Driver& driver, int index);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const std::string& name() const { return name_; }  // "cuda:0"
  const DeviceFacts& facts() const { return facts_; }
  Driver& driver() { return driver_; }

  Result<Stream> make_stream();
  // The caller's, who goes on owning it. Refused where the driver tells that it is none of this context.
  Result<Stream> borrow_stream(void* handle);
  // Refused where work queued there would not be done, or not once.
  Status ready(const Stream& stream);
  Result<Event> make_event(bool timing);
  // For everything queued on the device, on whatever stream.
  Status wait();

  Result<void*> allocate_pinned(std::int64_t bytes);
  void release_pinned(void* memory);
  Result<DeviceMemory> memory();
  std::int64_t cached_bytes() const;
  // Gives what every stream has cached back to the driver, after all that is queued.
  Status trim();
  void add(Allocator& of_stream);
  void remove(Allocator& of_stream);
  // Whether there is more than one stream, so that what one does may have to wait for another.
  bool several_streams() const { return streams_.load(std::memory_order_acquire) > 1; }

  Result<Place> place(const void* pointer);

  // Loaded once per key; the binary is read only the first time.
  Result<Function*> function(const std::string& module_key, const std::string& binary, const std::string& kernel);
  Status launch(Function& function, const Grid& grid, const void* arguments, std::size_t bytes, Stream& stream);
  Status launch(const Launch& launch, Stream& stream);
  // Blocks that fit on one multiprocessor at once; for clusters, clusters that fit on the device.
  Result<int> resident_blocks(Function& function, int block, int shared_bytes, int cluster = 1);

  bool lost() const { return lost_.load(std::memory_order_acquire); }
  Status lost_status() const;
  // What the driver answered, as a status; one that the context does not survive marks it as lost.
  Status check(Error error, const char* doing) const;
  void* handle() const { return handle_; }
  // Runs `work`, which answers a driver's error, with the context entered and not lost.
  template <class Work> Status within(const char* doing, const Work& work) const {
    if (lost()) return lost_status();
    const Entered entered(driver_, handle_);
    if (entered.error() != 0) return check(entered.error(), "entering its context");
    const Error error = work();
    return error == 0 ? Status() : check(error, doing);
  }

 private:
  Context(Driver& driver, DeviceFacts facts, void* handle);
  // For who holds modules_mutex_: two that raise the limit at once could lower it.
  Status permit(Function& function, const Grid& grid);

  struct Module {
    void* handle = nullptr;
    std::unordered_map<std::string, std::unique_ptr<Function>> functions;
  };

  Driver& driver_;
  DeviceFacts facts_;
  void* handle_;
  std::string name_;
  mutable std::mutex allocators_mutex_;
  std::vector<Allocator*> allocators_;  // one per stream
  std::atomic<std::size_t> streams_ = 0;
  std::mutex modules_mutex_;
  std::unordered_map<std::string, Module> modules_;
  mutable std::atomic<bool> lost_ = false;
  mutable std::mutex lost_mutex_;
  mutable std::string lost_why_;
};

}  // namespace tokitai::gpu
