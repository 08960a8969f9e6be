// Ways around the proved index functions (ways_around.txt): for a GPU each of them compiles, so that nothing but the
// types of the lockstep machine is in its way; strictly it does not. The unchanged text compiles both ways.
#include <gtest/gtest.h>

#include "base/at_once.h"
#include "base/files.h"
#include "base/program.h"
#include "compiler/compiler.h"
#include "machines/lockstep/tests/faults.h"
#include "problems/instance.h"

namespace tokitai::lockstep {
namespace {

// What the compiler says about all kernels (strict/kernels.cpp) over these headers; empty: nothing.
std::string compile_strictly(const std::vector<device::Text>& headers) {
  const auto folder = base::TemporaryFolder::make();
  const auto compiler = compiler::toolchain(compiler::Vendor::host);
  if (!folder.ok() || !compiler.ok()) return "no folder or no compiler";
  for (const device::Text& text : headers) {
    const std::filesystem::path path = folder->path() / text.name;
    std::filesystem::create_directories(path.parent_path());
    if (Status s = base::write_file(path, text.text); !s.ok()) return s.message();
  }
  // In no library of operators: see cmake/skeleton.cmake.
  const std::filesystem::path root = std::filesystem::path(TK_STRICT_KERNELS).parent_path() / "../../..",
                              specimen = "operators/specimen";
  std::filesystem::create_directories(folder->path() / specimen);
  std::filesystem::copy_file(root / specimen / "definition.h", folder->path() / specimen / "definition.h");
  const auto ended = base::run({.command = {compiler->path, "-std=c++20", "-fsyntax-only", "-w", "-I", ".",
                                            "-DTK_LOCKSTEP", "-DTK_LOCKSTEP_LIBRARY", TK_STRICT_KERNELS},
                                .folder = folder->path(),
                                .environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"}});
  if (!ended.ok()) return ended.status().message();
  return ended->exit_code == 0 ? "" : ended->output;
}

// What a GPU's compiler says about the kernels of the problem.
std::string compile_for_gpu(const Fault& f, const std::vector<device::Text>& texts) {
  const auto target = compiler::find_target("sm_90a");
  const auto call = problems::call_without_memory(problems::parse_problems(f.problem).value().at(0));
  if (!call.ok()) return call.status().message();
  const auto program = device::plan(call.value(), {target.value(), 132, std::stoi(f.plan)});
  if (!program.ok()) return program.status().message();
  std::vector<compiler::Header> headers;
  for (const device::Text& text : texts) headers.push_back({text.name, text.text});
  for (const device::Launch& launch : program->launches) {
    const auto artifact = compiler::compile({f.name, launch.source, headers, {}}, target.value());
    if (!artifact.ok()) return artifact.status().message();
  }
  return "";
}

TEST(WaysAround, DoNotCompile) {
  if (!compiler::toolchain(compiler::Vendor::host).ok()) GTEST_SKIP() << "no C++ compiler";
  EXPECT_EQ(compile_strictly(device::lockstep_headers()), "") << "the unchanged text";
  const std::vector<Fault> ways = read_faults(TK_WAYS_AROUND);
  EXPECT_GE(ways.size(), 25U);
  std::vector<std::string> said(ways.size());
  base::at_once(ways.size(), [&](std::size_t i) {
    const Headers headers(device::lockstep_headers(), &ways[i]);
    said[i] = headers.times == 1 ? compile_strictly(headers.all) : "its text must stand in the header once";
  });
  for (std::size_t i = 0; i < ways.size(); ++i) {
    EXPECT_NE(said[i].find("error:"), std::string::npos) << ways[i].name << ": " << said[i];
    EXPECT_NE(said[i].find(ways[i].file), std::string::npos) << ways[i].name << ": " << said[i];
  }
}

TEST(WaysAround, CompileForAGpu) {
  if (!compiler::toolchain(compiler::Vendor::nvidia).ok()) GTEST_SKIP() << "no NVRTC";
  const std::vector<Fault> ways = read_faults(TK_WAYS_AROUND);
  std::vector<std::string> said(ways.size());
  base::at_once(ways.size(), [&](std::size_t i) {
    const Headers headers(device::device_headers(), &ways[i]);
    said[i] = headers.times == 1 ? compile_for_gpu(ways[i], headers.all) : "its text must stand in the header once";
  });
  for (std::size_t i = 0; i < ways.size(); ++i) EXPECT_EQ(said[i], "") << ways[i].name;
}

}  // namespace
}  // namespace tokitai::lockstep
