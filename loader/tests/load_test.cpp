// Folders of operators through the library: loaded once, run on every device, refused whole.
#include "tokitai/load_operators.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "contract/contract.h"
#include "contract/registry.h"
#include "loader/diagnosis.h"
#include "loader/parts.h"
#include "tokitai/device.h"

namespace tokitai {
namespace {

namespace fs = std::filesystem;

// A copy whose files nobody else may write, whatever the checkout's are; the family gets another name.
class LoadTest : public ::testing::Test {
 protected:
  std::string copy(const std::string& example, const std::string& family) {
    const fs::path to = folder_.path() / family;
    fs::create_directory(to);
    ::chmod(to.c_str(), 0700);
    for (const auto& file : fs::directory_iterator(fs::path(TK_SOURCES) / "examples/operators" / example)) {
      std::string text = base::read_file(file.path()).value();
      for (std::size_t at = 0; (at = text.find(example, at)) != std::string::npos; at += family.size())
        text.replace(at, example.size(), family);
      EXPECT_TRUE(base::write_file(to / file.path().filename(), text).ok());
    }
    return to.string();
  }
  void change(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = base::read_file(file).value();
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    ASSERT_TRUE(base::write_file(file, text.replace(at, from.size(), to)).ok());
  }
  base::TemporaryFolder folder_ = base::TemporaryFolder::make().value();
};

TEST_F(LoadTest, RunsOnEveryDeviceWithTheSameBits) {
  ASSERT_TRUE(load_operators(copy("softcap", "capped")).ok());
  constexpr int kRows = 7, kCols = 300;
  std::vector<float> x(kRows * kCols);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.37f * static_cast<float>(i % 101) - 20;
  std::vector<float> first;
  for (const char* name : {"reference", "cpu", "lockstep", "worker:cpu"}) {
    auto device = open(name);
    ASSERT_TRUE(device.ok()) << name << ": " << device.status().message();
    std::vector<float> y(x.size(), -1);
    auto call = call_of("capped.forward",
                        {{"x", matrix(std::as_const(x).data(), kRows, kCols)}, {"y", matrix(y.data(), kRows, kCols)}},
                        {{"cap", "5"}});
    ASSERT_TRUE(call.ok()) << call.status().message();
    const Status status = device->run(call.value());
    ASSERT_TRUE(status.ok()) << name << ": " << status.message();
    if (first.empty()) first = y;
    EXPECT_EQ(y, first) << name;
    EXPECT_NEAR(y[1], 5 * std::tanh(x[1] / 5), 1e-5);
  }
}

TEST_F(LoadTest, CallsByNameAreRefusedByName) {
  EXPECT_EQ(call_of("no.such", {}).status().code(), Code::invalid);
  float x[4] = {};
  EXPECT_NE(call_of("softmax.forward", {{"z", matrix(x, 2, 2)}}).status().message().find("'z'"), std::string::npos);
  EXPECT_EQ(call_of("softmax.forward", {{"x", matrix(x, 2, 2)}}, {{"eps", "1"}}).status().code(), Code::invalid);
}

TEST_F(LoadTest, AScalarIsRoundedOnceAndSizesTakePart) {
  const std::string path = copy("softcap", "scaled");
  change(path + "/contract.txt", "scalar   slope = 1 / cap",
         "scalar   other = slope / 9\nscalar   slope = 1 / (cap * cols ^ 2)");
  ASSERT_TRUE(load_operators(path).ok());
  float x[3] = {1, 2, 3}, y[3] = {};
  auto call =
      call_of("scaled.forward", {{"x", matrix(std::as_const(x), 1, 3)}, {"y", matrix(y, 1, 3)}}, {{"cap", "0.1"}});
  ASSERT_TRUE(call.ok());
  ASSERT_TRUE(check(call.value()).ok());
  EXPECT_EQ(call->scalars[0], 0.1f);
  const double slope = 1 / (static_cast<double>(0.1f) * 9);
  EXPECT_EQ(call->scalars[1], static_cast<float>(slope / 9));  // of what was not rounded
  EXPECT_NE(call->scalars[1], static_cast<float>(static_cast<double>(static_cast<float>(slope)) / 9));
  EXPECT_EQ(call->scalars[2], static_cast<float>(slope));
}

TEST_F(LoadTest, ScalarsInACircleAreRefused) {
  const std::string path = copy("softcap", "circle");
  change(path + "/contract.txt", "scalar   slope = 1 / cap", "scalar   slope = other\nscalar   other = slope");
  const Status status = load_operators(path);
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("depends on itself"), std::string::npos) << status.message();
}

TEST_F(LoadTest, WhatOthersMayWriteIsNotRun) {
  const std::string path = copy("softcap", "shared");
  for (const std::string& one : {path, path + "/definition.h", path + "/contract.txt", path + "/problems.txt"}) {
    struct stat about = {};
    ASSERT_EQ(::stat(one.c_str(), &about), 0);
    ASSERT_EQ(::chmod(one.c_str(), about.st_mode | 022), 0);
    const Status status = load_operators(path);
    EXPECT_EQ(status.code(), Code::invalid) << one;
    EXPECT_NE(status.message().find("others may write it"), std::string::npos) << status.message();
    ASSERT_EQ(::chmod(one.c_str(), about.st_mode & 07777), 0);
  }
  EXPECT_TRUE(load_operators(path).ok());
}

TEST_F(LoadTest, AWorkerGetsWhatWasReadNotWhatLiesThereNow) {
  const std::string path = copy("softcap", "changed");
  ASSERT_TRUE(load_operators(path).ok());
  change(path + "/definition.h", "tanh(x *", "erf(x *");
  const float x[2] = {1, 20};
  float here[2] = {}, there[2] = {};
  for (const auto& [name, y] : {std::pair{"cpu", here}, std::pair{"worker:cpu", there}}) {
    auto device = open(name);
    ASSERT_TRUE(device.ok()) << device.status().message();
    auto call = call_of("changed.forward", {{"x", matrix(x, 1, 2)}, {"y", matrix(y, 1, 2)}});
    ASSERT_TRUE(call.ok() && device->run(call.value()).ok());
  }
  EXPECT_EQ(here[1], there[1]);
  EXPECT_NE(here[1], 0);
}

// Each by its own sentence: another check may refuse the same folder for what follows from it.
TEST_F(LoadTest, ADefinitionKeepsToItsContract) {
  const struct {
    const char *family, *file, *from, *to, *said;
  } all[] = {
      {"reader", "/definition.h", "e.load(e.dy)", "e.load(e.dx)", "reads dx, which the contract says is only written"},
      {"writer", "/definition.h", "e.store(e.y,", "e.store(e.x,", "writes x, which the contract says is only read"},
      {"narrow", "/contract.txt", "out      y    storage [rows, cols] over x", "out      y    storage [rows]",
       "y has shape [rows]"},
      {"halved", "/definition.h", "e.store(e.y,", "if (e.value(e.cap) != 0.0f) e.store(e.y,", "does not write y"},
      {"doubled", "/definition.h", "tanh(x *", "tanh(x * 0.5 *", "of type double"},
  };
  for (const auto& one : all) {
    const std::string path = copy("softcap", one.family);
    change(path + one.file, one.from, one.to);
    const Status status = load_operators(path);
    EXPECT_EQ(status.code(), Code::invalid) << one.family;
    EXPECT_NE(status.message().find(one.said), std::string::npos) << status.message();
  }
}

TEST_F(LoadTest, AllOfAFolderOrNone) {
  const std::size_t before = operators().size();
  copy("softcap", "aaa");
  change(copy("huber", "bbb") + "/definition.h", "m.read(m.x)", "m.read(m.loss)");
  const Status status = load_operators(folder_.path().string());
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("bbb/definition.h:"), std::string::npos) << status.message();
  EXPECT_EQ(operators().size(), before);
  EXPECT_EQ(find_contract("aaa.forward"), nullptr);
}

TEST_F(LoadTest, SeveralThreadsLoadAndCallAtOnce) {
  std::vector<std::string> paths;
  for (const char* family : {"one", "two", "three"}) paths.push_back(copy("softcap", family));
  std::vector<Status> said(6);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < said.size(); ++i)
      threads.emplace_back([&, i] { said[i] = load_operators(paths[i % paths.size()]); });
  }
  // Of two that load one folder, one is first.
  for (std::size_t i = 0; i < paths.size(); ++i) EXPECT_NE(said[i].ok(), said[i + 3].ok());
  for (const char* name : {"one.forward", "two.forward", "three.forward"}) EXPECT_NE(find_contract(name), nullptr);
}

TEST_F(LoadTest, KernelsThatNobodyAskedForYetAreCompiledInAForkToo) {
  ASSERT_TRUE(load_operators(copy("softcap", "forked")).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    float x[2] = {1, 2}, y[2] = {};
    auto device = open("cpu", {.isa = "portable"});
    auto call = call_of("forked.forward", {{"x", matrix(std::as_const(x), 1, 2)}, {"y", matrix(y, 1, 2)}});
    ::_exit(device.ok() && call.ok() && device->run(call.value()).ok() && y[1] != 0 ? 0 : 1);
  }
  int ended = 0;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
}

// A worker that was started before does not know the operators: it is started anew.
TEST_F(LoadTest, AWorkerThatRunsAlreadyLearnsOfThem) {
  auto device = open("worker:cpu");
  ASSERT_TRUE(device.ok()) << device.status().message();
  ASSERT_TRUE(load_operators(copy("softcap", "later")).ok());
  float x[2] = {1, 2}, y[2] = {};
  auto call = call_of("later.forward", {{"x", matrix(std::as_const(x), 1, 2)}, {"y", matrix(y, 1, 2)}});
  ASSERT_TRUE(call.ok());
  const Status status = device->run(call.value());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_NE(y[1], 0);
}

TEST(Diagnosis, SaysTheLineOfTheDefinitionWhateverTheCompiler) {
  const loader::Definition definition{"/d/definition.h", "operators/a/definition.h", "", {"tokitai::a::Forward"}};
  const auto said = [&](const char* log) { return loader::diagnosis(definition, log).message(); };
  EXPECT_EQ(said("operators/a/definition.h:7:3: error: expected ';' before 'x'\n"),
            "/d/definition.h:7: expected ';' before 'x'");
  // GCC: the chain stands before the error, clang's below it.
  EXPECT_EQ(said("machines/x.h: In instantiation of 'f':\noperators/a/definition.h:9:3:   required from 'g'\n"
                 "machines/x.h:3:1: error: static assertion failed: rows are read once\n"),
            "/d/definition.h:9: static assertion failed: rows are read once");
  EXPECT_EQ(
      said(
          "machines/x.h:3:1: error: rows are read once\noperators/a/definition.h:9:3: note: in instantiation of 'f'\n"),
      "/d/definition.h:9: rows are read once");
  EXPECT_EQ(said("kernel.cpp:4:9: error: 'Forward' is not a member of 'tokitai::a'\n"),
            "/d/definition.h: no struct Forward in it, which the contract's operator needs");
  EXPECT_NE(said("a compiler that crashed\n").find("does not compile"), std::string::npos);
}

}  // namespace
}  // namespace tokitai
