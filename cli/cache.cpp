// `tokitai cache`: the compiled kernels that are kept, and keeping them.
#include "compiler/cache.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <map>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/table.h"

namespace tokitai::cli {
namespace {

namespace fs = std::filesystem;
using compiler::Cache;

constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::string size_text(std::uint64_t bytes) {
  if (bytes < 10 * 1024) return fmt::format("{} B", bytes);
  if (bytes < 10 * 1024 * 1024) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} MiB", bytes >> 20);
}

std::string time_text(std::int64_t nanoseconds) {
  if (nanoseconds == 0) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(nanoseconds / kNanoseconds)));
}

Json entry_json(const Cache::Entry& entry) {
  const compiler::Manifest& m = entry.manifest;
  return {{"key", entry.key},
          {"label", m.label},
          {"target", m.target},
          {"bytes", entry.bytes},
          {"used", entry.used / kNanoseconds},
          {"toolchain", m.toolchain},
          {"source_digest", m.source_digest},
          {"binary_digest", m.binary_digest},
          {"text_digest", m.text_digest},
          {"command", m.command},
          {"build_seconds", m.build_seconds},
          {"unix_time", m.unix_time},
          {"damage", entry.damage}};
}

std::string each_entry(const std::vector<Cache::Entry>& entries, bool verified) {
  Table table({"key", "target", "kernel", "size", "last used", "state"});
  for (const Cache::Entry& entry : entries) {
    const std::string state = !entry.damage.empty() ? "damaged: " + entry.damage : verified ? "sound" : "-";
    table.add({entry.key.substr(0, 12), entry.manifest.target, entry.manifest.label, size_text(entry.bytes),
               time_text(entry.used), state});
  }
  return table.text();
}

// Kernels by target and operator, which a label begins with.
std::string summary(const std::vector<Cache::Entry>& entries, bool verified) {
  struct Sum {
    std::uint64_t kernels = 0, bytes = 0, damaged = 0;
    std::int64_t used = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const Cache::Entry& entry : entries) {
    const std::string& label = entry.manifest.label;
    Sum& sum = sums[{entry.manifest.target, label.substr(0, label.find(' '))}];
    ++sum.kernels;
    sum.bytes += entry.bytes;
    sum.damaged += entry.damage.empty() ? 0 : 1;
    sum.used = std::max(sum.used, entry.used);
  }
  Table table({"target", "operator", "kernels", "size", "last used", "state"});
  for (const auto& [name, sum] : sums) {
    const std::string state = sum.damaged != 0 ? fmt::format("{} damaged", sum.damaged) : verified ? "sound" : "-";
    table.add(
        {name.first, name.second, fmt::format("{}", sum.kernels), size_text(sum.bytes), time_text(sum.used), state});
  }
  return table.text();
}

struct Arguments {
  std::string action;
  bool all = false, json = false;
};

// The entries, and for `verify` a status that counts the damaged ones.
Status show(const Cache& cache, const std::vector<Cache::Entry>& entries, bool verified, const Arguments& a) {
  Json array = Json::array();
  std::uint64_t bytes = 0;
  int damaged = 0;
  for (const Cache::Entry& entry : entries) {
    bytes += entry.bytes;
    damaged += entry.damage.empty() ? 0 : 1;
    array.push_back(entry_json(entry));
  }
  const std::string table = entries.empty() ? "" : (a.all ? each_entry : summary)(entries, verified) + "\n";
  if (a.json)
    print_json({{"folder", cache.folder().string()},
                {"limit", cache.limit()},
                {"bytes", bytes},
                {"damaged", damaged},
                {"entries", array}});
  else
    fmt::print("{}{} entries, {} of at most {}, in {}\n", table, entries.size(), size_text(bytes),
               size_text(cache.limit()), base::one_line(cache.folder().string()));
  if (verified && damaged != 0)
    return {Code::check_failed,
            fmt::format("{} of {} entries damaged; they are rebuilt when asked for", damaged, entries.size())};
  return {};
}

Status show(const Cache::Swept& swept, bool json) {
  if (json)
    print_json(
        {{"entries", swept.entries}, {"leftovers", swept.leftovers}, {"bytes", swept.bytes}, {"kept", swept.kept}});
  else
    fmt::print("removed {} entries and {} leftovers, {}\n", swept.entries, swept.leftovers, size_text(swept.bytes));
  if (swept.kept != 0)
    return {Code::check_failed,
            fmt::format("{} of the entries stayed: in use, or the folder is read-only", swept.kept)};
  return {};
}

Status act(const Arguments& a) {
  if (a.all && a.action != "ls" && a.action != "verify") return Status::invalid("--all belongs to ls and verify");
  const auto cache = Cache::open();
  if (!cache.ok()) return cache.status();
  if (cache->folder().empty())
    return Status::invalid("there is no cache folder: none of TOKITAI_CACHE, XDG_CACHE_HOME and HOME is set");
  std::error_code error;
  const auto status = fs::status(cache->folder(), error);
  if (error == std::errc::too_many_symbolic_link_levels || (fs::exists(status) && !fs::is_directory(status)))
    return Status::invalid(fmt::format("{}, the cache, is no folder", cache->folder().string()));
  if (a.action == "ls") return show(cache.value(), cache->list(), false, a);
  if (a.action == "verify") return show(cache.value(), cache->verify(), true, a);
  return show(a.action == "gc" ? cache->gc() : cache->clear(), a.json);
}

}  // namespace

void add_cache(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("cache", "List, check or clean the compiled kernels that are kept");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("ACTION", arguments->action, "ls, verify, gc or clear")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"ls", "verify", "gc", "clear"}));
  command->add_flag("--all", arguments->all, "ls and verify: list each entry, not sums by target and operator");
  command->add_flag("--json", arguments->json, "Print JSON, with each entry");
  command->footer(
      "ls sums the entries up; verify checks every byte of them and fails if one is damaged; gc removes damaged\n"
      "entries, what is over the limit and what dead processes left; clear removes every entry.\n"
      "The folder is $TOKITAI_CACHE, else $XDG_CACHE_HOME/tokitai, else ~/.cache/tokitai; the limit is\n"
      "$TOKITAI_CACHE_LIMIT (bytes, or with K, M, G), else 1G.\n\n"
      "Examples:\n  tokitai cache ls\n  tokitai cache ls --all\n  tokitai cache verify --json\n  tokitai cache gc");
  command->callback([arguments, &exit_code] { report(act(*arguments), exit_code); });
}

}  // namespace tokitai::cli
