// What a machine implements, and devices ask of it (runtime/device.cpp). What it leaves out is as on the host: memory
// is the host's, and a call is done when it returns (machine.cpp).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/process.h"
#include "tokitai/device.h"

namespace tokitai {

class JournalKeeper;  // journal_keeper.h

class Machine {
 public:
  Machine() = default;
  virtual ~Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The call has passed its contract's check. The floating-point mode is the default one.
  virtual Status run(const Call& call, Outcome& outcome) = 0;
  // The same where nobody asks for the outcome: may return before the call is done, and what is found wrong later
  // comes from wait().
  virtual Status queue(const Call& call);
  virtual int threads() const { return 1; }
  virtual std::string description() const = 0;
  // Scratch memory held between calls, in bytes.
  virtual std::int64_t scratch_bytes() const { return 0; }
  // The most scratch memory a checked call takes, without copies of operands.
  virtual Result<std::int64_t> workspace(const Call& call) const;
  // Has the kernels of checked calls compiled; machines without a compiler have nothing to do.
  virtual Status compile_ahead(const std::vector<Call>& calls, const CompileProgress& progress);
  // How long the kernels of a checked call took to compile when they were, which may be long ago.
  virtual Result<double> compile_seconds(const Call& call);
  virtual AccessChecks access_checks() const { return {}; }
  // Kernels compiled at run time and loaded since the device was opened.
  virtual std::vector<KernelFacts> kernels() const { return {}; }
  // Null: it keeps no journal of calls over lists.
  virtual JournalKeeper* journal_keeper() { return nullptr; }

  // Whether it works in a fork of the process that made it. Where it does not, none of its other functions is called
  // there, not even its destructor, but this one when it would go: it closes what the fork has of the parent's.
  virtual bool survives_fork() const { return false; }
  virtual void leave_fork() {}
  bool usable_here() const { return home_.here() || survives_fork(); }

  // Sizes and pointers have been checked for nonsense. See Device for the meaning of each.
  virtual Result<void*> allocate(std::int64_t bytes);
  virtual void release(void* memory, std::int64_t bytes);
  virtual Result<void*> allocate_pinned(std::int64_t bytes);
  virtual void release_pinned(void* memory, std::int64_t bytes);
  virtual Status copy_in(void* device, const void* host, std::int64_t bytes);
  virtual Status copy_out(void* host, const void* device, std::int64_t bytes);
  virtual Status copy(void* to, const void* from, std::int64_t bytes);
  virtual Result<bool> holds(const void*) { return false; }
  virtual Status wait();
  virtual Result<DeviceMemory> memory();
  virtual Status trim();

  // The same for all streams of one device, whose marks are of one kind.
  virtual const void* device() const { return this; }
  // Null: a device without streams. Its calls are done when they return, so whatever order is asked for holds.
  virtual Result<std::shared_ptr<Machine>> on(void*) { return std::shared_ptr<Machine>(); }
  virtual Result<std::shared_ptr<Machine>> on_new_stream() { return std::shared_ptr<Machine>(); }
  virtual Status wait_for(void*) { return {}; }
  virtual Result<void*> mark();
  virtual void release_mark(void* mark);
  virtual Result<double> seconds_between(void* earlier, void* later);

 private:
  const HomeProcess home_;
  std::atomic<std::int64_t> host_bytes_ = 0;
};

}  // namespace tokitai
