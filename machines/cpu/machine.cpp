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
bool runs_vnni() { return runs_avx512() && __builtin_cpu_supports("avx512vnni"); }
bool runs_amx() { return runs_vnni() && has_tiles(); }
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

// Best first. Both belong to AVX-512.
struct Unit {
  const char* name;
  bool (*runs)();
  IntegerUnit unit;
};
constexpr Unit kUnits[] = {
#if defined(__x86_64__)
    {"amx", runs_amx, IntegerUnit::amx},
    {"vnni", runs_vnni, IntegerUnit::vnni},
#endif
    {"plain", runs_portable, IntegerUnit::plain},
};

// The best that runs beside an instruction set, or the one of that name; nullptr: there is none.
const Unit* unit_of(const Isa& isa, std::string_view name) {
  const bool wide = std::string_view(isa.name) == "avx512";
  const auto* found = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& unit) {
    return unit.runs() && (wide || unit.unit == IntegerUnit::plain) && (name.empty() || name == unit.name);
  });
  return found == std::end(kUnits) ? nullptr : found;
}

// Threads that live in one process. A fork has none of them: the first call there gets others. What its parent's were
// doing, and the locks and scratch memory they held, is never touched again.
class Crew {
 public:
  Crew(int threads, IntegerUnit unit) : unit_(unit), here_(new Here(threads, unit)) {}
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
    auto* mine = new Here(threads, unit_);
    const bool first = !left->home.here() && here_.compare_exchange_strong(left, mine);
    end(first ? left : mine);
    return here_.load()->pool;
  }

 private:
  struct Here {
    Here(int threads, IntegerUnit unit) : pool(threads, unit) {}
    const HomeProcess home;
    Pool pool;
  };
  static void end(Here* one) {
    if (one->home.here())
      delete one;
    else
      leave_as_it_is(std::shared_ptr<Here>(one));
  }
  const IntegerUnit unit_;
  std::atomic<Here*> here_;
};

class CpuMachine : public Machine, private JournalKeeper {
 public:
  CpuMachine(const Isa& isa, const Unit& unit, int threads)
      : isa_(isa), unit_(unit), threads_(threads), crew_(threads, unit.unit) {}

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
    const bool plain = unit_.unit == IntegerUnit::plain;
    return fmt::format("{}{}{}, {} thread{}", isa_.name, plain ? "" : " with ", plain ? "" : unit_.name, threads_,
                       threads_ == 1 ? "" : "s");
  }
  static Status no_threads(int threads) {
    return {Code::unavailable, fmt::format("the system does not give {} threads", threads)};
  }

 private:
  const Isa& isa_;
  const Unit& unit_;
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
  const std::string_view named = options.isa;
  const std::size_t plus = named.find('+');
  const std::string_view name = named.substr(0, plus);
  const std::string_view integers = plus == named.npos ? std::string_view() : named.substr(plus + 1);
  for (const Isa& isa : kIsas) {
    if (!isa.supported() || (!named.empty() && name != isa.name)) continue;
    const Unit* unit = plus != named.npos && integers.empty() ? nullptr : unit_of(isa, integers);
    if (unit == nullptr) continue;
    try {
      return std::shared_ptr<Machine>(std::make_shared<CpuMachine>(isa, *unit, std::min(threads, kMostThreads)));
    } catch (const std::exception&) {  // std::system_error or std::bad_alloc
      return CpuMachine::no_threads(threads);
    }
  }
  const bool known =
      std::any_of(std::begin(kIsas), std::end(kIsas), [&](const Isa& isa) { return name == isa.name; }) &&
      (plus == named.npos ||
       std::any_of(std::begin(kUnits), std::end(kUnits), [&](const Unit& unit) { return integers == unit.name; }));
  const std::string runs = fmt::format("{}; {}", fmt::join(cpu_isas(), ", "), fmt::join(cpu_integers(), ", "));
  if (known)
    return Status(Code::unavailable, fmt::format("this processor does not run {}; it runs {}", options.isa, runs));
  return Status::invalid(fmt::format("isa = {}; it must be one of {}", options.isa, runs));
}

}  // namespace cpu

std::vector<std::string> cpu_isas() {
  std::vector<std::string> names;
  for (const cpu::Isa& isa : cpu::kIsas)
    if (isa.supported()) names.emplace_back(isa.name);
  return names;
}

std::vector<std::string> cpu_integers() {
  std::vector<std::string> names;
  for (const cpu::Isa& isa : cpu::kIsas)
    if (isa.supported())
      for (const cpu::Unit& unit : cpu::kUnits)
        if (cpu::unit_of(isa, unit.name) != nullptr) names.push_back(fmt::format("{}+{}", isa.name, unit.name));
  return names;
}

}  // namespace tokitai
