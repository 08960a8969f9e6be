#include "machines/gpu/stream.h"

#include "machines/gpu/context.h"

namespace tokitai::gpu {

Stream::~Stream() {
  if (!owned_) return;
  const Entered entered(context_->driver(), context_->handle());
  static_cast<void>(context_->driver().destroy_stream(handle_));
}
Status Stream::wait() {
  return context_->within("waiting for queued work", [&] { return context_->driver().wait_stream(handle_); });
}

Event::~Event() {
  if (handle_ == nullptr) return;
  const Entered entered(context_->driver(), context_->handle());
  static_cast<void>(context_->driver().destroy_event(handle_));
}
Status Event::record(Stream& stream) {
  return context_->within("marking a stream", [&] { return context_->driver().record(handle_, stream.handle()); });
}
Status Event::wait() {
  return context_->within("waiting for queued work", [&] { return context_->driver().wait_event(handle_); });
}
Status Event::hold(Stream& stream) {
  return context_->within("ordering streams", [&] { return context_->driver().stream_wait(stream.handle(), handle_); });
}
Result<double> Event::seconds_since(Event& earlier) {
  float milliseconds = 0;
  if (Status s = context_->within("timing",
                                  [&] { return context_->driver().elapsed(milliseconds, earlier.handle_, handle_); });
      !s.ok())
    return s;
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace tokitai::gpu
