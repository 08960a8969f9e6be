// One stack and context per GPU thread, on Boost.Context. Every switch goes through resume and suspend, so the
// sanitizers can be told of it.
#pragma once
#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <memory>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define TK_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TK_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TK_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TK_FIBER_TSAN 1
#endif
#endif

namespace tokitai::lockstep {

// Stacks are kept for the next block and the next launch.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();
  boost::context::stack_context take();
  void give(boost::context::stack_context stack) { free_.push_back(stack); }
  static StackPool& of_this_thread();

 private:
  struct Slab {
    void* memory;
    std::size_t bytes;
  };
  std::vector<Slab> slabs_;
  std::vector<boost::context::stack_context> free_;
  std::size_t made_ = 0;
};

// What is thrown through a thread that will never go on.
struct Abandoned {};

// A thread of execution that the scheduler resumes and that suspends itself.
class Fiber {
 public:
  using Body = void (*)(void*);
  void start(Body body, void* argument);
  void resume();   // by the scheduler; returns when the fiber suspends or ends
  void suspend();  // by the fiber itself; throws Abandoned if it was given up meanwhile
  void abandon();  // by the scheduler: unwinds the stack
  bool alive() const { return static_cast<bool>(context_); }

 private:
  boost::context::fiber context_, scheduler_;
  Body body_ = nullptr;
  void* argument_ = nullptr;
  bool abandoned_ = false;
#if defined(TK_FIBER_ASAN)
  const void* bottom_ = nullptr;
  const void* scheduler_bottom_ = nullptr;
  std::size_t size_ = 0, scheduler_size_ = 0;
  void* scheduler_fake_ = nullptr;
#elif defined(TK_FIBER_TSAN)
  void* tsan_ = nullptr;
  void* scheduler_tsan_ = nullptr;
#endif
};

}  // namespace tokitai::lockstep
