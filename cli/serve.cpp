// tokitai serve: a device for other processes over a Unix socket, and what such a server says of itself.
#include "server/serve.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "cli/table.h"

namespace tokitai::cli {
namespace {

struct Arguments {
  DeviceChoice device;
  server::ServeOptions serve;
  std::string socket;
  bool status = false, json = false;
};

server::Server* running = nullptr;  // of this process, for the signals' handler

void told_to_stop(int) { running->stop(); }

struct Fact {
  const char* key;
  const char* words;
  std::int64_t value;
};

std::vector<Fact> facts_of(const server::ServerState& s) {
  return {{"uptime_seconds", "seconds since it started", s.uptime_seconds},
          {"connections", "connections now", s.connections},
          {"clients", "of them clients", s.clients},
          {"connections_taken", "connections taken", s.connections_taken},
          {"connections_refused", "connections refused", s.connections_refused},
          {"queued", "calls in the queue", s.queued},
          {"running", "calls running", s.running},
          {"calls", "calls that succeeded", s.calls},
          {"calls_failed", "calls that failed", s.calls_failed},
          {"calls_late", "of them too late to begin", s.calls_late},
          {"workers", "workers", s.workers},
          {"restarts", "workers that were replaced", s.restarts},
          {"mapped_bytes", "bytes of clients' memory", s.mapped_bytes},
          {"latency_us_50", "latency in us, median", s.latency_us_50},
          {"latency_us_90", "latency in us, 90 %", s.latency_us_90},
          {"latency_us_99", "latency in us, 99 %", s.latency_us_99},
          {"latency_us_most", "latency in us, most", s.latency_us_most}};
}

Status show(const Arguments& a) {
  constexpr double kSeconds = 10;
  auto state = server::ask_state(a.socket, kSeconds);
  if (!state.ok()) return state.status();
  if (a.json) {
    Json document = {{"device", state->device}};
    for (const Fact& fact : facts_of(state.value())) document[fact.key] = fact.value;
    print_json(document);
    return {};
  }
  Table table({"server at " + a.socket, state->device});
  for (const Fact& fact : facts_of(state.value())) table.add({fact.words, fmt::format("{}", fact.value)});
  fmt::print("{}", table.text());
  return {};
}

Status serve(Arguments& a) {
  a.serve.socket = a.socket;
  a.serve.device = a.device.device;
  auto options = a.device.options();
  if (!options.ok()) return options.status();
  const double call_seconds = a.serve.device_options.call_seconds;
  a.serve.device_options = options.value();
  a.serve.device_options.call_seconds = call_seconds;
  // As many descriptors as the system lets: each client takes three.
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  auto made = server::Server::make(a.serve);
  if (!made.ok()) return made.status();
  running = made->get();
  std::signal(SIGTERM, told_to_stop);
  std::signal(SIGINT, told_to_stop);
  fmt::print("{}\n", base::one_line(fmt::format("serving {} at {}", a.serve.device, a.socket)));
  std::fflush(stdout);
  Status status = running->run();
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  return status;
}

Status run(Arguments& a) {
  if (a.json && !a.status) return Status::invalid("--json belongs to --status");
  return a.status ? show(a) : serve(a);
}

}  // namespace

void add_serve(CLI::App& app, int& exit_code) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("serve", "Serve a device to other processes over a Unix socket (docs/wire.md)");
  command->add_option("--socket", a->socket, "The socket's path; clients open the device unix:PATH")
      ->required()
      ->type_name("PATH");
  a->device.add_to(*command);
  server::ServeOptions& s = a->serve;
  command->add_option("--workers", s.workers, "Worker processes")->capture_default_str();
  command->add_option("--connections", s.connections, "The most connections at once")->capture_default_str();
  command->add_option("--call-seconds", s.device_options.call_seconds, "The most a call may take (0: 600)");
  command->add_option("--message-seconds", s.message_seconds, "The most a greeting or a message may take to arrive")
      ->capture_default_str();
  command->add_option("--drain-seconds", s.drain_seconds, "How long calls are waited for when it is told to stop")
      ->capture_default_str();
  command->add_option("--message-bytes", s.message_bytes, "The most bytes of a message")->capture_default_str();
  command->add_option("--waiting-bytes", s.waiting_bytes, "The most bytes of messages that wait")
      ->capture_default_str();
  command->add_option("--mapped-bytes", s.mapped_bytes, "The most bytes of clients' memory")->capture_default_str();
  command->add_flag("--status", a->status, "Ask the server that listens there about itself");
  command->add_flag("--json", a->json, "With --status: print it as JSON");
  command->footer(
      "SIGTERM or SIGINT: calls that wait or run are answered, then it leaves. A second one: at once.\n\n"
      "Examples:\n  tokitai serve --socket tokitai.socket --device cpu &\n"
      "  tokitai run softmax.forward --in x=x.npy --out y=y.npy --device unix:tokitai.socket\n"
      "  tokitai serve --status --socket tokitai.socket");
  command->callback([a, &exit_code] { report(run(*a), exit_code); });
}

}  // namespace tokitai::cli
