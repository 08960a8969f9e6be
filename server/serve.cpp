#include "server/serve.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "server/arena.h"
#include "server/connection.h"
#include "server/socket.h"

namespace tokitai::server {
namespace {

constexpr std::uint64_t kListener = 0, kFinished = 1, kStop = 2, kFirstConnection = 16;
constexpr double kCallSeconds = 600;

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

class SocketServer : public Server {
 public:
  SocketServer(const ServeOptions& options, Listener listener, Descriptor epoll, Descriptor finished, Descriptor stop)
      : options_(options),
        most_connections_(options.connections),
        listener_(std::move(listener)),
        epoll_(std::move(epoll)),
        finished_(std::move(finished)),
        stop_(std::move(stop)) {}

  Status start() {
    for (const auto& [descriptor, number] :
         {std::pair{listener_.descriptor(), kListener}, {finished_.get(), kFinished}, {stop_.get(), kStop}})
      if (!watch(descriptor, number, EPOLLIN, EPOLL_CTL_ADD)) return failed("watching");
    // A client takes a connection, its memory and the pipe that shows who holds it.
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
      most_connections_ =
          std::clamp<std::int64_t>((static_cast<std::int64_t>(files.rlim_cur) - 64) / 3, 1, most_connections_);
    auto program = worker_program();
    if (!program.ok()) return program.status();
    auto crew = Crew::make(Hello{options_.device, options_.device_options, 0}, program.value(), options_.workers,
                           [this] { signal(finished_); });
    if (!crew.ok()) return crew.status();
    crew_ = std::move(crew).value();
    return {};
  }

  Status run() override {
    while (!draining_ || !connections_.empty()) {
      std::array<epoll_event, 64> events{};
      const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), milliseconds_left());
      if (count < 0 && errno != EINTR) return failed("epoll_wait");
      for (int i = 0; i < count; ++i) handle(events[static_cast<std::size_t>(i)]);
      expire();
    }
    crew_->leave();
    return {};
  }

  void stop() override { signal(stop_); }

 private:
  using Doing = Connection::Doing;

  static Status failed(std::string_view what) {
    return {Code::unavailable, fmt::format("the server: {}: {}", what, std::strerror(errno))};
  }
  static void signal(const Descriptor& event) {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(event.get(), &one, sizeof one));
  }
  static std::uint64_t drain(const Descriptor& event) {
    std::uint64_t count = 0;
    return ::read(event.get(), &count, sizeof count) == sizeof count ? count : 0;
  }
  bool watch(int descriptor, std::uint64_t number, std::uint32_t events, int how) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = number;
    return ::epoll_ctl(epoll_.get(), how, descriptor, &event) == 0;
  }
  Connection* find(std::uint64_t number) {
    const auto one = connections_.find(number);
    return one == connections_.end() ? nullptr : one->second.get();
  }

  void handle(const epoll_event& event) {
    if (event.data.u64 == kListener) return accept_some();
    if (event.data.u64 == kFinished) return answer_finished();
    if (event.data.u64 == kStop) return leave(drain(stop_));
    Connection* one = find(event.data.u64);
    if (one == nullptr) return;  // closed by an earlier event
    if ((event.events & EPOLLOUT) != 0 && !send_some(*one)) return;
    if (one->doing == Doing::waiting) {
      // Its next message stays in the socket. One that is gone is not worked for.
      if ((event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) return close(*one);
      if ((event.events & EPOLLIN) != 0) want(*one, one->events & ~std::uint32_t{EPOLLIN});
    } else if ((event.events & EPOLLIN) != 0) {
      read_some(*one);
    } else if ((event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
      close(*one);
    }
  }

  // Deadlines, in the order in which they come.
  int milliseconds_left() const {
    if (deadlines_.empty()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadlines_.begin()->first - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
  }
  void set_deadline(Connection& one, Clock::time_point deadline) {
    if (one.deadline != kNoDeadline) deadlines_.erase({one.deadline, one.number});
    one.deadline = deadline;
    if (deadline != kNoDeadline) deadlines_.insert({deadline, one.number});
  }
  Clock::time_point a_message_from_now() const { return Clock::now() + nanoseconds(options_.message_seconds); }
  void expire() {
    while (!deadlines_.empty() && deadlines_.begin()->first <= Clock::now()) {
      const std::uint64_t number = deadlines_.begin()->second;
      if (number == kStop) {
        deadlines_.erase(deadlines_.begin());
        leave_now();
        continue;
      }
      Connection& one = *find(number);
      if (one.doing == Doing::waiting) {
        late(one);
      } else {
        dismiss(one, one.doing == Doing::greeting ? "it said nothing complete in time" : "a message took too long");
      }
    }
  }
  void late(Connection& one) {
    if (!crew_->withdraw(one.number)) return set_deadline(one, kNoDeadline);  // its worker has a deadline of its own
    ++state_.calls_late;
    const Status status(Code::unavailable,
                        fmt::format("the call waited {:.3f} s for its turn, which is its deadline",
                                    std::chrono::duration<double>(Clock::now() - one.arrived).count()));
    answer(one, one.question.kind == Kind::call ? encode(Reply{status, {}}) : encode(BytesNeeded{status, 0}), false);
  }

  // New connections: taken, or told why not.
  void accept_some() {
    constexpr int kAtOnce = 64;
    for (int i = 0; i < kAtOnce; ++i) {
      Descriptor socket(::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        // Out of descriptors: one that is kept for this takes the connection, so that it can be told.
        if (errno != EMFILE && errno != ENFILE) return;
        spare_.close();
        socket = Descriptor(::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        refuse(socket, "the server has no descriptors left");
        socket.close();
        spare_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
        continue;
      }
      if (Status s = check_peer(socket.get()); !s.ok()) {
        refuse(socket, s.message());
      } else if (static_cast<std::int64_t>(connections_.size()) >= most_connections_) {
        refuse(socket, fmt::format("the server has {} connections, which is its limit", connections_.size()));
      } else {
        take(std::move(socket));
      }
    }
  }
  void refuse(const Descriptor& socket, const std::string& why) {
    ++state_.connections_refused;
    if (socket) static_cast<void>(send_goodbye(socket.get(), why));
  }
  static bool send_goodbye(int socket, const std::string& why) {
    const std::string body = encode(Status(Code::unavailable, why));
    const auto header = encode(Header{Kind::goodbye, static_cast<std::uint32_t>(body.size()), 0});
    const std::string bytes = std::string(header.data(), header.size()) + body;
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(bytes.size());
  }
  void take(Descriptor socket) {
    auto one = std::make_unique<Connection>(next_number_++, std::move(socket),
                                            static_cast<std::uint32_t>(options_.message_bytes));
    one->events = EPOLLIN | EPOLLRDHUP;
    if (!watch(one->socket.get(), one->number, one->events, EPOLL_CTL_ADD))
      return refuse(one->socket, "the server cannot watch more connections");
    ++state_.connections_taken;
    set_deadline(*one, a_message_from_now());
    connections_.emplace(one->number, std::move(one));
  }

  void want(Connection& one, std::uint32_t events) {
    if (one.events != events && watch(one.socket.get(), one.number, events, EPOLL_CTL_MOD)) one.events = events;
  }
  // Closes a connection, with the reason where there is room for it.
  void dismiss(Connection& one, const std::string& why) {
    if (one.out.empty()) static_cast<void>(send_goodbye(one.socket.get(), why));
    close(one);
  }
  void close(Connection& one) {
    if (one.doing == Doing::waiting) static_cast<void>(crew_->withdraw(one.number));
    set_deadline(one, kNoDeadline);
    if (one.memory != nullptr) {
      crew_->forget(one.memory->number);
      state_.mapped_bytes -= one.memory->bytes;
      --state_.clients;
    }
    const std::int64_t granted = std::exchange(one.granted, 0);
    connections_.erase(one.number);
    release(granted);
  }

  // Memory of messages: whoever finds none left waits, and is read on when others are done.
  bool grant(Connection& one) {
    const std::int64_t bytes = one.inbox.length();
    if (granted_ + bytes > options_.waiting_bytes) return false;
    granted_ += bytes;
    one.granted = bytes;
    one.inbox.grant();
    return true;
  }
  void release(std::int64_t bytes) {
    granted_ -= bytes;
    while (!thirsty_.empty()) {
      Connection* one = find(thirsty_.front());
      if (one != nullptr && !grant(*one)) return;
      thirsty_.pop_front();
      if (one == nullptr) continue;
      set_deadline(*one, a_message_from_now());
      want(*one, one->events | EPOLLIN);
    }
  }

  void read_some(Connection& one) {
    for (;;) {
      if (one.inbox.complete()) return handle_message(one);
      if (one.inbox.asks() && !grant(one)) {
        set_deadline(one, kNoDeadline);
        want(one, one.events & ~std::uint32_t{EPOLLIN});
        thirsty_.push_back(one.number);
        return;
      }
      const std::span<char> room = one.inbox.room();
      if (room.empty()) continue;  // a body of no bytes
      const bool had_begun = one.inbox.begun();
      const ssize_t count = receive_some(one.socket.get(), room.data(), room.size(), &one.descriptors);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) return close(one);
      if (!had_begun && one.doing == Doing::listening) set_deadline(one, a_message_from_now());
      if (Status s = one.inbox.took(static_cast<std::size_t>(count)); !s.ok()) return dismiss(one, s.message());
    }
  }

  void handle_message(Connection& one) {
    Message message = one.inbox.take();
    std::vector<Descriptor> descriptors = std::exchange(one.descriptors, {});
    const Kind kind = message.header.kind;
    one.question = message.header;
    if (kind == Kind::inquiry) return tell_state(one);
    if (kind == Kind::hello && one.doing == Doing::greeting) return greet(one, message, std::move(descriptors));
    if ((kind == Kind::call || kind == Kind::workspace) && one.doing == Doing::listening)
      return take_call(one, std::move(message));
    dismiss(one, fmt::format("a message of kind {}, which makes no sense here", static_cast<int>(kind)));
  }
  // Its message was taken and its answer sent, or as much of it as the socket holds.
  void done_reading(Connection& one) {
    release(std::exchange(one.granted, 0));
    if (one.doing == Doing::listening) set_deadline(one, one.out.empty() ? kNoDeadline : a_message_from_now());
  }

  void greet(Connection& one, const Message& message, std::vector<Descriptor> descriptors) {
    auto hello = decode_hello(message.body);
    Welcome welcome = crew_->welcome();
    welcome.status = hello.ok() ? check_hello(hello.value(), descriptors) : hello.status();
    if (!welcome.status.ok()) {
      if (send(one, Kind::welcome, encode(welcome))) close(one);
      return;
    }
    auto memory = std::make_shared<ClientMemory>();
    memory->number = next_memory_++;
    memory->bytes = hello->shared_bytes;
    memory->descriptors = std::move(descriptors);
    one.memory = std::move(memory);
    state_.mapped_bytes += hello->shared_bytes;
    ++state_.clients;
    const double most = options_.device_options.call_seconds;
    one.time = nanoseconds(hello->options.call_seconds > 0 ? std::min(most, hello->options.call_seconds) : most);
    one.doing = Doing::listening;
    if (send(one, Kind::welcome, encode(welcome))) done_reading(one);
  }
  Status check_hello(const Hello& hello, const std::vector<Descriptor>& descriptors) const {
    if (!hello.device.empty() && hello.device != options_.device)
      return Status::invalid(fmt::format("device '{}'; this server has {}", hello.device, options_.device));
    if (hello.options.threads != 0 || hello.options.plan != 0 || !hello.options.isa.empty())
      return Status::invalid("threads, plan and instruction set are the server's own; they must be 0, 0 and empty");
    if (!(hello.options.call_seconds >= 0 && hello.options.call_seconds < 1e9))
      return Status::invalid(fmt::format("call seconds {}; they must be in [0, 1e9)", hello.options.call_seconds));
    if (hello.shared_bytes <= 0 || hello.shared_bytes > options_.mapped_bytes - state_.mapped_bytes)
      return Status(hello.shared_bytes <= 0 ? Code::invalid : Code::unavailable,
                    fmt::format("shared memory of {} bytes; the server maps {} of at most {}", hello.shared_bytes,
                                state_.mapped_bytes, options_.mapped_bytes));
    return check_shared(descriptors.empty() ? -1 : descriptors[0].get(), hello.shared_bytes);
  }

  void take_call(Connection& one, Message message) {
    one.arrived = Clock::now();
    one.doing = Doing::waiting;
    if (message.body.size() < kMemoryBytes) return dismiss(one, "a call that is cut short");
    if (auto memory = memory_of_call(message.body); memory.value() != 0)
      return dismiss(one, fmt::format("a call in memory {}; a client has one, number 0", memory.value()));
    set_memory_of_call(message.body, one.memory->number);
    set_deadline(one, one.arrived + one.time);
    crew_->add({one.number, message.header.kind, std::move(message.body), one.memory, one.time});
  }
  void answer_finished() {
    drain(finished_);
    for (Finished& finished : crew_->take_finished()) {
      Connection* one = find(finished.client);
      if (one == nullptr || one->doing != Doing::waiting) continue;
      latencies_.add(Clock::now() - one->arrived);
      answer(*one, finished.body, finished.good);
    }
  }
  void answer(Connection& one, const std::string& body, bool good) {
    ++(good ? state_.calls : state_.calls_failed);
    one.doing = Doing::listening;
    if (!send(one, one.question.kind == Kind::call ? Kind::answer : Kind::bytes_needed, body)) return;
    done_reading(one);
    if (one.out.empty()) want(one, one.events | EPOLLIN);
  }

  void tell_state(Connection& one) {
    ServerState state = state_;
    state.device = options_.device;
    state.uptime_seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - started_).count();
    state.connections = static_cast<std::int64_t>(connections_.size());
    const Crew::Counts counts = crew_->counts();
    state.queued = counts.queued;
    state.running = counts.running;
    state.restarts = counts.restarts;
    state.workers = options_.workers;
    latencies_.fill(state);
    if (send(one, Kind::state, encode(state))) done_reading(one);
  }

  // False: the connection is gone. What the client does not read yet is kept, and it must read it in time: see
  // done_reading().
  bool send(Connection& one, Kind kind, const std::string& body) {
    const auto header = encode(Header{kind, static_cast<std::uint32_t>(body.size()), one.question.sequence});
    one.out.append(header.data(), header.size());
    one.out += body;
    return send_some(one);
  }
  bool send_some(Connection& one) {
    while (!one.out.empty()) {
      const ssize_t count = ::send(one.socket.get(), one.out.data(), one.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) {
        one.out.erase(0, static_cast<std::size_t>(count));
      } else if (count < 0 && errno == EAGAIN) {
        // Nothing more is read until it has read this.
        want(one, EPOLLOUT | EPOLLRDHUP);
        return true;
      } else if (count == 0 || errno != EINTR) {
        close(one);
        return false;
      }
    }
    if (draining_) {
      dismiss(one, "the server is shutting down");
      return false;
    }
    if ((one.events & EPOLLOUT) != 0) {
      want(one, EPOLLIN | EPOLLRDHUP);
      if (one.doing == Doing::listening && !one.inbox.begun()) set_deadline(one, kNoDeadline);
    }
    return true;
  }

  // Told to stop: calls that wait or run are answered, everything else is told goodbye.
  void leave(std::uint64_t times) {
    if (draining_ || times > 1) return leave_now();
    draining_ = true;
    listener_.close();
    deadlines_.insert({Clock::now() + nanoseconds(options_.drain_seconds), kStop});
    dismiss_all("the server is shutting down", false);
  }
  void leave_now() {
    draining_ = true;
    listener_.close();
    crew_->leave();
    dismiss_all("the server is shutting down and does not wait for this call", true);
  }
  void dismiss_all(const std::string& why, bool waiting_too) {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, one] : connections_)
      if (waiting_too || one->doing != Doing::waiting) numbers.push_back(number);
    for (const std::uint64_t number : numbers)
      if (Connection* one = find(number)) dismiss(*one, why);
  }

  const ServeOptions options_;
  std::int64_t most_connections_;
  Listener listener_;
  Descriptor epoll_, finished_, stop_, spare_{::eventfd(0, EFD_CLOEXEC)};
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::set<std::pair<Clock::time_point, std::uint64_t>> deadlines_;
  std::deque<std::uint64_t> thirsty_;  // connections whose message waits for memory
  std::int64_t granted_ = 0;
  std::uint64_t next_number_ = kFirstConnection;
  std::uint32_t next_memory_ = 1;
  bool draining_ = false;
  ServerState state_;
  Latencies latencies_;
  const Clock::time_point started_ = Clock::now();
  std::unique_ptr<Crew> crew_;  // its threads use what is above
};

Status check_options(const ServeOptions& options) {
  const auto range = [](std::string_view name, double value, double least, double most) {
    return value >= least && value <= most
               ? Status()
               : Status::invalid(fmt::format("{} = {}; it must be in [{}, {}]", name, value, least, most));
  };
  if (options.device.starts_with("worker:") || options.device.starts_with("unix:"))
    return Status::invalid(
        fmt::format("device '{}'; a server's calls run in worker processes already", options.device));
  for (const Status& s : {range("workers", options.workers, 1, 64),
                          range("connections", static_cast<double>(options.connections), 1, 1e6),
                          range("message bytes", static_cast<double>(options.message_bytes), 4096, kMostBody),
                          range("waiting bytes", static_cast<double>(options.waiting_bytes),
                                static_cast<double>(options.message_bytes), 1e15),
                          range("mapped bytes", static_cast<double>(options.mapped_bytes), kPage, 1e15),
                          range("call seconds", options.device_options.call_seconds, 0, 1e9),
                          range("message seconds", options.message_seconds, 0.01, 1e6),
                          range("drain seconds", options.drain_seconds, 0, 1e6)})
    if (!s.ok()) return s;
  return {};
}

}  // namespace

Result<std::unique_ptr<Server>> Server::make(const ServeOptions& options) {
  if (Status s = check_options(options); !s.ok()) return s;
  ServeOptions filled = options;
  if (filled.device_options.call_seconds == 0) filled.device_options.call_seconds = kCallSeconds;
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC)), finished(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll || !finished || !stop)
    return Status(Code::unavailable, fmt::format("the server's descriptors: {}", std::strerror(errno)));
  auto listener = Listener::make(options.socket);
  if (!listener.ok()) return listener.status();
  try {
    auto server = std::make_unique<SocketServer>(filled, std::move(listener).value(), std::move(epoll),
                                                 std::move(finished), std::move(stop));
    if (Status s = server->start(); !s.ok()) return s;
    return std::unique_ptr<Server>(std::move(server));
  } catch (const std::exception& problem) {  // std::system_error or std::bad_alloc
    return Status(Code::unavailable, fmt::format("the server: {}", problem.what()));
  }
}

Result<ServerState> ask_state(const std::filesystem::path& socket, double seconds) {
  const auto deadline = Clock::now() + nanoseconds(seconds);
  auto connected = connect_to(socket, deadline);
  if (!connected.ok()) return connected.status();
  Channel channel(std::move(connected).value());
  static_cast<void>(channel.send(Kind::inquiry, 1, "", deadline));  // one that refuses us has said goodbye
  auto message = channel.receive(deadline);
  if (!message.ok())
    return Status(Code::unavailable, fmt::format("the server at {}: {}", socket.string(), message.status().message()));
  if (message->header.kind == Kind::goodbye)
    if (auto told = decode_told(message->body); told.ok())
      return Status(Code::unavailable, fmt::format("the server at {}: {}", socket.string(), told->status.message()));
  if (message->header.kind != Kind::state)
    return Status(Code::unavailable, fmt::format("the server at {} answers with a message of kind {}", socket.string(),
                                                 static_cast<int>(message->header.kind)));
  return decode_state(message->body);
}

}  // namespace tokitai::server
