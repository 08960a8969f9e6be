// Keeping the cache: listing, checking, and removing what is damaged, left over or too much.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "compiler/cache.h"
#include "compiler/manifest.h"

namespace tokitai::compiler {
namespace {

namespace fs = std::filesystem;

bool is_key(std::string_view name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<fs::path> inside(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    out.push_back(at->path());
  return out;
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t out = 0;
  for (const fs::path& file : inside(folder)) {
    struct stat about{};
    if (::stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode)) out += static_cast<std::uint64_t>(about.st_size);
  }
  return out;
}

}  // namespace

std::vector<Cache::Entry> Cache::look(bool every_byte) const {
  std::vector<Entry> out;
  if (folder_.empty()) return out;
  for (const fs::path& path : inside(folder_)) {
    Entry one{.key = path.filename().string(), .manifest = {}, .bytes = bytes_in(path), .used = 0, .damage = {}};
    if (!is_key(one.key)) continue;
    struct stat about{};
    const fs::path manifest = path / "manifest";
    if (::stat(manifest.c_str(), &about) == 0) one.used = about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec;
    Artifact artifact;
    Status status;
    if (const auto text = base::read_own_file(manifest); text.ok())
      status = read_manifest(text.value(), artifact);
    else
      status = {Code::check_failed, "its manifest is missing"};
    if (status.ok() && artifact.manifest.key != one.key)
      status = {Code::check_failed, "its manifest is that of another entry"};
    one.manifest = artifact.manifest;
    if (status.ok() && every_byte) status = load(one.key, false).status();
    one.damage = status.message();
    out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end(),
            [](const Entry& a, const Entry& b) { return a.used != b.used ? a.used > b.used : a.key < b.key; });
  return out;
}

std::vector<Cache::Entry> Cache::list() const { return look(false); }
std::vector<Cache::Entry> Cache::verify() const { return look(true); }

// Under the key's lock, and first renamed away: nobody sees half an entry. One that is in use stays.
bool Cache::remove(const Entry& one, Swept& swept) const {
  const auto held = lock(one.key, false);
  if (!held.ok()) return false;
  if (!base::make_own_folders(making()).ok()) return false;
  const auto away = base::make_folder(making(), "gone-");
  if (!away.ok()) return false;
  std::error_code error;
  fs::rename(entry(one.key), away.value() / one.key, error);
  const bool gone = !error;
  fs::remove_all(away.value(), error);
  if (!gone) return false;
  ++swept.entries;
  swept.bytes += one.bytes;
  return true;
}

void Cache::trim(std::vector<Entry> entries, const std::string& keep, Swept& swept) const {
  std::uint64_t total = 0;
  for (const Entry& one : entries) total += one.bytes;
  for (auto oldest = entries.rbegin(); oldest != entries.rend() && total > limit_; ++oldest)
    if (oldest->key != keep && remove(*oldest, swept)) total -= oldest->bytes;
}

// What is being made is locked by its maker for as long as that process lives; what can be locked is left over.
void Cache::sweep_leftovers(Swept& swept) const {
  for (const fs::path& path : inside(making())) {
    // Neither a FIFO's other end is waited for, nor a link followed out of the folder.
    const base::Descriptor folder(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    if (!folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const std::uint64_t bytes = bytes_in(path);
    std::error_code error;
    if (fs::remove_all(path, error) == 0 || error) continue;
    ++swept.leftovers;
    swept.bytes += bytes;
  }
  for (const fs::path& path : inside(locks())) {
    const base::Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    std::error_code error;
    if (!is_key(path.filename().string()) || fs::exists(entry(path.filename().string()), error)) continue;
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  }
}

Cache::Swept Cache::gc() const {
  Swept swept;
  if (folder_.empty()) return swept;
  for (const Entry& one : look(true))
    if (!one.damage.empty() && !remove(one, swept)) ++swept.kept;
  trim(look(false), "", swept);
  sweep_leftovers(swept);
  return swept;
}

Cache::Swept Cache::clear() const {
  Swept swept;
  if (folder_.empty()) return swept;
  for (const Entry& one : look(false))
    if (!remove(one, swept)) ++swept.kept;
  sweep_leftovers(swept);
  std::error_code ignored;
  fs::remove_all(folder_ / "compilers", ignored);
  return swept;
}

}  // namespace tokitai::compiler
