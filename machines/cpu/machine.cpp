// Chooses the instruction set and threads, and keeps the kernels' tables. Built for the baseline processor.
#include "machines/cpu/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <thread>

#include "machines/cpu/pool.h"
#include "runtime/kernel_table.h"

namespace tokitai {

// cpu_kernels.inc lists every (instruction set, operator folder) that the build made kernels for.
#define TK_CPU_KERNELS(isa, family)                              \
  namespace family {                                             \
  std::span<const NamedKernel<cpu::Kernel>> cpu_kernels_##isa(); \
  }
#include "cpu_kernels.inc"
#undef TK_CPU_KERNELS

namespace cpu {
namespace {

constexpr int kMostThreads = 1024;

using Tables = std::vector<std::span<const NamedKernel<Kernel>>>;

struct BuiltKernels {
  std::string_view isa;
  std::span<const NamedKernel<Kernel>> (*table)();
};
constexpr BuiltKernels kBuilt[] = {
#define TK_CPU_KERNELS(isa, family) {#isa, family::cpu_kernels_##isa},
#include "cpu_kernels.inc"
#undef TK_CPU_KERNELS
};

Tables tables_of(std::string_view isa) {
  Tables tables;
  for (const BuiltKernels& built : kBuilt)
    if (built.isa == isa) tables.push_back(built.table());
  return tables;
}

struct Isa {
  const char* name;
  bool (*runs)();
  bool supported() const { return runs() && !tables_of(name).empty(); }
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

class CpuMachine : public Machine {
 public:
  CpuMachine(const Isa& isa, int threads) : isa_(isa), tables_(tables_of(isa.name)), pool_(threads) {}

  Status run(const Call& call, Outcome& outcome) override {
    const Kernel kernel = find_kernel<Kernel>(tables_, call);
    if (kernel == nullptr) return no_kernel(call, "cpu");
    const auto held = pool_.acquire();
    return status_of(call, kernel(call, pool_), outcome);
  }
  bool keeps_journal() const override { return true; }
  int threads() const override { return pool_.threads(); }
  std::int64_t scratch_bytes() const override { return pool_.scratch_bytes(); }
  std::string description() const override {
    return fmt::format("{}, {} thread{}", isa_.name, pool_.threads(), pool_.threads() == 1 ? "" : "s");
  }

 private:
  const Isa& isa_;
  Tables tables_;
  Pool pool_;
};

}  // namespace

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const Isa& isa : kIsas)
    if (isa.supported()) names.emplace_back(isa.name);
  return names;
}

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
      return Status(Code::unavailable, fmt::format("the system does not give {} threads", threads));
    }
  }
  for (const Isa& isa : kIsas)
    if (options.isa == isa.name)
      return Status(Code::unavailable, fmt::format("this processor does not run {}; it runs {}", isa.name,
                                                   fmt::join(supported_isas(), ", ")));
  return Status::invalid(fmt::format("isa = {}; it must be one of {}", options.isa, fmt::join(supported_isas(), ", ")));
}

}  // namespace cpu
}  // namespace tokitai
