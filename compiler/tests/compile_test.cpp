// Targets, toolchains and compiling as a pure function.
#include <fstream>

#include "compiler/build.h"
#include "compiler/bundle.h"
#include "compiler/tests/kernels.h"

namespace tokitai::compiler::testing {
namespace {

class Compile : public WithFolder {};

TEST(Target, IsFoundByName) {
  EXPECT_EQ(targets().size(), 9u);
  for (const Target& target : targets()) EXPECT_EQ(find_target(target.name)->name, target.name);
  EXPECT_EQ(find_target("gfx942")->warp, 64);
  EXPECT_EQ(find_target("sm_90a")->shared_bytes, 232448);
  EXPECT_TRUE(find_target("sm_100a")->clusters);
}

TEST(Target, UnknownOneListsThoseThereAre) {
  const auto unknown = find_target("sm_7");
  EXPECT_EQ(unknown.status().code(), Code::invalid);
  EXPECT_TRUE(says(unknown.status(), "sm_80, sm_89, sm_90a, sm_100a, gfx90a"));
}

TEST(Target, FitsADevicesCapability) {
  EXPECT_EQ(target_for_capability(80)->name, "sm_80");
  EXPECT_EQ(target_for_capability(86)->name, "sm_80");
  EXPECT_EQ(target_for_capability(89)->name, "sm_89");
  EXPECT_EQ(target_for_capability(90)->name, "sm_90a");
  EXPECT_EQ(target_for_capability(100)->name, "sm_100a");
  EXPECT_EQ(target_for_capability(103).status().code(), Code::unavailable);  // code for 10.0a runs on 10.0 alone
  EXPECT_EQ(target_for_capability(75).status().code(), Code::unavailable);
}

using Names = std::vector<std::string>;
Names names_of(const std::vector<Header>& headers) {
  Names out;
  for (const Header& header : headers) out.emplace_back(header.name);
  return out;
}

TEST(Bundle, TakesTheHeadersThatTheTextReaches) {
  EXPECT_EQ(names_of(reachable("#include <device/scale.h>\n", kHeaders)), (Names{"device/base.h", "device/scale.h"}));
  const std::array beside{Header{"a/b.h", "#include \"c.h\""}, Header{"a/c.h", ""}};
  EXPECT_EQ(names_of(reachable("#include \"a/b.h\"", beside)), (Names{"a/b.h", "a/c.h"}));
  EXPECT_EQ(names_of(reachable("  #  include \"other.h\" // x\n", kHeaders)), (Names{"other.h"}));
  EXPECT_EQ(names_of(reachable("#include \"nowhere.h\"\nint x;", kHeaders)), (Names{}));
  EXPECT_EQ(reachable("#define H \"other.h\"\n#include H\n", kHeaders).size(), kHeaders.size());
}

TEST(Bundle, RefusesWhatCompilingMayNotDependOn) {
  Source source = kernel("k", "q[i]");
  const auto code_with = [&](const std::string& option) {
    source.options = {option};
    return check_source(source, {}).code();
  };
  EXPECT_EQ(code_with("-DPATH=/tmp"), Code::ok);
  EXPECT_EQ(code_with("--maxrregcount=64"), Code::ok);
  for (const char* option : {"-I/usr/include", "-include", "@file", "x.cu", "-D", "", "-lineinfo", "-g", "--fmad=true",
                             "--use_fast_math", "-ffast-math", "-ffp-contract=fast", "-mllvm", "--maxrregcount="})
    EXPECT_EQ(code_with(option), Code::invalid) << option;
  source.options.clear();
  source.text += "const char* when = __DATE__;";
  EXPECT_EQ(check_source(source, {}).code(), Code::invalid);
  for (const char* name : {"../x.h", "/etc/passwd", "a/../b.h", ""}) {
    const Header out{name, ""};
    EXPECT_EQ(check_source({"k", "", {&out, 1}, {}}, {}).code(), Code::invalid) << name;
  }
  const std::array twice{Header{"a.h", "1"}, Header{"a.h", "2"}};
  EXPECT_EQ(check_source({"k", "", twice, {}}, {}).code(), Code::invalid);
}

TEST_F(Compile, GivesTheSameBytesEveryTime) {
  const auto here = targets_here();
  SKIP_WITHOUT_COMPILER(here);
  const Source source = kernel("k", "scale(q[i]) / ROOT(q[i + 1])");
  for (const Target& target : here) {
    const auto a = compile(source, target), b = compile(source, target);
    ASSERT_TRUE(a.ok()) << a.status().message();
    ASSERT_TRUE(b.ok()) << b.status().message();
    EXPECT_EQ(a->binary, b->binary) << target.name;
    EXPECT_EQ(a->text, b->text) << target.name;
    EXPECT_EQ(a->manifest.key, b->manifest.key);
    EXPECT_EQ(a->binary.substr(1, 3), "ELF");
    for (const char* path : {"/tmp", "tokitai-", "/dev/null"}) {
      EXPECT_EQ(a->binary.find(path), std::string::npos) << path;
      EXPECT_EQ(a->text.find(path), std::string::npos) << path;
      EXPECT_EQ(a->manifest.command.find(path), std::string::npos) << path;
    }
    // The second time, too: beside a driver NVRTC would answer from a cache of its own, without them.
    for (const auto& one : {a->resources, b->resources}) {
      ASSERT_EQ(one.size(), 1u) << target.name;
      EXPECT_EQ(one[0].kernel, "k");
      EXPECT_GT(one[0].registers, 0);
    }
    if (a->manifest.toolchain.starts_with("NVRTC 13")) {
      EXPECT_NE(a->manifest.command.find(" --no-cache "), std::string::npos) << a->manifest.command;
    }
  }
}

TEST_F(Compile, WorksForEveryTarget) {
  const auto here = targets_here();
  SKIP_WITHOUT_COMPILER(here);
  for (const Target& target : targets()) {
    if (!toolchain(target.vendor).ok()) continue;
    const auto artifact = compile(kernel("k", "scale(q[i])"), target);
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    EXPECT_EQ(artifact->manifest.target, target.name);
  }
}

TEST_F(Compile, KeyCoversEveryInput) {
  const auto here = targets_here();
  SKIP_WITHOUT_COMPILER(here);
  const auto key = [&](const Source& source, const Target& target) { return prepare(source, target)->key; };
  const Source source = kernel("k", "q[i]");
  const std::string plain = key(source, here[0]);
  const auto differs = [&](auto change) {
    Source other = source;
    change(other);
    return key(other, here[0]) != plain;
  };
  EXPECT_TRUE(differs([](Source& s) { s.text += " "; }));
  EXPECT_TRUE(differs([](Source& s) { s.options = {"-DX=1"}; }));
  EXPECT_FALSE(differs([](Source& s) { s.label = "another"; }));
  EXPECT_NE(key({"", source.text, source.headers, {"-DA -DB"}}, here[0]),
            key({"", source.text, source.headers, {"-DA", "-DB"}}, here[0]));
  auto headers = kHeaders;
  headers[2].text = "changed, but out of reach";
  EXPECT_FALSE(differs([&](Source& s) { s.headers = headers; }));
  headers[0].text = "changed";
  EXPECT_TRUE(differs([&](Source& s) { s.headers = headers; }));
  for (const Target& target : targets())
    EXPECT_EQ(target.vendor == here[0].vendor && key(source, target) == plain, target.name == here[0].name);
}

TEST_F(Compile, SeesOnlyTheBundle) {
  const auto here = targets_here();
  SKIP_WITHOUT_COMPILER(here);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder());
  std::ofstream("leak.h") << "#define LEAK 1\n";
  for (const Target& target : here) {
    Source source = kernel("k", "q[i]");
    source.text = "#include \"leak.h\"\n" + source.text;
    EXPECT_EQ(compile(source, target).status().code(), Code::internal) << target.name;
  }
  std::filesystem::current_path(before);
}

TEST_F(Compile, ErrorOfTheSourceGivesTheCompilersLog) {
  const auto here = targets_here();
  SKIP_WITHOUT_COMPILER(here);
  for (const Target& target : here) {
    const auto artifact = compile(kernel("broken", "no_such_name"), target);
    EXPECT_EQ(artifact.status().code(), Code::internal);
    EXPECT_TRUE(says(artifact.status(), "broken for " + std::string(target.name)));
    EXPECT_TRUE(says(artifact.status(), "no_such_name"));
    EXPECT_TRUE(says(artifact.status(), "kernel."));
    EXPECT_FALSE(says(artifact.status(), "/dev/null"));
  }
  EXPECT_EQ(beginning_of(std::string(100, '\n')), std::string(30, '\n') + "...");
  EXPECT_EQ(beginning_of("one\ntwo"), "one\ntwo");
}

TEST_F(Compile, TargetTheCompilerDoesNotKnowIsUnavailable) {
  const auto here = targets_here();
  SKIP_WITHOUT_COMPILER(here);
  for (Target target : here) {
    target.name = target.vendor == Vendor::nvidia ? "sm_13" : "gfx13";
    const auto artifact = compile(kernel("k", "q[i]"), target);
    EXPECT_EQ(artifact.status().code(), Code::unavailable) << artifact.status().message();
    EXPECT_TRUE(says(artifact.status(), std::string(target.name)));
  }
}

TEST_F(Compile, MissingCompilerSaysHowToGetIt) {
  ::setenv("TOKITAI_NVRTC", "/nowhere/libnvrtc.so", 1);
  ::setenv("TOKITAI_CLANG", "/nowhere/clang++", 1);
  for (const Target& target : targets()) {
    const auto artifact = compile(kernel("k", "q[i]"), target);
    EXPECT_EQ(artifact.status().code(), Code::unavailable);
    EXPECT_TRUE(says(artifact.status(), "/nowhere/"));
    EXPECT_TRUE(says(artifact.status(), "Debian"));
  }
  ::setenv("TOKITAI_CLANG", "/bin/true", 1);  // runs, and is no clang
  EXPECT_EQ(toolchain(Vendor::amd).status().code(), Code::unavailable);
  ::setenv("TOKITAI_NVRTC", "libc.so.6", 1);  // opens, and is no NVRTC
  EXPECT_EQ(toolchain(Vendor::nvidia).status().code(), Code::unavailable);
}

TEST(Resources, AreReadFromTheAssemblersLog) {
  const auto resources = resources_in_ptxas_log(
      "ptxas info    : 4 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k2' for 'sm_90a'\n"
      "ptxas info    : Function properties for k2\n"
      "ptxas         .     160 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 256 bytes smem\n"
      "ptxas info    : Function properties for f\n"
      "    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, 380 bytes cmem[0]\n");
  ASSERT_EQ(resources.size(), 2u);
  EXPECT_EQ(resources[0].kernel, "k2");
  EXPECT_EQ(resources[0].registers, 32);
  EXPECT_EQ(resources[0].spill_bytes, 28);
  EXPECT_EQ(resources[0].local_bytes, 160);
  EXPECT_EQ(resources[0].shared_bytes, 256);
  EXPECT_EQ(resources[1].registers, 8);
  EXPECT_EQ(resources[1].spill_bytes + resources[1].local_bytes + resources[1].shared_bytes, 0);
}

TEST(Resources, WarningsAboutTensorCoresAreFoundInTheAssemblersLog) {
  const std::string clean =
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Used 168 registers, used 1 barriers\n";
  EXPECT_EQ(tensor_core_warning(clean), "");
  // An operator of one's own may have any name.
  EXPECT_EQ(tensor_core_warning("ptxas info    : Compiling entry function 'wgmma_forward' for 'sm_90a'\n"
                                "ptxas info    : Function properties for setmaxnreg_forward\n"),
            "");
  for (const char* warning :
       {"ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
        "insufficient register resources for the wgmma pipeline in the function 'k'",
        "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register "
        "requirements."})
    EXPECT_EQ(tensor_core_warning(clean + warning + "\n" + clean), warning);
}

TEST(Resources, AreReadFromTheMetadata) {
  const auto resources = resources_in_amd_assembly(
      "\t.amdgpu_metadata\n---\namdhsa.kernels:\n"
      "  - .agpr_count:     0\n    .args:\n      - .name:           p\n        .offset:         0\n"
      "    .group_segment_fixed_size: 1024\n    .name:           k\n    .private_segment_fixed_size: 16\n"
      "    .sgpr_spill_count: 1\n    .vgpr_count:     64\n    .vgpr_spill_count: 2\n"
      "  - .name:           'other'\n    .vgpr_count:     3\n"
      "amdhsa.version:\n  - 1\n  - 2\n...\n\t.end_amdgpu_metadata\n");
  ASSERT_EQ(resources.size(), 2u);
  EXPECT_EQ(resources[0].kernel, "k");
  EXPECT_EQ(resources[0].registers, 64);
  EXPECT_EQ(resources[0].spill_bytes, 8);  // scalar registers spill to vector registers
  EXPECT_EQ(resources[0].local_bytes, 16);
  EXPECT_EQ(resources[0].shared_bytes, 1024);
  EXPECT_EQ(resources[1].kernel, "other");
}

}  // namespace
}  // namespace tokitai::compiler::testing
