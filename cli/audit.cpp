// `tokitai audit`: checks a bundle of evidence, and with --replay runs again what it records.
#include "evidence/audit.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "cli/output_files.h"
#include "cli/progress_line.h"
#include "cli/table.h"
#include "evidence/bundle.h"
#include "evidence/replay.h"

namespace tokitai::cli {
namespace {

using evidence::Check;
using evidence::Verdict;

struct Arguments {
  std::string file, key, json;
  bool replay = false;
  DeviceChoice device;
};

Result<Check> replayed(const Arguments& a, const evidence::Statement& statement, Device& device) {
  ProgressLine progress;
  const auto result = evidence::replay(statement.predicate.problems, device,
                                       [&](const problems::Problem& problem, std::size_t done, std::size_t all) {
                                         progress.say(fmt::format("{} of {}  {}", done + 1, all, problem.text()));
                                       });
  if (!result.ok()) return result.status();
  if (result->differing > 0)
    return Check{"replay", Verdict::fails,
                 fmt::format("on {}: {} of {} problems differ; the first: {}", a.device.device, result->differing,
                             result->problems, result->first_difference)};
  return Check{"replay", Verdict::holds,
               fmt::format("on {}, {} thread{}: {} problems, the same bits in all {} outputs", a.device.device,
                           device.threads(), device.threads() == 1 ? "" : "s", result->problems, result->outputs)};
}

Json to_json(const Arguments& a, const evidence::Audit& audit) {
  Json checks = Json::array();
  for (const Check& check : audit.checks)
    checks.push_back({{"what", check.what},
                      {"verdict", check.verdict == Verdict::holds   ? "holds"
                                  : check.verdict == Verdict::fails ? "fails"
                                                                    : "not_checked"},
                      {"text", check.text}});
  Json document = {{"file", a.file}, {"holds", audit.status().ok()}, {"signed", audit.is_signed}, {"checks", checks}};
  if (audit.is_signed) document["keyid"] = audit.keyid;
  if (!audit.status().ok()) document["reason"] = audit.status().message();
  return document;
}

void print(const Arguments& a, const evidence::Audit& audit) {
  const evidence::Predicate& p = audit.statement->predicate;
  fmt::print("{}\n\n", base::one_line(fmt::format("{}: {} ({}) against the {} machine, made {} by tokitai {}", a.file,
                                                  p.device, p.description, p.against, p.made, p.tokitai)));
  Table table({"checked", "verdict", ""});
  for (const Check& check : audit.checks) table.add({check.what, std::string(name_of(check.verdict)), check.text});
  fmt::print("{}", table.text());
  if (a.replay && audit.status().ok())
    fmt::print(
        "\nThe bits of an operator do not depend on the machine, the device or the number of threads: that is\n"
        "why a bundle made elsewhere can be replayed here.\n");
}

Status run(const Arguments& a) {
  FileUses files;
  files.reads("FILE", a.file);
  const std::filesystem::path folder = std::filesystem::path(".") / std::filesystem::path(a.file).parent_path();
  for (const char* report : evidence::kReportFiles) files.reads("a report of FILE", (folder / report).string());
  files.reads("--key", a.key);
  if (Status s = files.writes_text("--json", a.json); !s.ok()) return s;
  std::optional<evidence::PublicKey> key;
  if (!a.key.empty()) {
    auto read = evidence::read_public_key(a.key);
    if (!read.ok()) return read.status();
    key = read.value();
  }
  auto device = a.replay ? a.device.open() : open("reference");
  if (!device.ok()) return device.status();
  const auto text = evidence::read_bounded(a.file);
  if (!text.ok()) return text.status();
  evidence::Audit audit = evidence::audit(text.value(), key, folder);
  if (a.replay && audit.statement && !audit.status().ok()) {
    audit.checks.push_back({"replay", Verdict::not_checked, "what does not hold is not run again"});
  } else if (a.replay && audit.statement) {
    auto check = replayed(a, *audit.statement, device.value());
    if (!check.ok()) return Status(check.status().code(), fmt::format("{}: {}", a.file, check.status().message()));
    audit.checks.push_back(std::move(check).value());
  }
  if (audit.statement && a.json != "-") print(a, audit);
  const Status status = audit.status();
  // What is no evidence is bad input, and bad input leaves no file behind.
  if (!a.json.empty() && (a.json == "-" || status.code() != Code::invalid))
    if (Status s = write_text(a.json, dumped(to_json(a, audit))); !s.ok()) return s;
  if (status.ok()) return status;
  return {status.code(), fmt::format("{}: {}", a.file, status.message())};
}

}  // namespace

void add_audit(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("audit", "Check a bundle of evidence, and replay it");
  auto a = std::make_shared<Arguments>();
  command->add_option("FILE", a->file, "evidence.json, as tokitai verify --report wrote it")->required()->type_name("");
  command->add_option("--key", a->key, "The public key that it must be signed with")->type_name("FILE");
  command->add_flag("--replay", a->replay, "Run every recorded problem again here and compare the outputs' digests");
  a->device.add_to(*command);
  command->add_option("--json", a->json, "Write the result as JSON to this file (- for standard output)");
  command->footer(
      "Exit codes: 0 it holds; 1 it does not, and what fails is named; 2 it is not evidence.\n\nExamples:\n"
      "  tokitai audit out/evidence.json --key mine.key.pub\n"
      "  tokitai audit out/evidence.json --key mine.key.pub --replay --device reference");
  command->callback([a, &exit_code] { report(run(*a), exit_code); });
}

}  // namespace tokitai::cli
