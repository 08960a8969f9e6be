// Calls on one stream: plans them, has their kernels compiled and queues them. What a call needs beside its operands
// (workspace, tables of lists, flags and counters, launches that are remembered, answers that come late) is the
// stream's own; one call at a time is queued on a stream.
#pragma once
#include <memory>
#include <mutex>

#include "machines/gpu/control.h"
#include "machines/gpu/kernels.h"
#include "machines/gpu/memo.h"
#include "machines/gpu/queue.h"

namespace tokitai::gpu {

class Gpu;

class Runner {
 public:
  Runner(Gpu& gpu, Stream stream);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Without an outcome it may return before the call is done, and what is found wrong later comes from wait().
  Status run(const Call& call, Outcome* outcome);
  Status wait();
  Queue& queue() { return queue_; }

 private:
  Result<Prepared*> prepared_for(const Call& call, std::unique_ptr<Prepared>& transient);
  Result<std::unique_ptr<Prepared>> prepare(const Call& call);
  Result<Grid> grid_of(const device::Launch& launch, Function& function);
  Status put_table(Prepared& prepared);
  Status launch(Prepared& prepared, const Control::Slot& slot);
  Status launch_mapped(Prepared::Step& step, const device::Arguments& arguments);

  Gpu& gpu_;
  Context& context_;
  Queue queue_;
  std::mutex mutex_;
  Control control_;
  Memo memo_;
};

}  // namespace tokitai::gpu
