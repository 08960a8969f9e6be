// One GPU, opened: its context, memory, streams, events, and the kernels loaded on it. Every call makes the context
// the calling thread's while it runs and may come from any thread. After an error that the context does not survive
// (an illegal address) every call says so; nothing hangs.
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
#include "machines/gpu/staging.h"
#include "tokitai/device.h"

namespace tokitai::gpu {

class Context;

// A queue of work. Work on different streams is ordered only through events.
class Stream {
 public:
  Stream(Context& context, void* handle) : context_(&context), handle_(handle) {}
  ~Stream();
  Stream(Stream&& other) noexcept : context_(other.context_), handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  void* handle() const { return handle_; }
  Status wait();

 private:
  Context* context_;
  void* handle_;
};

// A mark in a stream.
class Event {
 public:
  Event(Context& context, void* handle) : context_(&context), handle_(handle) {}
  ~Event();
  Event(Event&& other) noexcept : context_(other.context_), handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  void* handle() const { return handle_; }
  Status record(Stream& stream);
  Status wait();                                 // the calling thread, until the mark is reached
  Status hold(Stream& stream);                   // what is queued there from now on, until the mark is reached
  Result<double> seconds_since(Event& earlier);  // both reached, both made for timing

 private:
  Context* context_;
  void* handle_;
};

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
  Stream& stream() { return *stream_; }

  Result<Stream> make_stream();
  Result<Event> make_event(bool timing);

  // Blocks belong to the default stream: see allocator.h.
  Result<Block> allocate(std::int64_t bytes);
  void release(const Block& block);
  Result<void*> allocate_pinned(std::int64_t bytes);
  void release_pinned(void* memory);
  Result<DeviceMemory> memory();
  std::int64_t cached_bytes() const { return allocator_.cached(); }
  Status trim();

  Status copy_in(void* device, const void* host, const Rows& rows, bool pinned);
  Status copy_out(void* host, const void* device, const Rows& rows, bool pinned);
  // On the default stream, not waited for. The host's side is pinned.
  Status queue_copy_out(void* pinned, const void* device, std::int64_t bytes);
  Status queue_copy(void* to, const void* from, std::int64_t bytes);
  Status queue_fill(void* device, unsigned char byte, std::int64_t bytes);

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

 private:
  Context(Driver& driver, DeviceFacts facts, void* handle);
  // Runs `work`, which answers a driver's error, with the context entered and not lost.
  template <class Work> Status within(const char* doing, const Work& work) const;
  Status permit(Function& function, const Grid& grid);

  struct Module {
    void* handle = nullptr;
    std::unordered_map<std::string, std::unique_ptr<Function>> functions;
  };

  Driver& driver_;
  DeviceFacts facts_;
  void* handle_;
  std::string name_;
  Allocator allocator_;
  Staging staging_;
  std::unique_ptr<Stream> stream_;
  std::mutex modules_mutex_;
  std::unordered_map<std::string, Module> modules_;
  mutable std::atomic<bool> lost_ = false;
  mutable std::mutex lost_mutex_;
  mutable std::string lost_why_;
};

// A block that is given back when this goes.
class OwnedBlock {
 public:
  OwnedBlock() = default;
  OwnedBlock(Context& context, const Block& block) : context_(&context), block_(block) {}
  ~OwnedBlock() {
    if (block_.data != nullptr) context_->release(block_);
  }
  OwnedBlock(OwnedBlock&& other) noexcept : context_(other.context_), block_(std::exchange(other.block_, {})) {}
  OwnedBlock& operator=(OwnedBlock&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(block_, other.block_);
    return *this;
  }
  // Nothing is allocated for no bytes.
  static Result<OwnedBlock> make(Context& context, std::int64_t bytes) {
    if (bytes <= 0) return OwnedBlock();
    auto block = context.allocate(bytes);
    if (!block.ok()) return block.status();
    return OwnedBlock(context, block.value());
  }
  std::byte* data() const { return static_cast<std::byte*>(block_.data); }

 private:
  Context* context_ = nullptr;
  Block block_;
};

}  // namespace tokitai::gpu
