// Does a bundle hold? Its form, its signature, that it agrees with itself, that it speaks of this program's contracts
// and sources, and that the reports beside it are the ones it names.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/statement.h"

namespace tokitai::evidence {

enum class Verdict : std::uint8_t { holds, fails, not_checked };
std::string_view name_of(Verdict verdict);

// One thing that was looked at.
struct Check {
  std::string what;  // "signature", "contract softmax.forward"
  Verdict verdict = Verdict::holds;
  std::string text;  // in words
};

struct Audit {
  std::vector<Check> checks;
  std::optional<Statement> statement;  // where it could be read and, if signed, its signature holds
  bool is_signed = false;
  std::string keyid;
  Status refused;  // `invalid`: this is no evidence, and why; or it is signed and no key was given

  // check_failed names the first check that fails.
  Status status() const;
};

// The bytes of evidence.json. Reports are looked for in `folder`, where there is one.
Audit audit(std::string_view text, const std::optional<PublicKey>& key, const std::filesystem::path& folder = {});

// The file's bytes, no more than an audit reads.
Result<std::string> read_bounded(const std::filesystem::path& path);

}  // namespace tokitai::evidence
