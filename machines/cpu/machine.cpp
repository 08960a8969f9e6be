// Chooses the instruction set and threads. Built for the baseline processor.
#include "machines/cpu/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <system_error>
#include <thread>

#include "contract/registry.h"
#include "machines/cpu/pool.h"
#include "runtime/answer.h"
#include "runtime/journal_keeper.h"
#include "runtime/machine.h"

namespace tokitai {

namespace cpu {
namespace {

constexpr int kMostThreads = 1024;

struct Isa {
  const char* name;
  bool (*runs)();
  bool supported() const {  // by this processor, and by the build
    const auto all = operators();
    return runs() &&
           std::any_of(all.begin(), all.end(), [&](const Operator* one) { return one->cpu_kernel(name) != nullptr; });
  }
};

#if defined(__x86_64__)
bool runs_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
}
bool runs_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
         __builtin_cpu_supports("bmi2");
}
#endif
bool runs_portable() { return true; }

// Best first.
constexpr Isa kIsas[] = {
#if defined(__x86_64__)
    {"avx512", runs_avx512},
    {"avx2", runs_avx2},
#endif
    {"portable", runs_portable},
};

// Threads that live in one process. A fork has none of them: the first call there gets others. What its parent's were
// doing, and the locks and scratch memory they held, is never touched again.
class Crew {
 public:
  explicit Crew(int threads) : here_(new Here(threads)) {}
  ~Crew() { end(here_.load()); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // nullptr in a fork where nobody has called yet.
  Pool* started() const {
    Here* here = here_.load(std::memory_order_acquire);
    return here->home.here() ? &here->pool : nullptr;
  }
  // std::system_error where the system does not give that many threads.
  Pool& pool(int threads) {
    if (Pool* there = started()) [[likely]]
      return *there;
    // Without a lock, which a fork of the fork would find held: where two begin at once, one of them is first.
    Here* left = here_.load();
    auto* mine = new Here(threads);
    const bool first = !left->home.here() && here_.compare_exchange_strong(left, mine);
    end(first ? left : mine);
    return here_.load()->pool;
  }

 private:
  struct Here {
    explicit Here(int threads) : pool(threads) {}
    const HomeProcess home;
    Pool pool;
  };
  static void end(Here* one) {
    if (one->home.here())
      delete one;
    else
      leave_as_it_is(std::shared_ptr<Here>(one));
  }
  std::atomic<Here*> here_;
};

class CpuMachine : public Machine, private JournalKeeper {
 public:
  CpuMachine(const Isa& isa, int threads) : isa_(isa), threads_(threads), crew_(threads) {}

  Status run(const Call& call, Outcome& outcome) override { return run_behind(nullptr, call, outcome); }
  Status run_behind(std::byte* journal, const Call& call, Outcome& outcome) override {
    const Operator* found = find_operator(*call.contract);
    Kernel kernel = found != nullptr ? found->cpu_kernel(isa_.name) : nullptr;
    if (kernel == nullptr && found != nullptr && found->late != nullptr) {
      auto late = found->late->cpu(found->contract->name, isa_.name);
      if (!late.ok()) return late.status();
      kernel = late.value();
    }
    if (kernel == nullptr) return no_kernel(call, "cpu");
    try {
      Pool& pool = crew_.pool(threads_);
      const auto held = pool.acquire();
      return status_of(call, kernel(call, pool, journal), outcome);
    } catch (const std::system_error&) {
      return no_threads(threads_);
    }
  }
  JournalKeeper* journal_keeper() override { return this; }
  bool survives_fork() const override { return true; }
  int threads() const override { return threads_; }
  std::int64_t scratch_bytes() const override {
    const Pool* pool = crew_.started();
    return pool != nullptr ? pool->scratch_bytes() : 0;
  }
  std::string description() const override {
    return fmt::format("{}, {} thread{}", isa_.name, threads_, threads_ == 1 ? "" : "s");
  }
  static Status no_threads(int threads) {
    return {Code::unavailable, fmt::format("the system does not give {} threads", threads)};
  }

 private:
  const Isa& isa_;
  const int threads_;
  Crew crew_;
};

}  // namespace

Result<std::shared_ptr<Machine>> make_machine(const DeviceOptions& options) {
  if (options.threads < 0 || options.threads > kMostThreads)
    return Status::invalid(
        fmt::format("threads = {}; it must be in [0, {}] (0: one per core)", options.threads, kMostThreads));
  const int threads =
      options.threads > 0 ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (const Isa& isa : kIsas) {
    if (!isa.supported() || (!options.isa.empty() && options.isa != isa.name)) continue;
    try {
      return std::shared_ptr<Machine>(std::make_shared<CpuMachine>(isa, std::min(threads, kMostThreads)));
    } catch (const std::exception&) {  // std::system_error or std::bad_alloc
      return CpuMachine::no_threads(threads);
    }
  }
  for (const Isa& isa : kIsas)
    if (options.isa == isa.name)
      return Status(Code::unavailable,
                    fmt::format("this processor does not run {}; it runs {}", isa.name, fmt::join(cpu_isas(), ", ")));
  return Status::invalid(fmt::format("isa = {}; it must be one of {}", options.isa, fmt::join(cpu_isas(), ", ")));
}

}  // namespace cpu

std::vector<std::string> cpu_isas() {
  std::vector<std::string> names;
  for (const cpu::Isa& isa : cpu::kIsas)
    if (isa.supported()) names.emplace_back(isa.name);
  return names;
}

}  // namespace tokitai
