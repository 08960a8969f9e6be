// `tokitai key`: makes the key that evidence is signed with, and shows its public half.
#include "evidence/key.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/commands.h"

namespace tokitai::cli {
namespace {

struct Arguments {
  std::string file;
  bool json = false;
};

void show(const evidence::PublicKey& key, bool json) {
  if (json)
    print_json({{"keyid", key.id()}, {"public_key", key.pem()}});
  else
    fmt::print("keyid {}\n{}", key.id(), key.pem());
}

Status make(const Arguments& a) {
  const auto key = evidence::make_key_files(a.file);
  if (!key.ok()) return key.status();
  if (!a.json)
    fmt::print("{}\n",
               base::one_line(fmt::format("wrote {} (private: keep it to yourself) and {}.pub", a.file, a.file)));
  show(key.value(), a.json);
  return {};
}

Status show_file(const Arguments& a) {
  const auto key = evidence::read_public_key(a.file);
  if (!key.ok()) return key.status();
  show(key.value(), a.json);
  return {};
}

void add(CLI::App& command, const char* name, const char* text, Status (*action)(const Arguments&), int& exit_code) {
  CLI::App* sub = command.add_subcommand(name, text);
  auto a = std::make_shared<Arguments>();
  sub->add_option("FILE", a->file, "The private key's file; the public one is FILE.pub")->required()->type_name("");
  sub->add_flag("--json", a->json, "Print JSON");
  sub->callback([a, action, &exit_code] { report(action(*a), exit_code); });
}

}  // namespace

void add_key(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("key", "Make a key to sign evidence with, or show its public half");
  command->require_subcommand(1);
  add(*command, "new", "Write a new ed25519 key to FILE (only its owner may read it) and FILE.pub", make, exit_code);
  add(*command, "show", "Print the public key of FILE or FILE.pub; never the private one", show_file, exit_code);
  command->footer(
      "Examples:\n  tokitai key new mine.key\n  tokitai verify --quick --op softmax.forward --report out --sign "
      "mine.key\n"
      "  tokitai audit out/evidence.json --key mine.key.pub");
}

}  // namespace tokitai::cli
