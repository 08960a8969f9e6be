// A vendor's GPU driver, opened at run time, in the few calls we make. NVIDIA and AMD share everything above this.
// No vendor header is needed to build: driver types are pointers, errors the driver's own numbers, 0 is good.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/process.h"
#include "tokitai/status.h"

namespace tokitai::gpu {

struct DeviceFacts {
  std::string name;  // as the vendor sells it
  int index = 0;
  std::string architecture;  // "sm_90", "gfx942"
  int capability = 0;        // NVIDIA: 90 for 9.0; AMD: 0
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0, l2_bytes = 0;
  int shared_per_block = 0;  // the most a block may ask for
  int warp = 32;
  std::string driver_version;
  bool cooperative = false, clusters = false;
};

using Error = int;

// Where a pointer's memory lies. Managed memory counts as the device's own: it follows whoever touches it.
struct Place {
  enum Kind : std::uint8_t { host, pinned, device, managed } kind = host;
  int owner = -1;  // the index of its device
  // The allocation it is part of, where the driver says; else no bytes, from that pointer on. Null: the host's.
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

struct Grid {
  int grid = 1, block = 1;
  int cluster = 1;  // blocks that run together and reach each other's shared memory
  int shared_bytes = 0;
  bool follows = false;      // may begin before the launch in front of it has ended; its kernel waits for that itself
  bool cooperative = false;  // all blocks run at once, so that they may wait for each other
};

// A matrix as the copy engine is told of it: at most three dimensions, the row first, in elements of so many bytes;
// strides in bytes.
struct Matrix {
  void* data = nullptr;
  int element_bytes = 1;
  std::uint64_t size[3] = {}, stride[2] = {};
  std::uint32_t box[3] = {};
  bool swizzled = false;
};

class Driver {
 public:
  // Opened once per process and never closed: drivers run threads of their own. Unavailable says what was looked
  // for and what the driver answered.
  static Result<Driver*> nvidia();
  static Result<Driver*> amd();

  virtual ~Driver() = default;
  bool usable_here() const { return home_.here(); }  // drivers do not survive a fork
  virtual std::string_view prefix() const = 0;       // of device names: "cuda", "amd"
  virtual int count() const = 0;
  virtual Result<DeviceFacts> facts(int index) = 0;

  // The device's own context, shared with every library of the process that uses it.
  virtual Error retain(int index, void*& context) = 0;
  virtual void release(int index) = 0;
  // Makes it the calling thread's; `leave` puts back what was there. A thread that had none keeps ours.
  virtual Error enter(void* context, void*& before) = 0;
  virtual void leave(void* context, void* before) = 0;

  virtual Error allocate(void*& memory, std::size_t bytes) = 0;
  virtual Error free(void* memory) = 0;
  virtual Error allocate_pinned(void*& memory, std::size_t bytes) = 0;
  virtual Error free_pinned(void* memory) = 0;
  virtual Error memory(std::size_t& free, std::size_t& total) = 0;
  virtual Error place(const void* pointer, Place& place) = 0;

  virtual Error copy_in(void* device, const void* host, std::size_t bytes, void* stream) = 0;
  virtual Error copy_out(void* host, const void* device, std::size_t bytes, void* stream) = 0;
  virtual Error copy_on_device(void* to, const void* from, std::size_t bytes, void* stream) = 0;
  virtual Error fill(void* device, unsigned char byte, std::size_t bytes, void* stream) = 0;

  virtual Error create_stream(void*& stream) = 0;
  virtual Error destroy_stream(void* stream) = 0;
  virtual Error wait_stream(void* stream) = 0;
  // The context that a stream belongs to; as it was where the driver cannot tell. An error about the stream alone is
  // never a fatal one.
  virtual Error owner_of(void* stream, void*& context) = 0;
  // A number no other stream of the process ever has; 0 where the driver cannot tell.
  virtual std::uint64_t stream_number(void* stream) = 0;
  // Whether what is queued there is recorded into a graph instead. Its errors are like those of owner_of.
  virtual Error recording(void* stream, bool& answer) = 0;
  virtual Error wait_device() = 0;
  virtual Error create_event(void*& event, bool timing) = 0;
  virtual Error destroy_event(void* event) = 0;
  virtual Error record(void* event, void* stream) = 0;
  virtual Error wait_event(void* event) = 0;
  virtual Error stream_wait(void* stream, void* event) = 0;
  virtual Error elapsed(float& milliseconds, void* begin, void* end) = 0;

  virtual Error load(void*& module, const void* binary) = 0;
  virtual Error unload(void* module) = 0;
  virtual Error function(void*& function, void* module, const char* name) = 0;
  // Readies a function for this much dynamic shared memory and this cluster size; the most is kept.
  virtual Error permit(void* function, int shared_bytes, int cluster) = 0;
  // Bytes of the only parameter, or 0 where the driver cannot say.
  virtual std::size_t parameter_bytes(void* function) = 0;
  // Blocks resident on one multiprocessor; for clusters, clusters on the whole device.
  virtual Error resident(int& count, void* function, const Grid& grid) = 0;
  // Whether the driver makes maps for the copy engine, and one of them: 128 bytes, at a multiple of 64.
  virtual bool maps() const { return false; }
  virtual Error map(void*, const Matrix&) { return -1; }
  // One struct, passed by value, is the only parameter.
  virtual Error launch(void* function, const Grid& grid, const void* arguments, void* stream) = 0;

  virtual std::string text(Error error) const = 0;
  virtual bool out_of_memory(Error error) const = 0;
  // Whether the context is beyond use after it, as after an illegal address.
  virtual bool fatal(Error error) const = 0;

 private:
  const HomeProcess home_;
};

// "cuda:0", "amd:1".
struct DeviceName {
  std::string_view vendor;
  int index = 0;
};
bool names_gpu(std::string_view name);
Result<DeviceName> parse_name(std::string_view name);
Result<Driver*> driver_of(std::string_view vendor);

// Makes a context the calling thread's for as long as this lives.
class Entered {
 public:
  Entered(Driver& driver, void* context) : driver_(driver), context_(context) {
    error_ = driver.enter(context, before_);
  }
  ~Entered() {
    if (error_ == 0) driver_.leave(context_, before_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  Error error() const { return error_; }

 private:
  Driver& driver_;
  void* context_;
  void* before_ = nullptr;
  Error error_;
};

}  // namespace tokitai::gpu
