// The streams of the fake driver: queues of work that is done only when somebody waits, in every order that they and
// their events allow. What counts on an order that nobody asked for is found by its bits.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <vector>

namespace tokitai::gpu::fake {

using Lock = std::unique_lock<std::mutex>;

struct Stream;
struct Event {
  Stream* stream = nullptr;
  long recorded = 0, reached = 0;
  std::chrono::steady_clock::time_point when;
};
struct Item {
  std::function<void()> work = {};
  bool outside = false;  // done without the lock: it may take long, or call the driver
  std::shared_ptr<Event> event = {};
  long mark = 0;  // of the event: where there is no work, what comes after waits for it
  bool waits() const { return !work; }
  bool ready() const { return !waits() || event->reached >= mark; }
};
struct Stream {
  int device = 0;
  std::uint64_t number = 0;
  bool recording = false, busy = false;  // busy: its first item is being done
  std::deque<Item> work = {};
};

class Streams {
 public:
  std::mutex mutex;
  int error = 0;  // sticky

  Stream* add(int device) {
    auto* made = new Stream{.device = device, .number = ++numbers_};
    all_.insert(made);
    return made;
  }
  bool has(const Stream* stream) const { return all_.contains(const_cast<Stream*>(stream)); }
  void remove(Stream* stream, Lock& lock) {
    finish(stream, lock);
    all_.erase(stream);
    delete stream;
  }
  void schedule(unsigned seed) {
    any_order_ = seed != 0;
    draw_.seed(seed);
  }

  // Until all of its work, or of every stream's (null), is done.
  void finish(const Stream* stream, Lock& lock) {
    advance(lock, stream, [&] {
      for (const Stream* one : all_)
        if ((stream == nullptr || one == stream) && (one->busy || !one->work.empty())) return false;
      return true;
    });
  }
  void reach(const std::shared_ptr<Event>& event, Lock& lock) {
    const long mark = event->recorded;
    advance(lock, event->stream, [&] { return event->reached >= mark; });
  }

 private:
  template <class Done> void advance(Lock& lock, const Stream* wanted, const Done& done) {
    while (error == 0 && !done()) {
      Stream* next = any_order_ ? drawn() : needed(wanted);
      if (next == nullptr || next->busy)
        changed_.wait(lock);  // another thread does it
      else
        do_first(*next, lock);
    }
    if (error != 0)
      for (Stream* one : all_)
        if (!one->busy) one->work.clear();
  }
  Stream* needed(const Stream* wanted) {
    auto* stream = const_cast<Stream*>(wanted);
    for (Stream* one : all_)
      if (stream == nullptr && (one->busy || !one->work.empty())) stream = one;
    while (!stream->busy && !stream->work.front().ready()) stream = stream->work.front().event->stream;
    return stream;
  }
  Stream* drawn() {
    std::vector<Stream*> ready;
    for (Stream* one : all_)
      if (!one->busy && !one->work.empty() && one->work.front().ready()) ready.push_back(one);
    return ready.empty() ? nullptr : ready[draw_() % ready.size()];
  }
  void do_first(Stream& stream, Lock& lock) {
    const Item item = std::move(stream.work.front());
    stream.work.pop_front();
    if (item.waits()) return;
    if (!item.outside) return item.work();
    stream.busy = true;
    lock.unlock();
    item.work();
    lock.lock();
    stream.busy = false;
    changed_.notify_all();
  }

  std::condition_variable changed_;
  std::set<Stream*> all_;
  std::uint64_t numbers_ = 0;
  bool any_order_ = false;
  std::minstd_rand draw_;
};

}  // namespace tokitai::gpu::fake
