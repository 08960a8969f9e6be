// A device is something operators run on, opened by name: "cpu" (SIMD and threads), "reference" (plain scalar
// loops: it defines the bits), "cuda:0" and "amd:0" (GPUs). Every device gives the same output bits.
//
// Operands may lie in the host's memory everywhere. A GPU then copies them in and out within the call; to leave them
// there between calls, allocate them on the device, or give any memory of its driver. Work on a GPU is queued in the
// order of the calls, and a call whose operands all lie there returns before it is done: wait() for it before reading
// the memory elsewhere.
//
// Streams. A Device queues on one stream; on() and on_new_stream() give handles of the same machine that queue on
// another, and share its kernels and memory. Work on different streams is done in any order, or at once, but where
// wait(mark) orders it. Any thread may use any handle; calls on different streams do not wait for each other.
//
// What holds what. A Device is a handle of its machine and of a stream there: copies share both, and they go with the
// last of them, of the buffers and of the marks, which hold them too; so these may outlive every Device, in any order.
// Whatever is queued is done before the machine goes. A stream that a caller gave is the caller's, is never destroyed
// here, and must be there while a handle queues on it. A view holds nothing: its memory has to be there until the call
// that uses it is done, and is nobody's here; in a framework whose allocator goes by streams it belongs to the stream
// that the call was queued on.
// DeviceMemory, KernelFacts, AccessChecks and a Status are plain values. A Device that was moved from is empty, and may
// only be assigned to or destroyed.
//
// In a fork of the process `cpu` and `reference` go on working. Every other device refuses there, and leaves what its
// parent has as it is; buffers and marks can go there, too. The memory of a worker's or a server's buffer is shared
// with the parent and with the worker even so, and may be other memory there than the parent sees: a fork must not
// touch buffers of a `worker:` or `unix:` device.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokitai/call.h"
#include "tokitai/status.h"

namespace tokitai {

template <class T> class Tensor;  // tensor.h

struct DeviceMemory {
  std::int64_t in_use = 0;  // by buffers and queued work
  std::int64_t cached = 0;  // held for the next buffer; trim() gives it back
  std::int64_t free = 0, total = 0;
};

// What a device that checks every access of its kernels (lockstep) has looked at since it was opened.
struct AccessChecks {
  std::int64_t accesses = 0, findings = 0;
};

// Where a kernel that a device compiled and loaded comes from.
struct KernelFacts {
  std::string label;            // operator and kernel
  std::string target;           // "sm_90a", "host"
  std::string source_digest;    // SHA-256 of the text and every header it reaches
  std::string toolchain;        // the compiler's name, version and digest
  std::string command;          // how it was built
  std::string artifact_digest;  // SHA-256 of the binary
  std::string audit;            // what a search of its machine text found, in words
};

// How many kernels have been compiled, of how many.
using CompileProgress = std::function<void(std::size_t, std::size_t)>;

class Machine;  // what a device runs on; callers use the operator functions

// Memory of a device, or pinned host memory; given back when this goes. Holds the device's machine.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Machine> machine, void* data, std::int64_t bytes, bool pinned)
      : machine_(std::move(machine)), data_(data), bytes_(bytes), pinned_(pinned) {}
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  void reset();

  void* data() const { return data_; }
  std::int64_t size() const { return bytes_; }

 private:
  std::shared_ptr<Machine> machine_;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
  bool pinned_ = false;
};

// A point in a stream of a device. Copies are of the same point, which holds the device's machine.
class Mark {
 public:
  Mark() = default;  // no point
  explicit operator bool() const { return point_ != nullptr; }

 private:
  friend class Device;
  struct Point;
  explicit Mark(std::shared_ptr<const Point> point) : point_(std::move(point)) {}
  std::shared_ptr<const Point> point_;
};

struct DeviceOptions {
  int threads = 0;          // 0: as many as the processor has cores
  std::string isa = {};     // "" : the best the processor runs; else one of cpu_isas(), or cpu_integers()
  int plan = 0;             // GPUs: 0 the best plan known; 1 to 3: other plans, for tests; they give the same bits
  double call_seconds = 0;  // worker devices: how long a call may take before the worker is replaced; 0: 600
  std::int64_t shared_bytes = 0;  // worker devices: the most shared memory; 0: as much as the machine has memory
};

class Device {
 public:
  Device(std::string name, const std::shared_ptr<Machine>& machine);
  const std::string& name() const { return facts_->name; }
  // As it was opened: these stand for every copy, in a fork too, and whatever becomes of a worker.
  std::string description() const { return facts_->description; }
  int threads() const { return facts_->threads; }
  std::int64_t scratch_bytes() const;

  // Checks the call against its contract, then runs it. May be called from several threads at once.
  Status run(Call& call, Outcome* outcome = nullptr);
  // The most scratch memory that call would take here.
  Result<std::int64_t> workspace(Call& call) const;
  // Has the kernels of those calls compiled on every core, so that running them later only loads them. Their memory
  // is not touched and need not be there. The first failure; what else can be compiled is compiled all the same.
  Status compile_ahead(std::vector<Call> calls, const CompileProgress& progress = {});
  // How long its kernels took to compile when they were, which may be long ago; 0 where nothing is compiled.
  Result<double> compile_seconds(Call& call);
  AccessChecks access_checks() const;
  // The kernels that were compiled at run time and have been loaded; none on the cpu device, which has its own.
  std::vector<KernelFacts> kernels() const;

  // A handle that queues on a stream of the caller's: the CUstream or hipStream_t (a cudaStream_t is one) of this
  // device's primary context, in which frameworks work, or null, the driver's default stream. Nothing is waited for,
  // and the same stream may be given before every call: what calls need there is made once and kept until trim().
  // Refused: a stream of another device or context, the per-thread default stream, and, on a device without streams,
  // any. Calls on a stream that records a graph are refused. Of a stream that was destroyed the driver may tell so, or
  // not: the caller must not use it.
  Result<Device> on(void* stream) const;
  // A handle that queues on a stream of its own, which is destroyed with the last of its copies, buffers and marks,
  // once the device has done its work. On a device whose calls are done when they return it is another handle like this
  // one.
  Result<Device> on_new_stream() const;

  // Memory that operators here reach without copying, aligned to 256 bytes, its contents undefined; at most kMostBytes
  // of it. It belongs to this handle's stream, and may be used on others too, in an order that is the caller's to see
  // to. A buffer may go while work that uses it is queued, on whatever stream of this device, here: its memory is
  // handed out again only to work that comes after.
  Result<Buffer> allocate(std::int64_t bytes);
  // Host memory that the device reaches directly: copies from and to it are faster, and copy_out does not wait.
  Result<Buffer> allocate_pinned(std::int64_t bytes);
  // The same with a type and a shape (tensor.h).
  template <class T> Result<Tensor<T>> tensor(std::int64_t size);
  template <class T> Result<Tensor<T>> tensor(std::int64_t rows, std::int64_t cols);
  template <class T> Result<Tensor<T>> tensor(std::initializer_list<std::int64_t> shape);  // up to four dimensions
  // Copies are queued like calls. copy_in returns when the host's memory may be changed again. copy_out returns when
  // the bytes are there; where the host's memory is pinned it returns at once, and they are there after wait().
  Status copy_in(void* device, const void* host, std::int64_t bytes);
  Status copy_out(void* host, const void* device, std::int64_t bytes);
  // From one place on the device to another; not waited for.
  Status copy(void* to, const void* from, std::int64_t bytes);

  // Whether that memory is the device's own, so that it is read through copy_out; else it is the host's.
  Result<bool> holds(const void* memory) const;

  // Waits for everything queued on this handle's stream. Its status is the first failure among the calls there that
  // returned before they were done, such as a label out of range, and each is told once.
  Status wait();
  // Of all streams together.
  Result<DeviceMemory> memory() const;
  // Gives memory that is held for reuse back to the driver, of every stream; waits for the device.
  Status trim();

  // Marks this point of the stream. What is queued here after wait(mark) begins when the mark is reached, on whatever
  // stream of this device it is; the caller does not wait. The time the device took from one mark to another waits for
  // both. Marks of another device are refused.
  Result<Mark> mark();
  Status wait(const Mark& mark);
  Result<double> seconds_between(const Mark& earlier, const Mark& later);

 private:
  friend class Door;  // every call's way to the machine
  struct Facts;
  Device(std::shared_ptr<const Facts> facts, std::shared_ptr<Machine> machine);
  Status usable() const;
  Status check_mark(const Mark& mark, std::string_view which) const;
  Result<Device> with(Result<std::shared_ptr<Machine>> machine) const;
  Result<Buffer> allocate(std::int64_t bytes, bool pinned);

  struct Facts {
    std::string name, description;
    int threads;
  };
  std::shared_ptr<const Facts> facts_;
  std::shared_ptr<Machine> machine_;
};

Result<Device> open(std::string_view name, const DeviceOptions& options = {});

// Instruction sets of the cpu device that this processor runs, best first; the last is the portable one.
std::vector<std::string> cpu_isas();
// The same with what multiplies the integers of the arithmetic block15, best first: "avx512+amx", "avx512+vnni",
// "avx512+plain". An instruction set without a word about it takes the best.
std::vector<std::string> cpu_integers();

}  // namespace tokitai
