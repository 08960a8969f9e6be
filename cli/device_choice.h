// The options that choose a device, the same for every subcommand that runs operators.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "tokitai/device.h"

namespace tokitai::cli {

struct DeviceChoice {
  std::string device = "cpu";
  std::string threads;  // empty: one per core
  std::string isa;      // empty: the best the processor runs

  void add_to(CLI::App& command);
  bool on_gpu() const;
  // --threads and --isa, where the device takes them.
  Result<DeviceOptions> options() const;
  Result<Device> open() const;
};

}  // namespace tokitai::cli
