// Small kernels for the tests, of one text for both vendors, and what can compile them here.
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "compiler/compiler.h"

namespace tokitai::compiler::testing {

inline constexpr std::string_view kDevice = R"(#pragma once
#if defined(__HIP__)
#define KERNEL extern "C" __attribute__((global))
#define FN __attribute__((device)) inline
#define ROOT(x) __builtin_sqrtf(x)
FN int thread() { return (int)__builtin_amdgcn_workitem_id_x(); }
#else
#define KERNEL extern "C" __global__
#define FN __device__ inline
#define ROOT(x) __fsqrt_rn(x)
FN int thread() { return (int)threadIdx.x; }
#endif
)";
inline constexpr std::array kHeaders{
    Header{"device/base.h", kDevice},
    Header{"device/scale.h", "#include \"device/base.h\"\nFN float scale(float x) { return x * 3.0f; }\n"},
    Header{"other.h", "FN float unused(float x) { return x; }\n"}};

inline Source kernel(const std::string& name, const std::string& expression) {
  return {.label = name,
          .text = "#include \"device/base.h\"\n#include <device/scale.h>\nKERNEL void " + name +
                  "(float* p, const float* q) { int i = thread(); p[i] = " + expression + "; }\n",
          .headers = kHeaders,
          .options = {}};
}

// One target for each compiler that is here.
inline std::vector<Target> targets_here() {
  std::vector<Target> out;
  if (toolchain(Vendor::nvidia).ok()) out.push_back(find_target("sm_90a").value());
  if (toolchain(Vendor::amd).ok()) out.push_back(find_target("gfx942").value());
  return out;
}

inline ::testing::AssertionResult says(const Status& status, const std::string& words) {
  if (status.message().find(words) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << words << "' is not in: " << status.message();
}

// A folder of the test's own that is the cache's default meanwhile.
class WithFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(temporary_.ok());
    for (const char* name : {"TOKITAI_CACHE", "TOKITAI_CACHE_LIMIT", "TOKITAI_NVRTC", "TOKITAI_CLANG"}) {
      const char* value = std::getenv(name);
      before_.emplace_back(name, value == nullptr ? "" : value);
    }
    ::setenv("TOKITAI_CACHE", (folder() / "cache").c_str(), 1);
  }
  void TearDown() override {
    for (const auto& [name, value] : before_)
      value.empty() ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), value.c_str(), 1);
  }
  const std::filesystem::path& folder() const { return temporary_->path(); }

 private:
  Result<base::TemporaryFolder> temporary_ = base::TemporaryFolder::make();
  std::vector<std::pair<std::string, std::string>> before_;  // the environment
};

#define SKIP_WITHOUT_COMPILER(targets) \
  if ((targets).empty()) GTEST_SKIP() << "neither NVRTC nor clang with lld is here"

}  // namespace tokitai::compiler::testing
