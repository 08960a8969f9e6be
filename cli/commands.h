// The whole command as a function, its subcommands, each added to the command line by its own file, and how all of
// them report.
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "contract/contract.h"
#include "tokitai/status.h"

namespace tokitai::cli {

// Fields come out in the order they were put in, which is the order people read them.
using Json = nlohmann::ordered_json;

// What main does, as a function of the arguments: the exit code. The fuzzer of command lines runs the same.
int run_command(int argc, const char* const* argv);
// Every subcommand with its flags.
std::unique_ptr<CLI::App> command_line(int& exit_code);

// Each subcommand leaves its exit code in `exit_code`, which outlives the parsing.
void add_ops(CLI::App& app, int& exit_code);
void add_devices(CLI::App& app, int& exit_code);
void add_gradients(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_accuracy(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);
void add_compile(CLI::App& app, int& exit_code);
void add_audit(CLI::App& app, int& exit_code);
void add_key(CLI::App& app, int& exit_code);
void add_worker(CLI::App& app, int& exit_code);
void add_serve(CLI::App& app, int& exit_code);
void add_prove(CLI::App& app, int& exit_code);
void add_operator(CLI::App& app, int& exit_code);

// --operators: folders of operators, loaded as soon as they are read. Throws Refused.
void add_operators_flag(CLI::App& app);
struct Refused {
  Status status;
};

// A status that is not good: "tokitai: MESSAGE" on standard error, its code as the exit code. A good one changes
// nothing.
void report(const Status& status, int& exit_code) noexcept;

// The operator of that name, or a status that lists the names there are.
Result<const Contract*> operator_named(std::string_view name);

// Refuses a flag's number that is not in (0, most]; NaN is not.
Status check_range(std::string_view flag, double value, double most);
constexpr double kMostSeconds = 86400;

// As people read it, with a newline at the end.
std::string dumped(const Json& document);
void print_json(const Json& document);

}  // namespace tokitai::cli
