// A GPU as its streams share it: the context, the kernels, callers' buffers, and for each stream of a caller's what
// calls on it need. Only loading a kernel is done by one stream at a time.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "machines/gpu/buffers.h"
#include "machines/gpu/kernels.h"
#include "machines/gpu/runner.h"

namespace tokitai::gpu {

class Gpu {
 public:
  Gpu(std::unique_ptr<Context> context, const compiler::Target& target, int variant)
      : context_(std::move(context)),
        machinery_{target, context_->facts().multiprocessors, variant},
        kernels_(*context_, target) {}

  Context& context() { return *context_; }
  const device::Machinery& machinery() const { return machinery_; }
  Kernels& kernels() { return kernels_; }
  Buffers& buffers() { return buffers_; }

  // On a stream of its own, which goes with it.
  Result<std::shared_ptr<Runner>> on_new_stream();
  // On a caller's stream: the same for the same one. It is kept when nobody holds it, because who asks for each call
  // anew would else pay for it each time.
  Result<std::shared_ptr<Runner>> on(void* stream);
  // Gives cached memory back, and what was kept for streams that nobody holds.
  Status trim();

 private:
  using Borrowed = std::map<std::pair<void*, std::uint64_t>, std::shared_ptr<Runner>>;  // by handle and number
  static constexpr std::size_t kMostBorrowed = 64;                                      // frameworks have pools of 32
  Borrowed take_idle();

  const std::unique_ptr<Context> context_;
  const device::Machinery machinery_;
  Kernels kernels_;
  Buffers buffers_;
  std::mutex mutex_;
  Borrowed borrowed_;
};

}  // namespace tokitai::gpu
