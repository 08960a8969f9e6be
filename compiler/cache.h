// Artifacts kept by the digest of everything they were made from. An entry is published whole, by a rename under
// the key's lock, so that many processes that ask at once compile once; it is checked by digest at every load, and a
// damaged one is rebuilt, never used. A folder that cannot be used makes compiling slower, never wrong.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "compiler/compiler.h"

namespace tokitai::compiler {

// $TOKITAI_CACHE, else $XDG_CACHE_HOME/tokitai, else ~/.cache/tokitai; empty where none of them is set.
std::filesystem::path default_cache_folder();
// Where digests of compilers are remembered: in that folder.
std::filesystem::path digest_memory();

class Cache {
 public:
  // Creates nothing. Refused: a folder that others than its owner may write to, because code is run out of it; a limit
  // in $TOKITAI_CACHE_LIMIT that is no size.
  static Result<Cache> open(std::filesystem::path folder = default_cache_folder());

  // From the cache, or compiled and stored. Where it cannot be stored, Artifact::note says why.
  Result<Artifact> get(const Source& source, const Target& target) const;

  struct Entry {
    std::string key;
    Manifest manifest;
    std::uint64_t bytes = 0;
    std::int64_t used = 0;  // nanoseconds since 1970
    std::string damage;     // empty: sound, as far as it was looked at
  };
  std::vector<Entry> list() const;    // last used first; manifests are checked
  std::vector<Entry> verify() const;  // the same, and every byte is checked

  struct Swept {
    int entries = 0, leftovers = 0;  // leftovers: what dead processes had half made
    int kept = 0;                    // entries that should have gone: in use, or in a folder that is read-only
    std::uint64_t bytes = 0;
  };
  Swept gc() const;     // damaged entries, what is over the limit, leftovers
  Swept clear() const;  // every entry

  const std::filesystem::path& folder() const { return folder_; }
  std::uint64_t limit() const { return limit_; }

 private:
  Cache(std::filesystem::path folder, std::uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}
  std::filesystem::path entry(const std::string& key) const { return folder_ / key; }
  std::filesystem::path making() const { return folder_ / "making"; }
  std::filesystem::path locks() const { return folder_ / "locks"; }

  Result<Artifact> load(const std::string& key, bool use) const;  // `use`: it counts as used now
  std::vector<Entry> look(bool every_byte) const;
  Result<base::Descriptor> lock(const std::string& key, bool wait) const;
  Status store(const Artifact& artifact) const;
  bool remove(const Entry& entry, Swept& swept) const;
  void trim(std::vector<Entry> entries, const std::string& keep, Swept& swept) const;
  void sweep_leftovers(Swept& swept) const;

  std::filesystem::path folder_;
  std::uint64_t limit_;
};

// "1073741824", "512K", "100M", "1G".
Result<std::uint64_t> parse_size(std::string_view text);

}  // namespace tokitai::compiler
