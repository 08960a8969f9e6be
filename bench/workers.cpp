#include "bench/workers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/files.h"
#include "requests/frames.h"
#include "server/serve.h"
#include "tokitai/tokitai.h"

namespace tokitai::bench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double at_share(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * share)];
}

// Memory of this process. The system is asked for large pages, which a device's buffers get, or it is not.
class Own {
 public:
  Own(std::int64_t bytes, bool large) {
    constexpr std::size_t kLargePage = 2 << 20;
    const std::size_t whole = (static_cast<std::size_t>(bytes) + kLargePage - 1) / kLargePage * kLargePage;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kLargePage, whole)));
    if (data_ != nullptr && large) static_cast<void>(::madvise(data_.get(), whole, MADV_HUGEPAGE));
  }
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

// A model of one tensor, in the host's memory or in buffers of a device.
class Tensor {
 public:
  static Result<Tensor> make(std::int64_t n, Device* device, bool large = false) {
    Tensor tensor;
    for (const std::int64_t bytes : {2 * n, 4 * n, 4 * n, 2 * n}) {
      if (device == nullptr) {
        if (tensor.own_.emplace_back(bytes, large).data() == nullptr)
          return Status(Code::unavailable, fmt::format("no memory for {} bytes", bytes));
        continue;
      }
      auto buffer = device->allocate(bytes);
      if (!buffer.ok()) return buffer.status();
      tensor.buffers_.push_back(std::move(buffer).value());
    }
    tensor.view = {vector(static_cast<f16*>(tensor.at(0)), n), vector(static_cast<float*>(tensor.at(1)), n),
                   vector(static_cast<float*>(tensor.at(2)), n), vector(static_cast<f16*>(tensor.at(3)), n)};
    for (const std::size_t half : {0, 3})
      for (std::int64_t i = 0; i < n; ++i)
        static_cast<f16*>(tensor.at(half))[i].bits = static_cast<std::uint16_t>((i * 40503 + 7) % 0x3c00);
    for (const std::size_t single : {1, 2}) std::memset(tensor.at(single), 0, static_cast<std::size_t>(4 * n));
    return tensor;
  }
  void* at(std::size_t which) { return own_.empty() ? buffers_[which].data() : own_[which].data(); }
  bool same(Tensor& other, std::int64_t n) {
    for (std::size_t i = 0; i < 3; ++i)
      if (std::memcmp(at(i), other.at(i), static_cast<std::size_t>((i == 0 ? 2 : 4) * n)) != 0) return false;
    return true;
  }

  AdamwTensor view;

 private:
  std::vector<Own> own_;
  std::vector<Buffer> buffers_;
};

constexpr int kSteps = 8;  // at least, of each way; the first three are not counted

// The median time of a step, taken alternately with the in-process one so that both meet the same machine.
struct Way {
  std::function<Status(std::int64_t t)> step;
  std::vector<double> seconds = {};
  std::size_t steps = 0;
};
// For so long, or `rounds` times where that is not 0.
Status take_steps(std::vector<Way>& ways, double budget, std::size_t rounds = 0) {
  constexpr int kUncounted = 3;
  const auto begin = Clock::now();
  const auto goes_on = [&](std::size_t i) {
    if (rounds > 0) return i < rounds;
    return i < kSteps || (seconds_since(begin) < budget * static_cast<double>(ways.size()) && i < 1000);
  };
  for (std::size_t i = 0; goes_on(i); ++i)
    for (Way& way : ways) {
      const auto start = Clock::now();
      if (Status s = way.step(static_cast<std::int64_t>(i) + 1); !s.ok()) return s;
      way.seconds.push_back(seconds_since(start));
    }
  for (Way& way : ways) {
    way.steps = way.seconds.size();
    way.seconds.erase(way.seconds.begin(), way.seconds.begin() + kUncounted);
  }
  return {};
}

// `tokitai worker adamw --server`, which gets one text request a step.
Result<double> framed_text_step(const std::string& command, int threads, Tensor& tensor, std::int64_t n) {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
    return Status(Code::unavailable, "pipes for the framed text");
  base::Descriptor to_read(in[0]), to(in[1]), from(out[0]), from_write(out[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_read.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, from_write.get(), 1);
  std::vector<std::string> words = {command, "worker", "adamw", "--server", "--threads", fmt::format("{}", threads)};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  const int error = posix_spawn(&process, command.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Status(Code::unavailable, fmt::format("cannot run {}: {}", command, std::strerror(error)));
  to_read.close();
  from_write.close();

  const auto begin = Clock::now();
  std::string request = fmt::format("{} 0.001 0.9 0.999 1e-08 0.01 1\n", n);
  for (const std::size_t which : {0, 1, 2, 3}) {
    for (std::int64_t i = 0; i < n; ++i)
      if (which == 0 || which == 3)
        fmt::format_to(std::back_inserter(request), "{} ", static_cast<f16*>(tensor.at(which))[i].bits);
      else
        fmt::format_to(std::back_inserter(request), "{} ", static_cast<float*>(tensor.at(which))[i]);
    request += '\n';
  }
  bool sent = false;
  std::thread writer([&] {
    sent = requests::write_frame(to.get(), request);
    to.close();
  });
  const requests::Frame frame = requests::read_frame(from.get());
  const double taken = seconds_since(begin);
  writer.join();
  int how = 0;
  while (::waitpid(process, &how, 0) < 0 && errno == EINTR) {}
  if (!sent || frame.ended || how != 0 || frame.bytes.find("THETA=") == std::string::npos)
    return Status(Code::check_failed, fmt::format("the framed text was answered with '{:.200}'", frame.bytes));
  return taken;
}

Result<StepFigures> time_steps(const WorkerBench& how, std::int64_t n) {
  StepFigures figures;
  figures.elements = n;
  auto inner = open("cpu", {.threads = how.threads});
  auto worker = open("worker:cpu", {.threads = how.threads});
  if (!inner.ok()) return inner.status();
  if (!worker.ok()) return worker.status();
  std::vector<Tensor> tensors;
  for (const auto& [device, large] : std::initializer_list<std::pair<Device*, bool>>{
           {nullptr, true}, {nullptr, false}, {&worker.value(), false}, {nullptr, false}}) {
    auto tensor = Tensor::make(n, device, large);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(std::move(tensor).value());
  }
  const auto step_of = [&](Device& device, std::size_t which) {
    return [&, which](std::int64_t t) { return adamw_step(device, {.tensors = {&tensors[which].view, 1}, .t = t}); };
  };
  std::vector<Way> ways = {{step_of(inner.value(), 0)}, {step_of(worker.value(), 2)}};
  // Copies take long and leave a core idle, which whoever comes next profits from: so these are timed by themselves.
  std::vector<Way> others = {{step_of(inner.value(), 1)}, {step_of(worker.value(), 3)}};
  if (Status s = take_steps(ways, how.budget); !s.ok()) return s;
  if (Status s = take_steps(others, how.budget, ways[0].steps); !s.ok()) return s;
  for (const std::size_t other : {1, 2, 3})
    if (!tensors[0].same(tensors[other], n))
      return Status(Code::check_failed, "adamw.step: a worker's result differs from the in-process one");
  figures.in_process = at_share(ways[0].seconds, 0.5);
  figures.in_buffers = at_share(ways[1].seconds, 0.5);
  figures.small_pages = at_share(others[0].seconds, 0.5);
  figures.own_memory = at_share(others[1].seconds, 0.5);
  constexpr std::int64_t kMostAsText = 8 << 20;
  if (!how.command.empty() && n <= kMostAsText) {
    auto taken = framed_text_step(how.command, how.threads, tensors[0], n);
    if (!taken.ok()) return taken.status();
    figures.framed_text = taken.value();
  }
  return figures;
}

// A softmax over buffers of that device, made once.
class Softmax {
 public:
  static Result<Softmax> make(Device& device, std::int64_t rows, std::int64_t cols) {
    Softmax one;
    for (Buffer* buffer : {&one.x_, &one.y_}) {
      auto made = device.allocate(rows * cols * 2);
      if (!made.ok()) return made.status();
      *buffer = std::move(made).value();
      std::memset(buffer->data(), 0, static_cast<std::size_t>(rows * cols * 2));
    }
    one.rows_ = rows;
    one.cols_ = cols;
    return one;
  }
  Result<double> seconds(Device& device) {
    const auto begin = Clock::now();
    const Status s = softmax_forward(device, {.x = matrix(static_cast<f16*>(x_.data()), rows_, cols_),
                                              .y = matrix(static_cast<f16*>(y_.data()), rows_, cols_)});
    if (!s.ok()) return s;
    return seconds_since(begin);
  }

 private:
  Buffer x_, y_;
  std::int64_t rows_ = 0, cols_ = 0;
};

Result<double> median_small_call(Device& device, double budget) {
  auto call = Softmax::make(device, 1, 16);
  if (!call.ok()) return call.status();
  std::vector<double> seconds;
  const auto begin = Clock::now();
  while (seconds.size() < 100 || seconds_since(begin) < budget) {
    auto one = call->seconds(device);
    if (!one.ok()) return one.status();
    seconds.push_back(one.value());
  }
  return at_share(std::move(seconds), 0.5);
}

// A server in this process: its calls run in worker processes as those of any.
class Serving {
 public:
  static Result<std::unique_ptr<Serving>> make(int threads, const std::filesystem::path& socket) {
    server::ServeOptions options;
    options.socket = socket;
    options.device_options.threads = threads;
    auto server = server::Server::make(options);
    if (!server.ok()) return server.status();
    std::unique_ptr<Serving> serving(new Serving());
    serving->server_ = std::move(server).value();
    serving->thread_ = std::thread([one = serving->server_.get()] { static_cast<void>(one->run()); });
    return serving;
  }
  ~Serving() {
    server_->stop();
    thread_.join();
  }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  Serving() = default;
  std::unique_ptr<server::Server> server_;
  std::thread thread_;
};

Result<ClientFigures> time_clients(const std::string& name, int clients, double budget) {
  ClientFigures figures;
  figures.clients = clients;
  std::vector<Result<std::vector<double>>> all(static_cast<std::size_t>(clients), std::vector<double>());
  std::barrier ready(clients + 1);
  std::vector<std::thread> threads;
  for (auto& result : all)
    threads.emplace_back([&] {
      const auto work = [&](const std::function<void()>& wait) -> Result<std::vector<double>> {
        auto device = open(name, {.shared_bytes = 16 << 20});
        if (!device.ok()) return device.status();
        auto call = Softmax::make(device.value(), 64, 1024);
        if (!call.ok()) return call.status();
        if (auto first = call->seconds(device.value()); !first.ok()) return first.status();
        wait();
        std::vector<double> seconds;
        const auto begin = Clock::now();
        while (seconds_since(begin) < budget) {
          auto one = call->seconds(device.value());
          if (!one.ok()) return one.status();
          seconds.push_back(one.value());
        }
        return seconds;
      };
      bool waited = false;
      result = work([&] {
        waited = true;
        ready.arrive_and_wait();
      });
      if (!waited) ready.arrive_and_drop();
    });
  ready.arrive_and_wait();
  const auto begin = Clock::now();
  for (std::thread& thread : threads) thread.join();
  const double taken = seconds_since(begin);
  std::size_t calls = 0;
  for (const auto& result : all) {
    if (!result.ok()) return result.status();
    calls += result->size();
    const double p99 = at_share(result.value(), 0.99);
    figures.worst_p99 = std::max(figures.worst_p99, p99);
    figures.best_p99 = figures.best_p99 == 0 ? p99 : std::min(figures.best_p99, p99);
  }
  figures.calls_per_second = static_cast<double>(calls) / taken;
  return figures;
}

}  // namespace

Result<WorkerFigures> time_workers(const WorkerBench& how) {
  WorkerFigures figures;
  auto inner = open("cpu", {.threads = how.threads}), worker = open("worker:cpu", {.threads = how.threads});
  if (!inner.ok()) return inner.status();
  if (!worker.ok()) return worker.status();
  auto folder = base::TemporaryFolder::make();
  if (!folder.ok()) return folder.status();
  const std::filesystem::path socket = folder->path() / "socket";
  {
    auto serving = Serving::make(how.threads, socket);
    if (!serving.ok()) return serving.status();
    const std::string name = "unix:" + socket.string();
    auto client = open(name);
    if (!client.ok()) return client.status();
    how.say("the smallest call");
    for (const auto& [device, figure] : {std::pair{&inner.value(), &figures.small.in_process},
                                         {&worker.value(), &figures.small.worker},
                                         {&client.value(), &figures.small.server}}) {
      auto median = median_small_call(*device, how.budget);
      if (!median.ok()) return median.status();
      *figure = median.value();
    }
    for (const int clients : {1, 64}) {
      how.say(fmt::format("{} clients", clients));
      auto one = time_clients(name, clients, how.budget * 2);
      if (!one.ok()) return one.status();
      figures.clients.push_back(one.value());
    }
  }
  for (const std::int64_t n : how.elements) {
    how.say(fmt::format("adamw.step of {} elements", n));
    auto one = time_steps(how, n);
    if (!one.ok()) return one.status();
    figures.steps.push_back(one.value());
  }
  return figures;
}

}  // namespace tokitai::bench
