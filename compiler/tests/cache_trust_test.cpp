// The cache's folder decides what code runs: one that others may write to is refused, as ssh refuses keys, and what
// others may have written in it is not used. What we make is ours alone.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "compiler/cache.h"
#include "compiler/tests/kernels.h"

namespace tokitai::compiler::testing {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;
constexpr Target kHost{"host", Vendor::host, 32, 0, false};  // lockstep's libraries, which are loaded into the process

Source library() {
  return {.label = "library", .text = "extern \"C\" int answer() { return 42; }\n", .headers = {}, .options = {}};
}
mode_t mode_of(const fs::path& path) {
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
}

class CacheTrust : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    if (!toolchain(Vendor::host).ok()) GTEST_SKIP() << "no C++ compiler is here";
  }
  fs::path cache() const { return folder() / "cache"; }
  Artifact get() {
    auto artifact = Cache::open()->get(library(), kHost);
    EXPECT_TRUE(artifact.ok()) << artifact.status().message();
    return artifact.ok() ? std::move(artifact).value() : Artifact{};
  }
};

TEST_F(CacheTrust, RefusesAFolderThatOthersMayWriteTo) {
  fs::create_directory(cache());
  fs::create_directory_symlink(cache(), folder() / "link");
  for (const int mode : {0777, 0770, 0720, 0702, 0775, 01777}) {
    ASSERT_EQ(::chmod(cache().c_str(), static_cast<mode_t>(mode)), 0);
    for (const fs::path& path : {cache(), folder() / "link"}) {
      const Status status = Cache::open(path).status();
      EXPECT_EQ(status.code(), Code::invalid) << mode;
      EXPECT_TRUE(says(status, path.string()));
      EXPECT_TRUE(says(status, fmt::format("its mode is {:o}", mode)));
      EXPECT_TRUE(says(status, "chmod 700"));
    }
  }
  for (const int mode : {0700, 0755, 0500, 0711}) {
    ASSERT_EQ(::chmod(cache().c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_TRUE(Cache::open(cache()).ok()) << mode;
    EXPECT_TRUE(Cache::open(folder() / "link").ok()) << mode;
  }
}

TEST_F(CacheTrust, RefusesAFolderThatBelongsToAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  fs::create_directory(cache());
  ASSERT_EQ(::chown(cache().c_str(), kNobody, kNobody), 0);
  EXPECT_TRUE(says(Cache::open(cache()).status(), "it belongs to user 65534; we are 0"));
}

TEST_F(CacheTrust, MakesFoldersThatOnlyTheirOwnerMayEnter) {
  const mode_t before = ::umask(0);
  ::setenv("TOKITAI_CACHE", (folder() / "new" / "cache").c_str(), 1);
  const Artifact made = get();
  ::umask(before);
  const fs::path root = folder() / "new" / "cache";
  for (const fs::path& path : {folder() / "new", root, root / "locks", root / "making", root / made.manifest.key})
    EXPECT_EQ(mode_of(path), 0700u) << path;
  EXPECT_EQ(mode_of(root / made.manifest.key / "binary"), 0600u);
  EXPECT_TRUE(get().from_cache);
}

TEST_F(CacheTrust, DoesNotUseWhatOthersMayHaveWritten) {
  const Artifact made = get();
  const fs::path entry = cache() / made.manifest.key;
  for (const fs::path& path : {entry, entry / "binary", entry / "text", entry / "manifest"}) {
    ASSERT_TRUE(get().from_cache);
    ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
    EXPECT_NE(Cache::open()->verify()[0].damage, "") << path;
    EXPECT_FALSE(get().from_cache) << path;
    ASSERT_TRUE(get().from_cache);
    if (::geteuid() != 0) continue;
    ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
    EXPECT_FALSE(get().from_cache) << path;
  }
}

TEST_F(CacheTrust, DoesNotBelieveADigestThatOthersMayHaveNoted) {
  const fs::path file = folder() / "compiler", memory = folder() / "memory";
  ASSERT_TRUE(base::write_file(file, "one").ok());
  const auto digest = base::sha256_of_file(file, memory);
  ASSERT_TRUE(digest.ok());
  const fs::path note = fs::directory_iterator(memory)->path();
  const std::string name = note.filename().string(), lie(64, '0');
  ASSERT_TRUE(base::write_file(note, lie + " " + base::sha256(name + lie) + "\n").ok());
  EXPECT_EQ(base::sha256_of_file(file, memory).value(), lie);  // ours: who can write it can write everything of ours
  ASSERT_EQ(::chmod(note.c_str(), 0666), 0);
  EXPECT_EQ(base::sha256_of_file(file, memory).value(), digest.value());
}

}  // namespace
}  // namespace tokitai::compiler::testing
