#include "machines/lockstep/fibers.h"

#include <sys/mman.h>

#include <new>
#include <utility>

#if defined(TK_FIBER_ASAN)
#include <sanitizer/common_interface_defs.h>
#elif defined(TK_FIBER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace tokitai::lockstep {
namespace {

#if defined(TK_FIBER_ASAN)
constexpr std::size_t kStack = 512 << 10;  // sanitized frames are several times as large
#else
constexpr std::size_t kStack = 128 << 10;
#endif
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPerSlab = 64;
// The kernel allows 65530 mappings per process and a guard page makes two; past this many stacks go without.
constexpr std::size_t kGuarded = 16384;

struct Stacks {
  boost::context::stack_context taken;
  boost::context::stack_context allocate() const { return taken; }
  void deallocate(boost::context::stack_context& stack) const { StackPool::of_this_thread().give(stack); }
};

}  // namespace

StackPool::~StackPool() {
  for (const Slab& slab : slabs_) munmap(slab.memory, slab.bytes);
}

StackPool& StackPool::of_this_thread() {
  thread_local StackPool pool;
  return pool;
}

boost::context::stack_context StackPool::take() {
  if (free_.empty()) {
    constexpr std::size_t kBytes = kPerSlab * kStack;
    void* memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    slabs_.push_back({memory, kBytes});
    for (std::size_t i = kPerSlab; i-- > 0; ++made_) {
      char* bottom = static_cast<char*>(memory) + i * kStack;
      if (made_ < kGuarded) mprotect(bottom, kPage, PROT_NONE);
      // Tops at one distance modulo a page would all fall into the same few lines of the cache.
      const std::size_t shift = made_ % 16 * 256;
      boost::context::stack_context stack;
      stack.size = kStack - kPage - shift;
      stack.sp = bottom + kPage + stack.size;
      free_.push_back(stack);
    }
  }
  const boost::context::stack_context stack = free_.back();
  free_.pop_back();
  return stack;
}

void Fiber::start(Body body, void* argument) {
  body_ = body;
  argument_ = argument;
  abandoned_ = false;
  const boost::context::stack_context stack = StackPool::of_this_thread().take();
#if defined(TK_FIBER_ASAN)
  size_ = stack.size;
  bottom_ = static_cast<char*>(stack.sp) - stack.size;
#elif defined(TK_FIBER_TSAN)
  // Making a context enters it once: on its own shadow stack, too.
  tsan_ = __tsan_create_fiber(0);
  scheduler_tsan_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_, 0);
#endif
  context_ = boost::context::fiber(std::allocator_arg, Stacks{stack}, [this](boost::context::fiber&& scheduler) {
    scheduler_ = std::move(scheduler);
#if defined(TK_FIBER_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_bottom_, &scheduler_size_);
#endif
    try {
      if (!abandoned_) body_(argument_);
    } catch (const Abandoned&) {  // NOLINT(bugprone-empty-catch): thrown to unwind the fiber's stack, no more
    }
#if defined(TK_FIBER_ASAN)
    __sanitizer_start_switch_fiber(nullptr, scheduler_bottom_, scheduler_size_);
#elif defined(TK_FIBER_TSAN)
    __tsan_switch_to_fiber(scheduler_tsan_, 0);
#endif
    return std::move(scheduler_);
  });
#if defined(TK_FIBER_TSAN)
  __tsan_switch_to_fiber(scheduler_tsan_, 0);
#endif
}

void Fiber::resume() {
#if defined(TK_FIBER_ASAN)
  __sanitizer_start_switch_fiber(&scheduler_fake_, bottom_, size_);
#elif defined(TK_FIBER_TSAN)
  scheduler_tsan_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_, 0);
#endif
  context_ = std::move(context_).resume();
#if defined(TK_FIBER_ASAN)
  __sanitizer_finish_switch_fiber(scheduler_fake_, nullptr, nullptr);
#elif defined(TK_FIBER_TSAN)
  if (!context_) __tsan_destroy_fiber(tsan_);
#endif
}

void Fiber::suspend() {
#if defined(TK_FIBER_ASAN)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, scheduler_bottom_, scheduler_size_);
#elif defined(TK_FIBER_TSAN)
  __tsan_switch_to_fiber(scheduler_tsan_, 0);
#endif
  scheduler_ = std::move(scheduler_).resume();
#if defined(TK_FIBER_ASAN)
  __sanitizer_finish_switch_fiber(fake, &scheduler_bottom_, &scheduler_size_);
#endif
  if (abandoned_) throw Abandoned{};
}

void Fiber::abandon() {
  abandoned_ = true;
  while (alive()) resume();
}

}  // namespace tokitai::lockstep
