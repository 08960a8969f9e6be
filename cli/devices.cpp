// `tokitai devices`: what operators can run on here, and why not on what is missing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/table.h"
#include "compiler/compiler.h"
#include "machines/gpu/driver.h"
#include "machines/gpu/kernels.h"
#include "tokitai/device.h"

namespace tokitai::cli {
namespace {

constexpr const char* kHosts[] = {"reference", "cpu", "lockstep"};

struct Vendor {
  const char* prefix;
  compiler::Vendor compiler;
};
constexpr Vendor kVendors[] = {{"cuda", compiler::Vendor::nvidia}, {"amd", compiler::Vendor::amd}};

struct Listing {
  Table hosts{{"device", "threads", "instruction sets", "description"}};
  Table gpus{{"device", "name", "architecture", "target", "memory", "driver", "compiler"}};
  std::vector<std::string> absent;  // sentences
  bool any_gpu = false, any_amd = false;
  Json json = Json::array();
};

void add_absent(Listing& listing, const std::string& name, const std::string& reason) {
  listing.absent.push_back(fmt::format("{}: {}", name, reason));
  listing.json.push_back({{"name", name}, {"available", false}, {"reason", reason}});
}

Status add_hosts(Listing& listing) {
  for (const std::string_view name : kHosts) {
    auto device = open(name);
    if (!device.ok()) return device.status();
    if (name == "lockstep")
      if (const auto compiler = compiler::toolchain(compiler::Vendor::host); !compiler.ok()) {
        add_absent(listing, "lockstep", compiler.status().message());
        continue;
      }
    const auto isas = name == "cpu" ? cpu_isas() : std::vector<std::string>{};
    listing.hosts.add({std::string(name), fmt::format("{}", device->threads()),
                       isas.empty() ? "-" : fmt::format("{}", fmt::join(isas, ", ")), device->description()});
    listing.json.push_back({{"name", name},
                            {"available", true},
                            {"threads", device->threads()},
                            {"isas", isas},
                            {"description", device->description()}});
  }
  return {};
}

void add_gpu(Listing& listing, gpu::Driver& driver, int index, const Result<compiler::Toolchain>& toolchain) {
  const std::string name = fmt::format("{}:{}", driver.prefix(), index);
  auto facts = driver.facts(index);
  if (!facts.ok()) return add_absent(listing, name, facts.status().message());
  auto target = gpu::target_of(driver, facts.value());
  if (!target.ok()) return add_absent(listing, name, target.status().message());
  listing.any_gpu = true;
  listing.any_amd |= driver.prefix() == "amd";
  // The identity ends with a digest, which is for the cache.
  const std::string compiler = toolchain.ok() ? toolchain->identity : "none: " + toolchain.status().message();
  listing.gpus.add({name, facts->name, facts->architecture, std::string(target->name),
                    fmt::format("{:.0f} GiB", static_cast<double>(facts->memory_bytes) / (1 << 30)),
                    facts->driver_version, compiler.substr(0, 48)});
  Json entry = {{"name", name},
                {"available", toolchain.ok()},
                {"model", facts->name},
                {"architecture", facts->architecture},
                {"target", target->name},
                {"multiprocessors", facts->multiprocessors},
                {"memory_bytes", facts->memory_bytes},
                {"l2_bytes", facts->l2_bytes},
                {"shared_bytes_per_block", facts->shared_per_block},
                {"clusters", facts->clusters},
                {"driver", facts->driver_version}};
  if (toolchain.ok()) entry["compiler"] = {{"identity", toolchain->identity}, {"path", toolchain->path}};
  if (!toolchain.ok()) entry["reason"] = toolchain.status().message();
  listing.json.push_back(entry);
}

void add_gpus(Listing& listing) {
  for (const Vendor& vendor : kVendors) {
    auto driver = gpu::driver_of(vendor.prefix);
    if (!driver.ok()) {
      add_absent(listing, vendor.prefix, driver.status().message());
      continue;
    }
    const auto toolchain = compiler::toolchain(vendor.compiler);
    for (int i = 0; i < driver.value()->count(); ++i) add_gpu(listing, *driver.value(), i, toolchain);
  }
}

Status list(bool json) {
  Listing listing;
  if (Status s = add_hosts(listing); !s.ok()) return s;
  add_gpus(listing);
  if (json) {
    print_json(listing.json);
    return {};
  }
  fmt::print("{}", listing.hosts.text());
  if (listing.any_gpu) fmt::print("\n{}", listing.gpus.text());
  if (listing.any_amd) fmt::print("\nTokitai's AMD code has been compiled and audited, never run on AMD hardware.\n");
  if (!listing.absent.empty()) fmt::print("\nnot here:\n");
  for (const std::string& sentence : listing.absent) fmt::print("{}", wrapped(sentence, 2));
  return {};
}

}  // namespace

void add_devices(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("devices", "List the devices operators can run on here");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->footer(
      "Instruction sets are listed best first; the first is used unless --isa says otherwise.\n\n"
      "Examples:\n  tokitai devices\n  tokitai devices --json");
  command->callback([json, &exit_code] { report(list(*json), exit_code); });
}

}  // namespace tokitai::cli
