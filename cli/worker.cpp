// tokitai worker: serves one family of operators over standard input and output, in the formats of an older protocol.
// Its exit codes are that protocol's, not this command's.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/device_choice.h"
#include "requests/frames.h"
#include "requests/request.h"

namespace tokitai::cli {
namespace {

struct Arguments {
  std::string family;
  DeviceChoice device;
  bool server = false;
};

int serve_frames(requests::RequestFamily family, Device& device) {
  for (;;) {
    const requests::Frame frame = requests::read_frame(STDIN_FILENO);
    if (frame.ended) return frame.status;
    const requests::Response response = respond(parse_framed_request(family, frame.bytes), device);
    if (!requests::write_frame(STDOUT_FILENO, response.bytes)) return 0;  // the client is gone
    if (response.status != 0) return response.status;
  }
}

int serve_once(requests::RequestFamily family, Device& device) {
  const requests::Response response = respond(parse_text_request(family, requests::read_all(STDIN_FILENO)), device);
  if (response.status == 0)
    fmt::print("{}", response.bytes);
  else
    fmt::print(stderr, "tokitai: {}\n", response.bytes);
  return response.status;
}

Status run(const Arguments& a, int& exit_code) {
  const auto* family = std::find_if(std::begin(requests::kRequestFamilies), std::end(requests::kRequestFamilies),
                                    [&](const auto& one) { return one.first == a.family; });
  if (family == std::end(requests::kRequestFamilies)) {
    std::string names;
    for (const auto& [name, value] : requests::kRequestFamilies)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    return Status::invalid(fmt::format("no family '{}'; the families are {}", a.family, names));
  }
  auto device = a.device.open();
  if (!device.ok()) return device.status();
  exit_code = a.server ? serve_frames(family->second, device.value()) : serve_once(family->second, device.value());
  return {};
}

}  // namespace

void add_worker(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("worker", "Serve one family over standard input and output (docs/wire.md)");
  command->add_option("FAMILY", a->family, "adamw, layernorm, gemm_backward, embedding or softmax")->required();
  a->device.add_to(*command);
  command->add_flag("--server", a->server, "Answer frames until the input ends, not one text request");
  command->footer(
      "The exit code is the status of the request that failed; docs/wire.md lists them.\n\n"
      "Examples:\n  echo 0 1 3 15360 15360 15360 | tokitai worker softmax --device reference");
  command->callback([a, &exit_code] { report(run(*a, exit_code), exit_code); });
}

}  // namespace tokitai::cli
