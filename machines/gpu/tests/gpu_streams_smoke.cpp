// Several threads on several streams of a real GPU, in streams and memory of another library as well as our own,
// ordered by marks alone: gpu_streams_smoke [cuda:0]. Every output is compared with the cpu device's. Prints one line;
// exit 1 if a byte differs or a call fails, 3 without a GPU.
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "machines/gpu/driver.h"
#include "problems/instance.h"
#include "tokitai/tokitai.h"

namespace tokitai::gpu {
namespace {

using problems::Instance;

constexpr int kThreads = 6, kRounds = 30, kChain = 24;

std::atomic<std::int64_t> calls = 0, compared = 0, differing = 0;
std::mutex first_mutex;
std::string first;

bool good(const Status& status, std::string_view doing) {
  if (status.ok()) return true;
  const std::lock_guard lock(first_mutex);
  if (first.empty()) first = fmt::format("{}: {}", doing, status.message());
  return false;
}
bool good(bool held, std::string_view what) {
  return good(held ? Status() : Status(Code::check_failed, "it does not hold"), what);
}

// As another library of the process uses the driver: in the device's primary context.
class Library {
 public:
  Library(Driver& driver, int index) : driver_(driver), index_(index) {
    good(driver.retain(index, context_) == 0, "the primary context");
  }
  ~Library() {
    {
      const Entered entered(driver_, context_);
      for (void* stream : streams_) static_cast<void>(driver_.destroy_stream(stream));
      for (void* memory : memory_) static_cast<void>(driver_.free(memory));
    }
    driver_.release(index_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void* stream() {
    const Entered entered(driver_, context_);
    void* made = nullptr;
    good(driver_.create_stream(made) == 0, "a stream of the driver's");
    const std::lock_guard lock(mutex_);
    return streams_.emplace_back(made);
  }
  void* allocate(std::int64_t bytes) {
    const Entered entered(driver_, context_);
    void* made = nullptr;
    good(driver_.allocate(made, static_cast<std::size_t>(bytes)) == 0, "memory of the driver's");
    const std::lock_guard lock(mutex_);
    return memory_.emplace_back(made);
  }
  // Its own work on its own stream.
  void copy(void* to, const void* from, std::int64_t bytes, void* stream) {
    const Entered entered(driver_, context_);
    good(driver_.copy_on_device(to, from, static_cast<std::size_t>(bytes), stream) == 0, "a copy of the driver's");
  }

 private:
  Driver& driver_;
  int index_;
  void* context_ = nullptr;
  std::mutex mutex_;
  std::vector<void*> streams_, memory_;
};

// Where a problem's operands lie on the device: in the library's memory, or in buffers.
struct Memory {
  Library* library = nullptr;
  std::vector<Buffer> buffers = {};

  void* get(Device& device, std::int64_t bytes) {
    if (library != nullptr) return library->allocate(bytes);
    auto made = device.allocate(bytes);
    return good(made.status(), "a buffer") ? buffers.emplace_back(std::move(made).value()).data() : nullptr;
  }
};

struct Problem {
  Instance here;  // inputs, and what outputs were before
  Call right;     // the same, run on the cpu
  Instance right_memory;
  Call there = {};  // on the device

  static Problem make(const std::string& line) {
    const auto parsed = problems::parse_problems(line);
    Problem problem{Instance::make(parsed->front()).value(), {}, Instance::make(parsed->front()).value()};
    problem.right = problem.right_memory.call();
    Device cpu = open("cpu").value();
    good(cpu.run(problem.right), line);
    return problem;
  }
  template <class Work> void each(const Call& a, const Call& b, const Work& work) const {
    for (std::size_t i = 0; i < a.contract->operands.size(); ++i) {
      if (!a.contract->list && a.operands[i].elements() > 0) work(i, a.operands[i], b.operands[i]);
      for (std::size_t t = 0; t < a.list.size(); ++t)
        if (a.list[t][i].elements() > 0) work(i, a.list[t][i], b.list[t][i]);
    }
  }
  void place(Device& device, Memory& memory) {
    there = here.call();
    for (Operands& set : there.list)
      for (View& view : set)
        if (view.elements() > 0) view.data = memory.get(device, problems::extent_of(view));
    if (!there.contract->list)
      for (View& view : there.operands)
        if (view.elements() > 0) view.data = memory.get(device, problems::extent_of(view));
  }
  void upload(Device& device) const {
    each(there, here.call(), [&](std::size_t, const View& to, const View& from) {
      good(device.copy_in(to.data, from.data, problems::extent_of(to)), "copy_in");
    });
  }
  void compare(Device& device) const {
    each(there, right, [&](std::size_t, const View& found, const View& expected) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(problems::extent_of(found)));
      if (!good(device.copy_out(bytes.data(), found.data, problems::extent_of(found)), "copy_out")) return;
      const auto* wanted = static_cast<const std::byte*>(expected.data);
      for (std::size_t i = 0; i < bytes.size(); ++i) differing += bytes[i] != wanted[i] ? 1 : 0;
      compared += static_cast<std::int64_t>(bytes.size());
    });
  }
  bool run(Device& device) const {
    Call call = there;
    ++calls;
    return good(device.run(call), call.contract->name);
  }
};

const char* const kLines[] = {
    "layernorm.backward rows=2049 cols=1000 type=f16",
    "softmax.forward rows=1000 cols=4099 type=bf16",
    "cross_entropy.forward_backward rows=700 cols=5000 type=f16 reduction=mean master=yes",
    "adamw.step n=5+0+300+70000*3 t=3 type=f16 skip_nonfinite=1 master=yes",
    "embedding.backward vocab=900 dim=300 queries=5000 type=f16 spread=zipf",
    "layernorm.forward rows=2000 cols=3000 type=f16",
};

// Each thread on streams of its own, the driver's and ours in turns, round after round without waiting for the device.
void crew(const Device& device, Library& library, std::vector<Problem>& problems) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const bool theirs = t % 2 == 0;
      auto opened = theirs ? device.on(library.stream()) : device.on_new_stream();
      if (!good(opened.status(), "a stream")) return;
      Device& mine = opened.value();
      Memory memory{theirs ? &library : nullptr};
      std::vector<Problem*> own;
      for (std::size_t p = static_cast<std::size_t>(t); p < problems.size(); p += kThreads) own.push_back(&problems[p]);
      for (Problem* problem : own) problem->place(mine, memory);
      for (int round = 0; round < kRounds; ++round)
        for (Problem* problem : own) {
          problem->upload(mine);
          if (!problem->run(mine)) return;
        }
      good(mine.wait(), "wait");
      for (Problem* problem : own) problem->compare(mine);
    });
  for (std::thread& thread : threads) thread.join();
}

// A chain through all kinds of streams, each link over what the one before wrote; only marks order them.
void chain(const Device& device, Library& library) {
  std::vector<Device> streams = {device, device.on(library.stream()).value(), device.on_new_stream().value(),
                                 device.on(nullptr).value()};
  const std::int64_t rows = 3000, cols = 2000, bytes = rows * cols * 4;
  std::vector<float> x(static_cast<std::size_t>(rows * cols)), y(x.size()), found(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1000) * 0.01f;
  const std::vector<float> given = x;
  Device cpu = open("cpu").value();
  for (int i = 0; i < kChain; ++i) {
    good(softmax_forward(cpu, {.x = matrix(x.data(), rows, cols), .y = matrix(y.data(), rows, cols)}), "softmax");
    std::swap(x, y);
  }
  auto* from = static_cast<float*>(library.allocate(bytes));
  good(streams[0].copy_in(from, given.data(), bytes), "copy_in");
  std::vector<Buffer> going;
  for (int i = 0; i < kChain; ++i) {
    Device& before = streams[static_cast<std::size_t>(i) % 4];
    Device& next = streams[static_cast<std::size_t>(i + 1) % 4];
    auto mark = before.mark();
    if (!good(mark.status(), "a mark") || !good(next.wait(mark.value()), "wait for a mark")) return;
    auto made = next.allocate(bytes);
    if (!good(made.status(), "a buffer")) return;
    auto* to = static_cast<float*>(made->data());
    ++calls;
    if (!good(softmax_forward(next, {.x = matrix(from, rows, cols), .y = matrix(to, rows, cols)}), "softmax")) return;
    from = to;
    // A buffer goes while the next stream still reads it: its memory must not come back too early.
    going.push_back(std::move(made).value());
    if (going.size() > 2) going.erase(going.begin());
  }
  good(streams[kChain % 4].copy_out(found.data(), from, bytes), "copy_out");
  compared += bytes;
  for (std::size_t i = 0; i < found.size(); ++i) differing += std::memcmp(&found[i], &x[i], 4) != 0 ? 4 : 0;
}

// A refusal is told on its stream and on no other.
void refusals(const Device& device) {
  Device one = device.on_new_stream().value(), two = device.on_new_stream().value();
  Problem right = Problem::make("cross_entropy.forward_backward rows=9 cols=30 type=f16"),
          wrong = Problem::make("cross_entropy.forward_backward rows=9 cols=30 type=f16");
  Memory memory;
  right.place(one, memory);
  wrong.place(two, memory);
  right.upload(one);
  wrong.upload(two);
  const std::int64_t label = 77;
  good(two.copy_in(static_cast<std::int64_t*>(wrong.there.operands[1].data) + 4, &label, 8), "copy_in");
  for (int i = 0; i < 1200; ++i)
    if (!right.run(one) || !wrong.run(two)) return;
  good(one.wait(), "the stream without a refusal");
  good(two.wait().code() == Code::invalid, "a refusal on its stream");
  right.compare(one);
}

int run(std::string_view name) {
  auto parsed = parse_name(name);
  auto driver = parsed.ok() ? driver_of(parsed->vendor) : Result<Driver*>(parsed.status());
  auto opened = driver.ok() ? open(name) : Result<Device>(driver.status());
  if (!opened.ok()) {
    fmt::print("{}\n", opened.status().message());
    return 3;
  }
  {
    Library library(*driver.value(), parsed->index);
    std::vector<Problem> problems;
    for (int copies = 0; copies < 2; ++copies)
      for (const char* line : kLines) problems.push_back(Problem::make(line));
    crew(opened.value(), library, problems);
    chain(opened.value(), library);
    refusals(opened.value());
    Device other = opened.value().on(library.stream()).value();
    good(other.wait(), "the last wait");
    good(opened->wait(), "the last wait");
  }
  const bool held = first.empty() && differing == 0 && compared > 0;
  fmt::print("{} {}: {} calls on several streams from {} threads, {} bytes compared with cpu, {} differ{}{}\n",
             held ? "ok" : "FAIL", name, calls.load(), kThreads, compared.load(), differing.load(),
             first.empty() ? "" : "; ", first);
  return held ? 0 : 1;
}

}  // namespace
}  // namespace tokitai::gpu

int main(int argc, char** argv) { return tokitai::gpu::run(argc > 1 ? argv[1] : "cuda:0"); }
