#include "cli/tests/random_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace tokitai::cli {
namespace {

using Words = std::vector<std::string>;

const Words kOdd = {"",
                    " ",
                    "-",
                    "--",
                    "---",
                    "=",
                    "a=",
                    "=b",
                    "\n",
                    "\t",
                    "\x1b[31mred",
                    "\x7f",
                    "\xff\xfe",
                    "\xc3(",
                    "%s%n",
                    "{}",
                    "{:d}",
                    "0",
                    "-1",
                    "-0",
                    "1.5",
                    "1e400",
                    "nan",
                    "inf",
                    "0x10",
                    " 1",
                    "1 ",
                    ".",
                    "..",
                    ",",
                    ",,",
                    "[a,b]",
                    "[",
                    "true",
                    "none",
                    "é",
                    "99999999999999999999",
                    "9223372036854775807",
                    "-9223372036854775808",
                    "2147483648",
                    "/dev/null",
                    "/dev/null/x",
                    "/nonexistent/x",
                    "/proc/x",
                    "-h",
                    "--help",
                    "--version"};
const Words kDevices = {"cpu",     "reference", "lockstep",   "lockstep:64",      "cuda:0",
                        "cuda:99", "amd:0",     "worker:cpu", "worker:",          "unix:none",
                        "unix:",   "all",       "gpu",        "worker:worker:cpu"};
const Words kFiles = {"out.json",      "out.md",        "out.html",       "out",     "new/out", "mine.key",
                      "mine.key.pub",  "evidence.json", "report",         "./x.npy", "link",    "y.npy",
                      "report/../out", "x.npy",         "a_folder/x.npy", "-"};

class Line {
 public:
  Line(const std::vector<KnownCommand>& commands, std::uint64_t number)
      : commands_(commands), engine_(number), contract_(*pick(contracts())) {}

  Words made() {
    const KnownCommand& command = pick(commands_);
    words_ = command.words;
    for (const std::string& name : command.positionals)
      if (chance(85)) words_.push_back(value(name));
    if (chance(85)) good_beginning(command);
    for (std::size_t more = below(5); more > 0; --more) item(chance(95) ? command : pick(commands_));
    if (words_.empty()) words_.push_back(value(""));
    if (chance(10)) words_.erase(words_.begin() + at());
    if (!words_.empty() && chance(10)) words_.insert(words_.begin() + at(), std::string(pick(words_)));
    if (!words_.empty() && chance(5)) std::iter_swap(words_.begin() + at(), words_.begin() + at());
    if (chance(2)) words_.insert(words_.begin() + at(), random_bytes());
    return words_;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool chance(std::size_t percent) { return below(100) < percent; }
  template <class Some> const typename Some::value_type& pick(const Some& some) { return some[below(some.size())]; }
  std::ptrdiff_t at() { return words_.empty() ? 0 : static_cast<std::ptrdiff_t>(below(words_.size())); }

  std::string random_bytes() {
    std::string bytes(1 + below(chance(5) ? 5000 : 8), ' ');
    for (char& byte : bytes) do
        byte = static_cast<char>(1 + below(255));
      while (byte == '/');  // no path that leads out of the folder
    return bytes;
  }

  std::string number() { return chance(80) ? fmt::format("{}", below(5)) : pick(kOdd); }

  // Sizes and options as a problem line has them: small, so that nothing takes long.
  std::string setting() {
    switch (below(8)) {
      case 0: return "type=" + pick(Words{"f16", "bf16", "f32", "i32", "f8", "f16,f32"});
      case 1: return "data=" + pick(Words{"normal", "special", "all", "huge", "odd"});
      case 2: return fmt::format("{}={}", pick(Words{"in_place", "master", "single"}), pick(Words{"yes", "no", "2"}));
      case 3: return "pad=" + number();
      case 4: return pick(kOdd) + "=" + pick(kOdd);
      default: return option();
    }
  }
  std::string option() {
    if (contract_.options.empty() || chance(5)) return pick(kOdd) + "=" + number();
    return fmt::format("{}={}", pick(contract_.options).name, number());
  }
  Words sizes() {
    Words words;
    for (const OperandSpec& spec : contract_.operands)
      for (const std::string_view symbol : spec.shape)
        if (const std::string key = fmt::format("{}=", symbol);
            !symbol.empty() && symbol != "1" &&
            std::none_of(words.begin(), words.end(), [&](const auto& w) { return w.starts_with(key); }))
          words.push_back(key + (contract_.list && chance(30)
                                     ? "3+0+2*2"
                                     : (chance(4) ? pick(kOdd) : fmt::format("{}", 1 + below(4)))));
    for (const OptionSpec& spec : contract_.options)
      if (spec.required) words.push_back(fmt::format("{}=1", spec.name));
    return words;
  }
  std::string problem() {
    std::string line(contract_.name);
    for (const std::string& word : sizes())
      if (chance(97)) line += " " + word;
    while (chance(20)) line += " " + setting();
    return line;
  }

  std::string fitting(std::string_view name) {
    name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
    if (name == "OPERATOR" || name == "operator" || name == "op")
      return std::string(chance(90) ? contract_.name : pick(contracts())->name);
    if (name == "in" || name == "out")
      return fmt::format("{}{}={}", pick(contract_.operands).name, chance(10) ? ":f32" : "", pick(kFiles));
    if (name == "set") return option();
    if (name == "problem") return problem();
    if (name == "shape") return chance(70) ? pick(sizes()) : setting();
    if (name == "device") return pick(kDevices);
    if (name == "isa") return pick(Words{"avx512", "avx2", "portable", "sse9"});
    if (name == "target") return pick(Words{"sm_80", "sm_90a", "gfx942", "gfx1101", "sm_80,gfx942", "sm_1"});
    if (name == "emit") return pick(Words{"asm", "ptx", "binary", "plan"});
    if (name == "dtype") return pick(Words{"f16", "bf16", "f32", "i64"});
    if (name == "ACTION") return pick(Words{"ls", "verify", "gc", "clear"});
    if (name == "FAMILY") return pick(Words{"adamw", "layernorm", "gemm_backward", "embedding", "softmax"});
    if (name == "pattern") return pick(Words{"each", "row", "segment", "tile"});
    if (name == "peer") return pick(Words{"torch", "openblas", "none"});
    if (name == "socket") return chance(90) ? "socket" : "link";
    return chance(70) ? pick(kFiles) : number();
  }
  std::string value(std::string_view name) {
    if (chance(75)) return fitting(name);
    if (chance(10)) return random_bytes();
    if (chance(40)) return pick(kOdd);
    const KnownCommand& other = pick(commands_);
    return other.flags.empty() ? number() : fitting(pick(other.flags).name);
  }

  // What lets the rest of a line come into play: a whole call over files, or one small problem.
  void good_beginning(const KnownCommand& command) {
    const auto has = [&](std::string_view name) {
      return std::any_of(command.flags.begin(), command.flags.end(), [&](const auto& f) { return f.name == name; });
    };
    if (has("--problem")) words_.insert(words_.end(), {"--problem", problem()});
    if (has("--seconds")) words_.insert(words_.end(), {"--seconds", "0.001"});
    if (has("--target") && chance(80)) words_.insert(words_.end(), {"--target", fitting("target")});
    if (has("--socket") && chance(80)) words_.insert(words_.end(), {"--socket", "socket"});
    if (!has("--in")) return;
    for (const OperandSpec& spec : contract_.operands) {
      const Type type = spec.type == TypeRule::storage                               ? Type::f16
                        : spec.type == TypeRule::index || spec.type == TypeRule::i64 ? Type::i64
                                                                                     : Type::f32;
      const std::string file = file_for(type, spec.shape[1].empty() ? 1 : 2);
      if (spec.role != Role::out && chance(spec.optional ? 30 : 98))
        words_.insert(words_.end(), {"--in", fmt::format("{}={}", spec.name, file)});
      if (spec.role != Role::in && chance(90))
        words_.insert(words_.end(), {"--out", fmt::format("{}=out_{}.npy", spec.name, spec.name)});
    }
    for (const OptionSpec& spec : contract_.options)
      if (spec.required || spec.name == "vocab") words_.insert(words_.end(), {"--set", fmt::format("{}=3", spec.name)});
  }

  void item(const KnownCommand& command) {
    if (command.flags.empty() || chance(15)) {
      words_.push_back(chance(30) ? "--" : value(""));
      return;
    }
    const KnownCommand::Flag& flag = pick(command.flags);
    if (chance(8)) {
      words_.push_back(flag.name + "=" + value(flag.name));
      return;
    }
    words_.push_back(flag.name);
    if (flag.takes_value != chance(7)) words_.push_back(value(flag.name));
    while (chance(10)) words_.push_back(value(flag.name));
  }

  const std::vector<KnownCommand>& commands_;
  std::mt19937_64 engine_;
  const Contract& contract_;
  Words words_;
};

void add(const CLI::App& app, const Words& words, std::vector<KnownCommand>& all) {
  KnownCommand& command = all.emplace_back();
  command.words = words;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) command.positionals.push_back(option->get_name());
    for (const std::string& name : option->get_lnames())
      command.flags.push_back({"--" + name, option->get_items_expected_max() > 0});
    for (const std::string& name : option->get_snames())
      command.flags.push_back({"-" + name, option->get_items_expected_max() > 0});
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    Words longer = words;
    longer.push_back(sub->get_name());
    add(*sub, longer, all);
  }
}

}  // namespace

std::vector<KnownCommand> known_commands(const CLI::App& app) {
  std::vector<KnownCommand> all;
  add(app, {}, all);
  return all;
}

Words random_line(const std::vector<KnownCommand>& commands, std::uint64_t number) {
  return Line(commands, number).made();
}

std::string file_for(Type type, int rank) {
  return rank == 2 && type == Type::f16 ? "x.npy" : fmt::format("{}_{}.npy", name_of(type), rank);
}

}  // namespace tokitai::cli
