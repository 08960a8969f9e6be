#include "reports/facts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/sha256.h"
#include "build_facts.h"

namespace tokitai::evidence {
namespace {

// "unknown" rather than nothing: a fact that is missing should be seen to be.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown";
}

}  // namespace

std::string library_version() { return TOKITAI_VERSION; }

BuildFacts build_facts() {
  static const auto digest = base::sha256_of_file("/proc/self/exe");  // the program does not change as it runs
  return {TOKITAI_COMPILER, TOKITAI_FLAGS, digest.ok() ? digest.value() : std::string(64, '0')};
}

MachineFacts machine_facts() {
  utsname name{};
  const std::string system =
      uname(&name) == 0 ? fmt::format("{} {} {}", name.sysname, name.release, name.machine) : "unknown";
  return {system, processor_name(), std::thread::hardware_concurrency()};
}

std::string time_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace tokitai::evidence
