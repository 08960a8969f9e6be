// Everything the host asks of a GPU driver, tried on a real one: driver_smoke [cuda:0]. Prints a line per promise and
// returns 1 if one does not hold. It ends by faulting on purpose: the device is then lost to this process only.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "machines/gpu/driver.h"
#include "machines/gpu/queue.h"
#include "machines/gpu/tests/smoke_kernels.h"

namespace tokitai::gpu {
namespace {

int failures = 0;

bool holds(std::string_view promise, bool held, const std::string& why = {}) {
  fmt::print("{}  {}{}{}\n", held ? "ok  " : "FAIL", promise, why.empty() ? "" : ": ", why);
  std::fflush(stdout);
  if (!held) ++failures;
  return held;
}
bool holds(std::string_view promise, const Status& status) { return holds(promise, status.ok(), status.message()); }

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Program {
 public:
  explicit Program(Queue& queue) : context_(queue.context()), queue_(queue) {}

  void memory() {
    auto first = queue_.allocate(1000);
    if (!holds("memory is allocated", first.status())) return;
    queue_.release(first.value());
    auto again = queue_.allocate(1024);
    holds("a block given back is handed out again", again.ok() && again->data == first->data);
    const auto used = context_.memory();
    holds("memory in use is counted", used.ok() && used->in_use >= 1024 && used->total > 0);
    auto absurd = queue_.allocate(std::int64_t{1} << 50);
    holds("a petabyte is refused", absurd.status().code() == Code::unavailable, absurd.status().message());
    queue_.release(again.value());
    holds("trim", context_.trim());
    holds("trim gives everything back", context_.memory()->cached == 0);
  }

  void copies() {
    for (const bool pinned : {false, true})
      for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{4095}, Staging::kSlotBytes,
                                       Staging::kSlotBytes + 1, 9 * Staging::kSlotBytes + 12345})
        holds(fmt::format("{} bytes of {} memory there and back", bytes, pinned ? "pinned" : "ordinary"),
              there_and_back(Rows::flat(bytes), pinned));
    holds("rows apart there and back", there_and_back({1000, 4090, 5000, 4500}, false));
    holds("rows apart, closer on the device", there_and_back({3000, 4096, 8192, 4096}, false));
    holds("rows larger than a slot",
          there_and_back({3, Staging::kSlotBytes + 77, Staging::kSlotBytes + 1000, Staging::kSlotBytes + 512}, false));
  }

  // The bytes between rows, on the host, must stay as they are.
  Status there_and_back(const Rows& rows, bool pinned) {
    const std::int64_t host_bytes = (rows.rows - 1) * rows.host_pitch + rows.bytes;
    const std::int64_t device_bytes = (rows.rows - 1) * rows.device_pitch + rows.bytes;
    auto block = OwnedBlock::make(queue_, device_bytes);
    if (!block.ok()) return block.status();
    std::vector<unsigned char> given(static_cast<std::size_t>(host_bytes)), ordinary(given.size(), 0xee);
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
    unsigned char* host = ordinary.data();
    if (pinned) {
      auto memory = context_.allocate_pinned(host_bytes);
      if (!memory.ok()) return memory.status();
      host = static_cast<unsigned char*>(memory.value());
    }
    std::memcpy(host, given.data(), given.size());
    Status status = queue_.copy_in(block->data(), host, rows, pinned);
    std::memset(host, 0xee, given.size());  // allowed as soon as copy_in returns
    if (status.ok()) status = queue_.copy_out(host, block->data(), rows, pinned);
    if (status.ok() && pinned) status = queue_.stream().wait();
    for (std::int64_t r = 0; r < rows.rows && status.ok(); ++r) {
      const auto at = static_cast<std::size_t>(r * rows.host_pitch), row = static_cast<std::size_t>(rows.bytes);
      if (std::memcmp(host + at, given.data() + at, row) != 0)
        status = Status(Code::check_failed, fmt::format("row {} differs", r));
      for (std::size_t i = at + row; i < at + static_cast<std::size_t>(rows.host_pitch) && i < given.size(); ++i)
        if (host[i] != 0xee) status = Status(Code::check_failed, fmt::format("padding after row {} was written", r));
    }
    if (pinned) context_.release_pinned(host);
    return status;
  }

  void places() {
    auto block = OwnedBlock::make(queue_, 4096);
    auto pinned = context_.allocate_pinned(4096);
    if (!holds("memory for places", block.ok() && pinned.ok())) return;
    const auto on_device = context_.place(block->data() + 100), on_host = context_.place(this),
               locked = context_.place(pinned.value());
    holds("device memory is known",
          on_device.ok() && on_device->kind == Place::device && on_device->owner == context_.facts().index &&
              on_device->begin <= block->data() && on_device->bytes >= 4096,
          on_device.ok() ? fmt::format("owner {}, range of {} bytes", on_device->owner, on_device->bytes)
                         : on_device.status().message());
    holds("ordinary memory is known", on_host.ok() && on_host->kind == Place::host, on_host.status().message());
    holds("pinned memory is known", locked.ok() && locked->kind == Place::pinned, locked.status().message());
    context_.release_pinned(pinned.value());
  }

  void kernels() {
    auto scale = context_.function("smoke", kSmokeModule, "smoke_scale");
    if (!holds("a module is loaded", scale.status())) return;
    holds("a second look finds the same kernel",
          context_.function("smoke", kSmokeModule, "smoke_scale").value() == scale.value());
    holds("a kernel that is not there", !context_.function("smoke", kSmokeModule, "absent").ok(),
          context_.function("smoke", kSmokeModule, "absent").status().message());
    const std::string broken = "no module at all";
    holds("a module that is none", !context_.function("broken", broken, "x").ok(),
          context_.function("broken", broken, "x").status().message());
    if (scale.value()->parameter_bytes() != 0)
      holds("arguments of the wrong size are refused",
            context_.launch(*scale.value(), {.grid = 1, .block = 32}, &failures, 4, queue_.stream()).code() ==
                Code::internal);
    holds("scaling", scaled(*scale.value(), 100003, {.grid = 32, .block = 256}, queue_.stream()));
    std::thread([&] {
      holds("scaling from another thread", scaled(*scale.value(), 777, {.grid = 3, .block = 64}, queue_.stream()));
    }).join();
    if (auto stream = context_.make_stream(); holds("another stream", stream.status()))
      holds("scaling on it", scaled(*scale.value(), 5000, {.grid = 4, .block = 128}, stream.value()));
  }

  Status scaled(Function& scale, std::int64_t n, const Grid& grid, Stream& stream) {
    const auto bytes = n * 4;
    auto in = OwnedBlock::make(queue_, bytes), out = OwnedBlock::make(queue_, bytes);
    if (!in.ok()) return in.status();
    if (!out.ok()) return out.status();
    std::vector<float> values(static_cast<std::size_t>(n)), found(values.size());
    std::iota(values.begin(), values.end(), 1.0f);
    if (Status s = queue_.copy_in(in->data(), values.data(), Rows::flat(bytes), false); !s.ok()) return s;
    auto there = context_.make_event(false), done = context_.make_event(false);
    if (!there.ok()) return there.status();
    if (Status s = there->record(queue_.stream()); !s.ok()) return s;
    if (Status s = there->hold(stream); !s.ok()) return s;
    const Smoke arguments{
        reinterpret_cast<float*>(in->data()), reinterpret_cast<float*>(out->data()), nullptr, n, 0.5f, 0};
    if (Status s = context_.launch(scale, grid, &arguments, sizeof(arguments), stream); !s.ok()) return s;
    if (Status s = done->record(stream); !s.ok()) return s;
    if (Status s = done->hold(queue_.stream()); !s.ok()) return s;
    if (Status s = queue_.copy_out(found.data(), out->data(), Rows::flat(bytes), false); !s.ok()) return s;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] != values[i] * 0.5f)
        return {Code::check_failed, fmt::format("[{}] is {}, not {}", i, found[i], values[i] * 0.5f)};
    return {};
  }

  void shared() {
    auto kernel = context_.function("smoke", kSmokeModule, "smoke_shared");
    auto block = OwnedBlock::make(queue_, 4096);
    if (!holds("a kernel with shared memory", kernel.ok() && block.ok())) return;
    auto* values = reinterpret_cast<float*>(block->data());
    std::vector<float> given(256), found(256);
    std::iota(given.begin(), given.end(), 0.0f);
    Status status = queue_.copy_in(values, given.data(), Rows::flat(1024), false);
    const int bytes = context_.facts().shared_per_block;
    const Smoke arguments{values, values + 256, nullptr, 0, 0, bytes / 4 - 1};
    if (status.ok())
      status = context_.launch(*kernel.value(), {.grid = 1, .block = 256, .shared_bytes = bytes}, &arguments,
                               sizeof(arguments), queue_.stream());
    if (status.ok()) status = queue_.copy_out(found.data(), values + 256, Rows::flat(1024), false);
    holds(fmt::format("all {} bytes of shared memory", bytes), status);
    holds("values went through it", found[0] == 255 && found[255] == 0);
    const Status more = context_.launch(*kernel.value(), {.grid = 1, .block = 256, .shared_bytes = bytes + 16},
                                        &arguments, sizeof(arguments), queue_.stream());
    holds("more than there is is refused", more.code() == Code::internal, more.message());
  }

  void together() {
    auto kernel = context_.function("smoke", kSmokeModule, "smoke_meet");
    if (!holds("a cooperative kernel", kernel.status()) || !context_.facts().cooperative) return;
    auto resident = context_.resident_blocks(*kernel.value(), 128, 1024);
    if (!holds("resident blocks are told", resident.status())) return;
    const int blocks = resident.value() * context_.facts().multiprocessors;
    auto memory = OwnedBlock::make(queue_, 256 + blocks * 4);
    if (!holds("memory for it", memory.status())) return;
    const Smoke arguments{
        nullptr, reinterpret_cast<float*>(memory->data() + 256), reinterpret_cast<unsigned*>(memory->data()), 0, 0, 0};
    std::vector<float> found(static_cast<std::size_t>(blocks));
    Status status = queue_.queue_fill(memory->data(), 0, 256);
    const Grid grid{.grid = blocks, .block = 128, .shared_bytes = 1024, .cooperative = true};
    if (status.ok()) status = context_.launch(*kernel.value(), grid, &arguments, sizeof(arguments), queue_.stream());
    if (status.ok()) status = queue_.copy_out(found.data(), memory->data() + 256, Rows::flat(blocks * 4), false);
    holds(fmt::format("{} blocks wait for each other", blocks), status);
    holds("all of them were there", found.front() == static_cast<float>(blocks) && found.back() == found.front());
    Grid large = grid;
    large.grid = blocks + 1;
    const Status refused = context_.launch(*kernel.value(), large, &arguments, sizeof(arguments), queue_.stream());
    holds("one block more is refused", !refused.ok() && !context_.lost(), refused.message());
  }

  void clusters() {
    if (!context_.facts().clusters) return;
    auto kernel = context_.function("smoke_cluster", kSmokeClusterModule, "smoke_cluster");
    if (!holds("a kernel for clusters", kernel.status())) return;
    for (const int size : {2, 4, 8, 16}) {
      auto resident = context_.resident_blocks(*kernel.value(), 256, 4096, size);
      if (!holds(fmt::format("clusters of {}: how many fit", size), resident.status())) continue;
      const int blocks = 3 * size;
      auto out = OwnedBlock::make(queue_, blocks * 4);
      const Smoke arguments{nullptr, reinterpret_cast<float*>(out->data()), nullptr, 0, 0, 0};
      std::vector<float> found(static_cast<std::size_t>(blocks));
      const Grid grid{.grid = blocks, .block = 256, .cluster = size, .shared_bytes = 4096};
      Status status = context_.launch(*kernel.value(), grid, &arguments, sizeof(arguments), queue_.stream());
      if (status.ok()) status = queue_.copy_out(found.data(), out->data(), Rows::flat(blocks * 4), false);
      for (int i = 0; i < blocks && status.ok(); ++i)
        if (found[static_cast<std::size_t>(i)] != static_cast<float>(i % size + 100 * size))
          status = Status(Code::check_failed, fmt::format("block {} says {}", i, found[static_cast<std::size_t>(i)]));
      holds(fmt::format("clusters of {} ({} fit at once)", size, resident.value()), status);
    }
  }

  void speed() {
    const std::int64_t bytes_copied = std::min(std::int64_t{1} << 30, context_.facts().memory_bytes / 4);
    auto from = OwnedBlock::make(queue_, bytes_copied), to = OwnedBlock::make(queue_, bytes_copied);
    auto begin = context_.make_event(true), end = context_.make_event(true);
    if (!holds("memory for timing", from.ok() && to.ok() && begin.ok() && end.ok())) return;
    Status status;
    for (int i = 0; i < 3 && status.ok(); ++i) status = queue_.queue_copy(to->data(), from->data(), bytes_copied);
    if (status.ok()) status = begin->record(queue_.stream());
    for (int i = 0; i < 10 && status.ok(); ++i) status = queue_.queue_copy(to->data(), from->data(), bytes_copied);
    if (status.ok()) status = end->record(queue_.stream());
    if (status.ok()) status = end->wait();
    const auto seconds = end->seconds_since(begin.value());
    if (holds("timing with events", status.ok() && seconds.ok() && seconds.value() > 0, status.message()))
      fmt::print("      copy on the device: {:.0f} GB/s read plus written\n",
                 20.0 * static_cast<double>(bytes_copied) / seconds.value() / 1e9);

    std::vector<std::byte> host(static_cast<std::size_t>(bytes_copied / 4));
    const auto bytes = static_cast<std::int64_t>(host.size());
    for (int i = 0; i < 2; ++i) {
      const auto start = Clock::now();
      status = queue_.copy_in(from->data(), host.data(), Rows::flat(bytes), false);
      if (status.ok()) status = queue_.stream().wait();
      const double in = seconds_since(start);
      const auto middle = Clock::now();
      if (status.ok()) status = queue_.copy_out(host.data(), from->data(), Rows::flat(bytes), false);
      if (i == 1 && holds(fmt::format("{} MiB in and out", bytes >> 20), status))
        fmt::print("      ordinary memory: in {:.1f} GB/s, out {:.1f} GB/s\n", static_cast<double>(bytes) / in / 1e9,
                   static_cast<double>(bytes) / seconds_since(middle) / 1e9);
    }

    auto scale = context_.function("smoke", kSmokeModule, "smoke_scale");
    const Smoke arguments{
        reinterpret_cast<float*>(from->data()), reinterpret_cast<float*>(to->data()), nullptr, 32, 1, 0};
    constexpr int kLaunches = 500;
    for (int i = 0; i < kLaunches; ++i)
      status =
          context_.launch(*scale.value(), {.grid = 1, .block = 32}, &arguments, sizeof(arguments), queue_.stream());
    status = queue_.stream().wait();
    const auto start = Clock::now();
    for (int i = 0; i < kLaunches && status.ok(); ++i)
      status =
          context_.launch(*scale.value(), {.grid = 1, .block = 32}, &arguments, sizeof(arguments), queue_.stream());
    const double each = seconds_since(start) / kLaunches;
    if (holds("launches", status)) fmt::print("      a launch returns after {:.2f} us\n", each * 1e6);
    status = queue_.stream().wait();
    const auto asked = Clock::now();
    for (int i = 0; i < kLaunches; ++i) static_cast<void>(context_.place(from->data() + i));
    fmt::print("      asking where memory lies: {:.2f} us\n", seconds_since(asked) / kLaunches * 1e6);
  }

  void fault() {
    auto kernel = context_.function("smoke", kSmokeModule, "smoke_fault");
    auto block = OwnedBlock::make(queue_, 4096);
    if (!holds("a kernel that faults", kernel.ok() && block.ok())) return;
    const Smoke arguments{nullptr, reinterpret_cast<float*>(block->data()), nullptr, 0, 0, 0};
    Status status =
        context_.launch(*kernel.value(), {.grid = 1, .block = 1}, &arguments, sizeof(arguments), queue_.stream());
    if (status.ok()) status = queue_.stream().wait();
    holds("an illegal address loses the device", status.code() == Code::internal && context_.lost(), status.message());
    std::byte here[16];
    holds("every later call says so",
          queue_.allocate(1 << 20).status().code() == Code::internal &&
              queue_.copy_out(here, block->data(), Rows::flat(16), false).code() == Code::internal &&
              queue_.stream().wait().code() == Code::internal && context_.trim().code() == Code::internal,
          queue_.stream().wait().message());
  }

 private:
  Context& context_;
  Queue& queue_;
};

int run(std::string_view name) {
  auto parsed = parse_name(name);
  if (!parsed.ok()) return holds("a device's name", parsed.status()) ? 0 : 2;
  auto driver = driver_of(parsed->vendor);
  if (!driver.ok()) {
    fmt::print("{}\n", driver.status().message());
    return 3;
  }
  const auto none = Context::open(*driver.value(), driver.value()->count());
  holds("a device that is not there", none.status().code() == Code::unavailable, none.status().message());
  auto context = Context::open(*driver.value(), parsed->index);
  if (!holds("the device opens", context.status())) return 1;
  const DeviceFacts& f = context.value()->facts();
  fmt::print(
      "      {} {}: {}, {} multiprocessors, {} MiB, L2 {} MiB, {} bytes of shared memory per block, warp {}, "
      "driver {}{}{}\n",
      name, f.name, f.architecture, f.multiprocessors, f.memory_bytes >> 20, f.l2_bytes >> 20, f.shared_per_block,
      f.warp, f.driver_version, f.cooperative ? ", cooperative launches" : "", f.clusters ? ", clusters" : "");
  auto stream = context.value()->make_stream();
  if (!holds("a stream", stream.status())) return 1;
  Queue queue(*context.value(), std::move(stream).value());
  Program program(queue);
  program.memory();
  program.copies();
  program.places();
  program.kernels();
  program.shared();
  program.together();
  program.clusters();
  program.speed();
  holds("nothing is left in use", context.value()->memory()->in_use == 0,
        fmt::format("{} bytes", context.value()->memory()->in_use));
  program.fault();
  fmt::print("\n{}\n", failures == 0 ? "all promises hold" : fmt::format("{} promises do not hold", failures));
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tokitai::gpu

int main(int argc, char** argv) { return tokitai::gpu::run(argc > 1 ? argv[1] : "cuda:0"); }
