// The cache: hits, every kind of damage, folders that cannot be used, the size limit, many processes.
#include "compiler/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>

#include "compiler/tests/kernels.h"

namespace tokitai::compiler::testing {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) { return base::read_file(path).value(); }
void put(const fs::path& path, const std::string& bytes) { ASSERT_TRUE(base::write_file(path, bytes).ok()); }
void flip(const fs::path& path, std::size_t at) {
  std::string bytes = bytes_of(path);
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
  put(path, bytes);
}

class CacheTest : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    here_ = targets_here();
    SKIP_WITHOUT_COMPILER(here_);
  }
  Artifact get(const Source& source) {
    auto artifact = Cache::open()->get(source, here_[0]);
    EXPECT_TRUE(artifact.ok()) << artifact.status().message();
    return artifact.ok() ? std::move(artifact).value() : Artifact{};
  }
  fs::path entry(const Artifact& artifact) const { return folder() / "cache" / artifact.manifest.key; }

  std::vector<Target> here_;
  const Source source_ = kernel("k", "scale(q[i])");
};

TEST_F(CacheTest, SecondRequestIsAHitWithTheSameArtifact) {
  const Artifact made = get(source_), found = get(source_);
  EXPECT_FALSE(made.from_cache);
  EXPECT_TRUE(found.from_cache);
  EXPECT_EQ(made.note, "");
  EXPECT_EQ(made.binary, found.binary);
  EXPECT_EQ(made.text, found.text);
  EXPECT_EQ(made.manifest.toolchain, found.manifest.toolchain);
  EXPECT_EQ(made.manifest.build_seconds, found.manifest.build_seconds);
  ASSERT_EQ(found.resources.size(), 1u);
  EXPECT_EQ(made.resources[0].registers, found.resources[0].registers);
  EXPECT_FALSE(get(kernel("k", "scale(q[i]) + 1.0f")).from_cache);
}

TEST_F(CacheTest, DamagedEntryIsRebuiltAndReplaced) {
  const Artifact made = get(source_), other = get(kernel("other", "q[i]"));
  const fs::path path = entry(made);
  const std::vector<std::pair<const char*, std::function<void()>>> damages = {
      {"first byte of the binary", [&] { flip(path / "binary", 0); }},
      {"last byte of the binary", [&] { flip(path / "binary", made.binary.size() - 1); }},
      {"byte of the text", [&] { flip(path / "text", made.text.size() / 2); }},
      {"truncated binary", [&] { put(path / "binary", made.binary.substr(0, 100)); }},
      {"empty text", [&] { put(path / "text", ""); }},
      {"longer binary", [&] { put(path / "binary", made.binary + "x"); }},
      {"no binary", [&] { fs::remove(path / "binary"); }},
      {"no text", [&] { fs::remove(path / "text"); }},
      {"no manifest", [&] { fs::remove(path / "manifest"); }},
      {"empty manifest", [&] { put(path / "manifest", ""); }},
      {"manifest of another type", [&] { put(path / "manifest", "[1, 2]"); }},
      {"changed figure",
       [&] {
         std::string text = bytes_of(path / "manifest");
         text.replace(text.find("registers=") + 10, 1, "9999");
         put(path / "manifest", text);
       }},
      {"entry of another key",
       [&] {
         for (const char* file : {"binary", "text", "manifest"}) put(path / file, bytes_of(entry(other) / file));
       }},
      {"binary is a folder",
       [&] {
         fs::remove(path / "binary");
         fs::create_directory(path / "binary");
       }},
      {"entry is a file",
       [&] {
         fs::remove_all(path);
         put(path, "x");
       }},
  };
  for (const auto& [what, damage] : damages) {
    damage();
    const auto seen = Cache::open()->verify();
    EXPECT_EQ(std::count_if(seen.begin(), seen.end(), [](const auto& one) { return !one.damage.empty(); }), 1) << what;
    const Artifact again = get(source_);
    EXPECT_FALSE(again.from_cache) << what;
    EXPECT_EQ(again.note, "") << what;
    EXPECT_EQ(again.binary, made.binary) << what;
    EXPECT_TRUE(get(source_).from_cache) << what;
  }
  EXPECT_TRUE(fs::is_empty(folder() / "cache" / "making"));
}

TEST_F(CacheTest, FolderThatCannotBeMadeCostsOnlyTheCache) {
  put(folder() / "file", "");
  for (const fs::path& path : {folder() / "file" / "cache", fs::path("/proc/no/such"), fs::path()}) {
    const auto cache = Cache::open(path);
    const auto artifact = cache->get(source_, here_[0]);
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    EXPECT_TRUE(artifact->note.starts_with("not stored"));
    EXPECT_FALSE(artifact->binary.empty());
    EXPECT_TRUE(cache->list().empty());
    EXPECT_EQ(cache->gc().entries, 0);
  }
  fs::create_directories(folder() / "cache");
  put(folder() / "cache" / "making", "");
  EXPECT_TRUE(get(source_).note.starts_with("not stored"));
}

// Runs `work` in a process of its own; true where it returned true.
bool in_child(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  int state = 0;
  ::waitpid(child, &state, 0);
  return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

TEST_F(CacheTest, ReadOnlyFolderIsReadAndNotWritten) {
  const Artifact made = get(source_);
  const uid_t nobody = 65534;
  for (const auto& one : fs::recursive_directory_iterator(folder() / "cache"))
    ASSERT_TRUE(::getuid() != 0 || ::chown(one.path().c_str(), nobody, nobody) == 0);
  for (const fs::path& path :
       {folder(), folder() / "cache", folder() / "cache" / "locks", folder() / "cache" / "making"})
    fs::permissions(path, fs::perms(0555));
  EXPECT_TRUE(in_child([&] {
    if (::getuid() == 0 && ::setuid(nobody) != 0) return false;
    const auto hit = Cache::open()->get(source_, here_[0]);
    const auto miss = Cache::open()->get(kernel("other", "q[i]"), here_[0]);
    return hit.ok() && hit->from_cache && miss.ok() && !miss->from_cache && miss->note.starts_with("not stored");
  }));
  for (const fs::path& path :
       {folder(), folder() / "cache", folder() / "cache" / "locks", folder() / "cache" / "making"})
    fs::permissions(path, fs::perms(0755));
}

TEST_F(CacheTest, FullDiskIsSaidAndLeavesNothingBehind) {
  if (here_[0].vendor != Vendor::nvidia) GTEST_SKIP() << "needs NVRTC, which writes no files of its own";
  EXPECT_TRUE(in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto artifact = Cache::open()->get(source_, here_[0]);
    return artifact.ok() && !artifact->binary.empty() && artifact->note.starts_with("not stored");
  }));
  EXPECT_TRUE(fs::is_empty(folder() / "cache" / "making"));
  EXPECT_TRUE(Cache::open()->list().empty());
}

TEST_F(CacheTest, SizeLimitRemovesTheLeastRecentlyUsed) {
  const Artifact a = get(kernel("a", "q[i]")), b = get(kernel("b", "q[i]"));
  const auto size = Cache::open()->list().front().bytes;
  const auto age = [&](const Artifact& artifact, int seconds) {
    fs::last_write_time(entry(artifact) / "manifest", fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  };
  age(a, 200);
  age(b, 100);
  EXPECT_TRUE(get(kernel("a", "q[i]")).from_cache);  // used: b is now the oldest
  ::setenv("TOKITAI_CACHE_LIMIT", std::to_string(size * 5 / 2).c_str(), 1);
  const Artifact c = get(kernel("c", "q[i]"));
  EXPECT_TRUE(fs::exists(entry(a)));
  EXPECT_FALSE(fs::exists(entry(b)));
  EXPECT_TRUE(fs::exists(entry(c)));
  ::setenv("TOKITAI_CACHE_LIMIT", "1", 1);  // what was just asked for stays
  const Artifact d = get(kernel("d", "q[i]"));
  EXPECT_EQ(Cache::open()->list().size(), 1u);
  EXPECT_TRUE(fs::exists(entry(d)));
  EXPECT_EQ(Cache::open()->gc().entries, 1);
  EXPECT_TRUE(Cache::open()->list().empty());
}

TEST_F(CacheTest, GcRemovesWhatDeadProcessesLeft) {
  const Artifact made = get(source_), other = get(kernel("other", "q[i]"));
  const fs::path making = folder() / "cache" / "making", dead = making / "dead", alive = making / "alive";
  fs::create_directory(dead);
  fs::create_directory(alive);
  put(dead / "binary", "half");
  put(folder() / "cache" / "locks" / std::string(64, 'a'), "");
  flip(entry(other) / "binary", 5);
  const base::Descriptor held(::open(alive.c_str(), O_RDONLY));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  const auto swept = Cache::open()->gc();
  EXPECT_EQ(swept.entries, 1);  // the damaged one
  EXPECT_EQ(swept.leftovers, 1);
  EXPECT_FALSE(fs::exists(folder() / "cache" / "locks" / std::string(64, 'a')));
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(get(source_).from_cache);
  EXPECT_EQ(Cache::open()->clear().entries, 1);
  EXPECT_TRUE(Cache::open()->list().empty());
}

TEST(CacheSettings, AreReadFromTheEnvironment) {
  EXPECT_EQ(parse_size("123").value(), 123u);
  EXPECT_EQ(parse_size("2K").value(), 2048u);
  EXPECT_EQ(parse_size("3M").value(), 3u << 20);
  EXPECT_EQ(parse_size("1G").value(), 1u << 30);
  for (const char* bad : {"", "K", "-1", "1T", "1 K", "1KK", "99999999999999999999", "99999999999G"})
    EXPECT_EQ(parse_size(bad).status().code(), Code::invalid) << bad;
  ::setenv("TOKITAI_CACHE_LIMIT", "much", 1);
  EXPECT_EQ(Cache::open("/tmp").status().code(), Code::invalid);
  ::unsetenv("TOKITAI_CACHE_LIMIT");
  const char* named = std::getenv("TOKITAI_CACHE");
  const std::string outer = named == nullptr ? "" : named;
  ::unsetenv("TOKITAI_CACHE");
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(default_cache_folder(), "/x/tokitai");
  ::setenv("TOKITAI_CACHE", "/y", 1);
  EXPECT_EQ(default_cache_folder(), "/y");
  ::unsetenv("TOKITAI_CACHE");
  ::unsetenv("XDG_CACHE_HOME");
  if (!outer.empty()) ::setenv("TOKITAI_CACHE", outer.c_str(), 1);
}

// A number of processes with an empty cache ask for the same three kernels, each beginning with another.
void ask_at_once(const Target& target, const fs::path& answers) {
  const std::vector<Source> sources{kernel("a", "q[i]"), kernel("b", "scale(q[i])"), kernel("c", "ROOT(q[i])")};
  constexpr int kProcesses = 32;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    std::string lines;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Source& source = sources[(i + static_cast<std::size_t>(process)) % sources.size()];
      const auto artifact = Cache::open()->get(source, target);
      if (!artifact.ok() || !artifact->note.empty()) ::_exit(1);
      lines +=
          source.label + (artifact->from_cache ? " found " : " compiled ") + artifact->manifest.binary_digest + "\n";
    }
    ::_exit(base::write_file(answers / std::to_string(process), lines).ok() ? 0 : 1);
  }
  for (const pid_t child : children) {
    int state = 0;
    ASSERT_EQ(::waitpid(child, &state, 0), child);
    ASSERT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0);
  }
  std::multiset<std::string> compiled, found;
  for (const auto& answer : fs::directory_iterator(answers)) {
    std::ifstream file(answer.path());
    for (std::string name, how, digest; file >> name >> how >> digest;)
      (how == "compiled" ? compiled : found).insert(name + " " + digest);
  }
  EXPECT_EQ(compiled.size(), 3u);  // each once
  EXPECT_EQ(found.size(), 3u * (kProcesses - 1));
  for (const std::string& one : compiled) EXPECT_EQ(found.count(one), std::size_t{kProcesses - 1}) << one;
}

TEST_F(CacheTest, ManyProcessesCompileOnce) {
  fs::create_directory(folder() / "answers");
  ASSERT_TRUE(toolchain(here_[0].vendor).ok());
  ask_at_once(here_[0], folder() / "answers");
}

// The same, and the compiler itself counts how often it was run.
TEST_F(CacheTest, ManyProcessesRunTheCompilerOnce) {
  const auto clang = toolchain(Vendor::amd);
  if (!clang.ok()) GTEST_SKIP() << clang.status().message();
  const fs::path wrapper = folder() / "counting-clang";
  put(wrapper, "#!/bin/sh\ncase \"$*\" in *' -S '*) echo run >>" + (folder() / "count").string() + ";; esac\nexec " +
                   clang->path + " \"$@\"\n");
  fs::permissions(wrapper, fs::perms(0700));
  ::setenv("TOKITAI_CLANG", wrapper.c_str(), 1);
  fs::create_directory(folder() / "answers");
  const auto wrapped = toolchain(Vendor::amd);
  ASSERT_TRUE(wrapped.ok()) << wrapped.status().message();
  ask_at_once(find_target("gfx1101").value(), folder() / "answers");
  EXPECT_EQ(bytes_of(folder() / "count"), "run\nrun\nrun\n");
}

}  // namespace
}  // namespace tokitai::compiler::testing
