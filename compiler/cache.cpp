#include "compiler/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/program.h"
#include "base/sha256.h"
#include "compiler/build.h"
#include "compiler/manifest.h"

namespace tokitai::compiler {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;
constexpr const char* kBinary = "binary";
constexpr const char* kText = "text";
constexpr const char* kManifest = "manifest";  // its time says when the entry was last used

// Locks an open file or folder; false where another process holds it and waiting was not asked for.
bool lock_file(const base::Descriptor& file, bool wait) {
  int result = 0;
  do result = ::flock(file.get(), LOCK_EX | (wait ? 0 : LOCK_NB));
  while (result != 0 && errno == EINTR);
  return result == 0;
}

// Whether the open file is still the one at that path: whoever sweeps may have removed it before it was locked.
bool is_at(const base::Descriptor& file, const fs::path& path) {
  struct stat open{}, there{};
  return ::fstat(file.get(), &open) == 0 && ::stat(path.c_str(), &there) == 0 && open.st_ino == there.st_ino &&
         open.st_dev == there.st_dev;
}

Status fail(std::string_view what, const fs::path& path, const std::string& why) {
  return {Code::unavailable, fmt::format("cannot {} {}: {}", what, path.string(), why)};
}

// Whoever can write to the folder decides what code we run, digests or no digests: they lie beside what they vouch for.
// So we go by ssh's rule for keys. A folder that is not there, or is none, is no danger.
Status trusted(const fs::path& folder) {
  struct stat about{};
  if (folder.empty() || ::stat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) return {};
  const std::string others = base::changeable_by(about);
  if (others.empty()) return {};
  return Status::invalid(fmt::format(
      "the kernel cache {} is not used: {}, and whoever can write there decides what code runs here. Empty it "
      "and chmod 700 it, or let TOKITAI_CACHE name another folder",
      folder.string(), others));
}

}  // namespace

fs::path default_cache_folder() {
  if (const std::string named = base::environment("TOKITAI_CACHE"); !named.empty()) return named;
  if (const fs::path home = base::environment("XDG_CACHE_HOME"); home.is_absolute()) return home / "tokitai";
  if (const std::string home = base::environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "tokitai";
  return {};
}

fs::path digest_memory() {
  const fs::path folder = default_cache_folder();
  return folder.empty() ? folder : folder / "compilers";
}

Result<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::size_t power = unit.empty() ? 0 : std::string_view("KMG").find(unit) + 1;
  if (error != std::errc() || unit.size() > 1 || power > 3 || (!unit.empty() && power == 0) ||
      number > std::numeric_limits<std::uint64_t>::max() >> (10 * power))
    return Status::invalid(fmt::format("'{}' is no size: bytes, or a number with K, M or G", text));
  return number << (10 * power);
}

Result<Cache> Cache::open(fs::path folder) {
  std::uint64_t limit = kDefaultLimit;
  if (const std::string named = base::environment("TOKITAI_CACHE_LIMIT"); !named.empty()) {
    const auto size = parse_size(named);
    if (!size.ok()) return Status::invalid("TOKITAI_CACHE_LIMIT: " + size.status().message());
    limit = size.value();
  }
  if (Status status = trusted(folder); !status.ok()) return status;
  return Cache(std::move(folder), limit);
}

Result<Artifact> Cache::get(const Source& source, const Target& target) const {
  const auto prepared = prepare(source, target);
  if (!prepared.ok()) return prepared.status();
  const std::string& key = prepared->key;
  if (auto found = load(key, true); found.ok()) return found;

  auto held = lock(key, true);
  if (!held.ok()) {
    auto built = build(prepared.value());
    if (built.ok()) built->note = "not stored: " + held.status().message();
    return built;
  }
  if (auto found = load(key, true); found.ok()) return found;  // whoever held the lock has made it
  auto built = build(prepared.value());
  if (!built.ok()) return built;
  if (Status stored = store(built.value()); !stored.ok()) {
    built->note = "not stored: " + stored.message();
    return built;
  }
  held->close();
  Swept swept;
  trim(look(false), key, swept);
  return built;
}

Result<Artifact> Cache::load(const std::string& key, bool use) const {
  if (folder_.empty()) return Status(Code::unavailable, "there is no cache folder");
  const fs::path path = entry(key);
  const auto damaged = [&](std::string why) { return Status(Code::check_failed, std::move(why)); };
  struct stat about{};
  if (::stat(path.c_str(), &about) == 0)
    if (const std::string others = base::changeable_by(about); !others.empty()) return damaged(others);
  const auto manifest = base::read_own_file(path / kManifest);
  if (!manifest.ok()) return damaged("its manifest is missing");
  Artifact out;
  if (Status status = read_manifest(manifest.value(), out); !status.ok()) return status;
  if (out.manifest.key != key) return damaged("its manifest is that of another entry");
  auto binary = base::read_own_file(path / kBinary);
  if (!binary.ok()) return damaged("its binary is missing");
  auto text = base::read_own_file(path / kText);
  if (!text.ok()) return damaged("its text is missing");
  if (base::sha256(binary.value()) != out.manifest.binary_digest) return damaged("its binary was changed");
  if (base::sha256(text.value()) != out.manifest.text_digest) return damaged("its text was changed");
  if (use)
    ::utimensat(AT_FDCWD, (path / kManifest).c_str(), nullptr, 0);  // last used now; a read-only cache need not know
  out.binary = std::move(binary).value();
  out.text = std::move(text).value();
  out.from_cache = true;
  return out;
}

// A lock is a file of the key's name, which is left where it is: removing it needs the lock itself.
Result<base::Descriptor> Cache::lock(const std::string& key, bool wait) const {
  if (folder_.empty()) return Status(Code::unavailable, "none of TOKITAI_CACHE, XDG_CACHE_HOME and HOME is set");
  if (Status status = base::make_own_folders(locks()); !status.ok()) return status;
  const fs::path path = locks() / key;
  for (;;) {
    base::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!file) return fail("open", path, std::strerror(errno));
    if (!lock_file(file, wait)) return fail("lock", path, std::strerror(errno));
    if (is_at(file, path)) return file;
  }
}

// The caller holds the key's lock.
Status Cache::store(const Artifact& artifact) const {
  if (Status status = base::make_own_folders(making()); !status.ok()) return status;
  const std::string& key = artifact.manifest.key;
  fs::path made;
  base::Descriptor held;  // the folder's lock says that it is still being made
  do {
    auto folder = base::make_folder(making(), key.substr(0, 12) + "-");
    if (!folder.ok()) return folder.status();
    made = std::move(folder).value();
    held = base::Descriptor(::open(made.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  } while (held && (!lock_file(held, false) || !is_at(held, made)));

  Status status = base::write_file(made / kBinary, artifact.binary);
  if (status.ok()) status = base::write_file(made / kText, artifact.text);
  if (status.ok()) status = base::write_file(made / kManifest, manifest_text(artifact));
  const fs::path old = made.string() + "-old";
  if (status.ok() && ::rename(entry(key).c_str(), old.c_str()) != 0 && errno != ENOENT)  // the damaged one
    status = fail("move", entry(key), std::strerror(errno));
  if (status.ok() && ::rename(made.c_str(), entry(key).c_str()) != 0)
    status = fail("publish", entry(key), std::strerror(errno));
  std::error_code ignored;
  fs::remove_all(old, ignored);
  if (!status.ok()) fs::remove_all(made, ignored);
  return status;
}

}  // namespace tokitai::compiler
