// `tokitai devices`: what operators can run on here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/table.h"
#include "tokitai/device.h"

namespace tokitai::cli {
namespace {

constexpr const char* kDevices[] = {"reference", "cpu"};

Status list(bool json) {
  Table table({"device", "threads", "instruction sets", "description"});
  Json array = Json::array();
  for (const char* name : kDevices) {
    auto device = open(name);
    if (!device.ok()) return device.status();
    const auto isas = std::string_view(name) == "cpu" ? cpu_isas() : std::vector<std::string>{};
    table.add({name, fmt::format("{}", device->threads()),
               isas.empty() ? "-" : fmt::format("{}", fmt::join(isas, ", ")), device->description()});
    array.push_back(
        {{"name", name}, {"threads", device->threads()}, {"isas", isas}, {"description", device->description()}});
  }
  if (json)
    print_json(array);
  else
    fmt::print("{}", table.text());
  return {};
}

}  // namespace

void add_devices(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("devices", "List the devices operators can run on here");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->footer("Instruction sets are listed best first; the first is used unless --isa says otherwise.");
  command->callback([json, &exit_code] { report(list(*json), exit_code); });
}

}  // namespace tokitai::cli
