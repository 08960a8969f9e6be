// Operators of one's own: `--operators FOLDER` loads them, `tokitai operator new` writes a folder to begin with.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <regex>

#include "base/files.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/progress_line.h"
#include "contract/registry.h"
#include "loader/load_operators.h"
#include "loader/texts.h"
#include "loader/words.h"
#include "problems/problem.h"

namespace tokitai::cli {
namespace {

namespace fs = std::filesystem;

// The example of each pattern, which a new folder is a copy of.
constexpr std::pair<std::string_view, std::string_view> kExamples[] = {
    {"each", "softcap"}, {"row", "huber"}, {"segment", "take"}};

struct Arguments {
  std::string name, pattern = "each", folder;
};

// Where it is a word of its own, or the first part of one: take_forward, but not taken.
std::string renamed(std::string_view text, std::string_view from, std::string_view to) {
  const std::regex word(fmt::format("\\b{}(?![a-z0-9])", from));
  return std::regex_replace(std::string(text), word, std::string(to));
}

// Whole or not at all: written beside its place and then renamed.
Status write_folder(const fs::path& place, std::string_view example, std::string_view name) {
  auto made = base::make_folder(place.parent_path().empty() ? fs::path(".") : place.parent_path(), ".operator.");
  if (!made.ok()) return Status::invalid(made.status().message());
  Status status;
  for (const compiler::Header& file : loader::examples()) {
    const std::size_t slash = file.name.find('/');
    if (file.name.substr(0, slash) != example || !status.ok()) continue;
    const fs::path path = made.value() / file.name.substr(slash + 1);
    status = base::write_file(path, renamed(file.text, example, name));
    if (status.ok()) ::chmod(path.c_str(), 0644);
  }
  ::chmod(made->c_str(), 0755);  // whatever the umask: a folder that others may write is refused
  if (status.ok() && ::rename(made->c_str(), place.c_str()) != 0)
    status = Status::invalid(fmt::format("{} cannot be made: {}", place.string(), std::strerror(errno)));
  std::error_code ignored;
  if (!status.ok()) fs::remove_all(made.value(), ignored);
  return status;
}

Status make(const Arguments& a) {
  if (!loader::is_name(a.name) || loader::is_keyword(a.name) || loader::is_our_namespace(a.name))
    return Status::invalid(fmt::format(
        "'{}' is no name of a family: small letters, digits and _, not a digit first, no word of C++ and none of the "
        "library's own names",
        a.name));
  for (const Operator* other : operators())
    if (other->contract->family() == a.name)
      return Status::invalid(fmt::format("there is a family {} already, from {}", a.name, other->folder->origin));
  const auto* example =
      std::find_if(std::begin(kExamples), std::end(kExamples), [&](const auto& one) { return one.first == a.pattern; });
  if (example == std::end(kExamples))
    return Status::invalid(fmt::format("no pattern '{}' to begin with; they are each, row, segment", a.pattern));
  fs::path place = (a.folder.empty() ? fs::path(a.name) : fs::path(a.folder)).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();  // "mine/"
  std::error_code error;
  if (fs::exists(fs::symlink_status(place, error)))
    return Status::invalid(fmt::format("{} is there already", place.string()));
  if (Status s = write_folder(place, example->second, a.name); !s.ok()) return s;
  const std::string shown = base::one_line(place.string());
  fmt::print(
      "wrote {0}/contract.txt, definition.h, problems.txt: the {1} of examples/operators, under your name\n"
      "edit them, then: tokitai --operators {0} verify --op {2}\n",
      shown, example->second, a.pattern == "row" ? a.name + ".forward_backward" : a.name + ".forward");
  return {};
}

}  // namespace

void add_operators_flag(CLI::App& app) {
  app.add_option_function<std::string>(
         "--operators",
         [](const std::string& folder) {
           ProgressLine progress;
           progress.say(fmt::format("loading the operators of {}", folder));
           Status status = load_operators(folder);
           if (status.ok()) status = problems::check_problems();
           if (!status.ok()) throw Refused{status};
         },
         "Load the operators of this folder, or of the folders in it, for the command that follows\n"
         "(docs/own_operators.md); may be given several times")
      ->type_name("FOLDER")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse();
}

void add_operator(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("operator", "Begin an operator of your own");
  command->require_subcommand(1);
  CLI::App* fresh = command->add_subcommand("new", "Write a folder with a contract, a definition and problems to edit");
  auto a = std::make_shared<Arguments>();
  fresh->add_option("NAME", a->name, "The family's name")->required()->type_name("");
  fresh->add_option("--pattern", a->pattern, "each (a soft cap), row (a Huber loss) or segment (rows by index)")
      ->type_name("NAME");
  fresh->add_option("--out", a->folder, "The folder to make; default: NAME")->type_name("FOLDER");
  fresh->callback([a, &exit_code] { report(make(*a), exit_code); });
  constexpr const char* kFooter =
      "Examples:\n  tokitai operator new mine\n  tokitai --operators mine verify --op mine.forward\n"
      "  tokitai --operators mine gradients --op mine.backward\n"
      "  tokitai --operators mine compile mine.forward --target sm_90a";
  command->footer(kFooter);
  fresh->footer(kFooter);
}

}  // namespace tokitai::cli
