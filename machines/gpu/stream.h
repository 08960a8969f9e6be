// Streams and events of one GPU: queues of work, and points in them.
#pragma once
#include <utility>

#include "tokitai/status.h"

namespace tokitai::gpu {

class Context;

// A queue of work. Work on different streams is ordered only through events.
class Stream {
 public:
  // Owned: destroyed with this. Else it is the caller's, and null is a stream too: the driver's default one.
  Stream(Context& context, void* handle, bool owned) : context_(&context), handle_(handle), owned_(owned) {}
  ~Stream();
  Stream(Stream&& other) noexcept
      : context_(other.context_), handle_(other.handle_), owned_(std::exchange(other.owned_, false)) {}
  Stream& operator=(Stream&&) = delete;
  void* handle() const { return handle_; }
  bool owned() const { return owned_; }
  Status wait();

 private:
  Context* context_;
  void* handle_;
  bool owned_;
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

}  // namespace tokitai::gpu
