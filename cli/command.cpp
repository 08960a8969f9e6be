// The command line: subcommands, help, exit codes. The library's status codes are the exit codes; an exception
// that gets this far is a bug of ours, unless memory ran out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "reports/facts.h"

namespace tokitai::cli {

void report(const Status& status, int& exit_code) noexcept try {
  if (status.ok()) return;
  exit_code = static_cast<int>(status.code());
  // Lines of a compiler's log stay lines, but none of them can pass for one of ours.
  std::string text = "tokitai:";
  const std::string& message = status.message();
  for (std::size_t begin = 0, end = 0; end < message.size(); begin = end + 1) {
    end = std::min(message.find('\n', begin), message.size());
    text += (begin == 0 ? " " : "\n  ") + base::one_line(std::string_view(message).substr(begin, end - begin));
  }
  fmt::print(stderr, "{}\n", text);
} catch (const std::exception&) {
  write_raw(Stream::error, "tokitai: out of memory\n");  // what there was to say took too much
}

Result<const Contract*> operator_named(std::string_view name) {
  if (const Contract* contract = find_contract(name)) return contract;
  std::vector<std::string_view> names;
  for (const Contract* contract : contracts()) names.push_back(contract->name);
  return Status::invalid(fmt::format("no operator '{}'; the operators are {}", name, fmt::join(names, ", ")));
}

Status check_range(std::string_view flag, double value, double most) {
  if (value > 0 && value <= most) return {};
  return Status::invalid(fmt::format("{} {}; it must be above 0 and at most {}", flag, value, most));
}

std::string dumped(const Json& document) {
  // File names need not be UTF-8; what is not is replaced.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_json(const Json& document) { fmt::print("{}", dumped(document)); }

namespace {

constexpr const char* kFooter = R"(Examples:
  tokitai ops layernorm.forward
  tokitai run softmax.forward --in x=x.npy --out y=y.npy
  tokitai verify --quick
  tokitai verify --quick --op softmax.forward --report out && tokitai audit out/evidence.json --replay
  tokitai compile softmax.forward --target sm_90a
  tokitai operator new mine && tokitai --operators mine verify --op mine.forward

Exit codes:
  0  good
  1  a check failed
  2  bad usage or input; no output file was created or changed
  3  a device or toolchain is missing, memory ran out, or standard output cannot be written
  4  a bug in tokitai)";

bool is_command(const CLI::App& app, const std::string& word) {
  return !app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == word; }).empty();
}

Status usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string name = "tokitai";  // with the command that was chosen, and the one below it
  for (auto chosen = app.get_subcommands(); !chosen.empty(); chosen = chosen.front()->get_subcommands())
    name += " " + chosen.front()->get_name();
  // What nobody expected is kept by whichever command met it: by `key new`, or by all of them behind --.
  const auto unexpected = app.remaining(true);
  const bool unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !unexpected.empty();
  const std::string what = unknown ? "unknown argument " + unexpected.front() : error.what();
  return Status::invalid(fmt::format("{} (see {} --help)", what, name));
}

int parse_and_run(int argc, const char* const* argv) {
  int exit_code = 0;
  const auto app = command_line(exit_code);
  if (argc < 2) {
    fmt::print(stderr, "{}", app->help());
    return static_cast<int>(Code::invalid);
  }
  if (const std::string word = argv[1]; !word.starts_with('-') && !is_command(*app, word)) {
    std::vector<std::string> names;
    for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(sub->get_name());
    report(Status::invalid(fmt::format("no command '{}'; the commands are {}", word, fmt::join(names, ", "))),
           exit_code);
    return exit_code;
  }
  try {
    app->parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help or --version
    std::ostringstream text;             // the C++ streams know nothing of what guards the C library's
    exit_code = app->exit(asked, text);
    fmt::print("{}", text.str());
  } catch (const CLI::ParseError& error) {
    report(usage_error(*app, error), exit_code);
  } catch (const Refused& refused) {
    report(refused.status, exit_code);
  }
  return exit_code;
}

}  // namespace

std::unique_ptr<CLI::App> command_line(int& exit_code) {
  auto app = std::make_unique<CLI::App>(
      "Training operators that carry a contract: the same output bits on every device.", "tokitai");
  app->set_version_flag("--version", "tokitai " + evidence::library_version(), "Print the version and leave");
  app->get_formatter()->label("SUBCOMMAND", "COMMAND");
  app->get_formatter()->column_width(34);
  app->footer(kFooter);
  app->require_subcommand(0, 1);
  add_operators_flag(*app);
  for (const auto add : {add_ops, add_devices, add_run, add_verify, add_accuracy, add_gradients, add_bench, add_cache,
                         add_compile, add_operator, add_audit, add_key, add_worker, add_serve, add_prove})
    add(*app, exit_code);
  for (CLI::App* sub : app->get_subcommands([](CLI::App*) { return true; })) sub->group("Commands");
  return app;
}

int run_command(int argc, const char* const* argv) {
  guard_terminal();
  int exit_code = static_cast<int>(Code::internal);
  try {
    exit_code = parse_and_run(argc, argv);
    // What went wrong before has said so, and keeps its code.
    if (!all_written(Stream::out) && exit_code == 0)
      report({Code::unavailable, "cannot write to standard output"}, exit_code);
  } catch (const std::bad_alloc&) {
    report({Code::unavailable, "out of memory"}, exit_code);
  } catch (const std::exception& bug) {
    report({Code::internal, fmt::format("internal error: {}", bug.what())}, exit_code);
  } catch (...) {
    report({Code::internal, "internal error: an exception of unknown type"}, exit_code);
  }
  return exit_code;
}

}  // namespace tokitai::cli
