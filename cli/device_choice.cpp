// Threads are read as text and parsed strictly, so that a message can show what was written.
#include "cli/device_choice.h"

#include <fmt/format.h>

#include <charconv>

#include "machines/gpu/driver.h"

namespace tokitai::cli {

void DeviceChoice::add_to(CLI::App& command) {
  command.add_option("--device", device, "Device to run on (default cpu; see tokitai devices)")->type_name("DEVICE");
  command.add_option("--threads", threads, "Threads of the cpu device (default 0: one per core)")->type_name("N");
  command.add_option("--isa", isa, "Instruction set of the cpu device (default the best one), e.g. avx2, avx512+vnni")
      ->type_name("ISA");
}

bool DeviceChoice::on_gpu() const { return gpu::names_gpu(device); }

Result<DeviceOptions> DeviceChoice::options() const {
  if (device != "cpu" && device != "worker:cpu" && !(threads.empty() && isa.empty()))
    return Status::invalid(fmt::format("--threads and --isa belong to the cpu device, not to '{}'", device));
  DeviceOptions options;
  options.isa = isa;
  if (!threads.empty()) {
    const char* end = threads.data() + threads.size();
    const auto [stop, error] = std::from_chars(threads.data(), end, options.threads);
    if (error != std::errc() || stop != end)
      return Status::invalid(fmt::format("threads = {}; it must be an integer >= 0 (0: one per core)", threads));
  }
  return options;
}

Result<Device> DeviceChoice::open() const {
  auto chosen = options();
  if (!chosen.ok()) return chosen.status();
  return tokitai::open(device, chosen.value());
}

}  // namespace tokitai::cli
