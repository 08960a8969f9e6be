// Patterns, machines, the benchmark, the verifier and what problems are made of know no operator by name: what they
// need to know of one is in its contract. A file that names a family, an operator or an option fails here, with few
// exceptions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "contract/registry.h"

namespace tokitai {
namespace {

namespace fs = std::filesystem;

struct Exception {
  std::string_view file, why;
};
constexpr Exception kExceptions[] = {
    {"bench/workers.cpp", "it measures what a process of its own costs, with two operators that show it"},
    {"machines/lockstep/strict/kernels.cpp", "plans of operators that together take every path of the device text"},
    {"testing/mutant_check.cpp", "a test program: problems that show faults, of the operators that have them"},
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Comments may give examples.
std::string code_of(const std::string& text) {
  static const std::regex kComment(R"re("(\\.|[^"\\\n])*"|//[^\n]*)re");
  std::string code;
  auto at = text.begin();
  for (std::sregex_iterator i(text.begin(), text.end(), kComment), end; i != end; ++i) {
    code.append(at, text.begin() + i->position());
    if (!i->str().starts_with("//")) code += i->str();
    at = text.begin() + i->position() + i->length();
  }
  return code.append(at, text.end());
}

// What a text that names an operator or an option has in it, and the name.
std::vector<std::pair<std::regex, std::string>> all_names() {
  std::vector<std::pair<std::regex, std::string>> all;
  std::set<std::string> options;
  for (const Operator* one : operators()) {
    const Contract& c = *one->contract;
    std::string function(c.name);
    function[function.find('.')] = '_';
    all.emplace_back(fmt::format(R"re("{0}\b|\b{1}\b|\b{2}::|operators/{2}/)re", c.name, function, c.family()), c.name);
    for (const OptionSpec& option : c.options) options.emplace(option.name);
  }
  for (const auto& folder : operator_folders()) {
    const std::string family = folder->origin.substr(folder->origin.rfind('/') + 1);
    all.emplace_back(fmt::format("\"{}\"", family), family);
  }
  for (const std::string& option : options) all.emplace_back(fmt::format("\"{}\"", option), option);
  return all;
}

std::vector<std::string> found_in(const std::string& code) {
  static const auto names = all_names();
  std::vector<std::string> found;
  for (const auto& [pattern, name] : names)
    if (std::regex_search(code, pattern)) found.push_back(name);
  return found;
}

TEST(Names, NoPatternMachineOrHarnessKnowsAnOperatorOrAnOption) {
  int files = 0;
  std::set<std::string_view> needed;
  for (const char* folder : {"patterns", "machines", "bench", "testing", "problems", "reports", "evidence", "accuracy"})
    for (const fs::path& path : fs::recursive_directory_iterator(fs::path(TK_SOURCES) / folder)) {
      const std::string file = fs::relative(path, TK_SOURCES).string();
      const bool shipped = file.find("/tests/") == std::string::npos && !file.starts_with("testing/package") &&
                           !file.starts_with("testing/acceptance") && !file.ends_with("_test.cpp");
      if (!shipped || (path.extension() != ".h" && path.extension() != ".cpp" && path.extension() != ".py")) continue;
      ++files;
      for (const std::string& name : found_in(code_of(text_of(path)))) {
        const auto excused = std::find_if(std::begin(kExceptions), std::end(kExceptions),
                                          [&](const Exception& e) { return e.file == file; });
        if (excused != std::end(kExceptions))
          needed.insert(excused->file);
        else
          ADD_FAILURE() << file << " knows " << name << "; its contract should say what is to be known";
      }
    }
  EXPECT_GT(files, 150);
  for (const Exception& e : kExceptions) EXPECT_TRUE(needed.contains(e.file)) << e.file << " needs no exception";
}

// The search itself.
TEST(Names, AreFoundInCodeAndNotInComments) {
  const auto names = [](const std::string& text) { return found_in(code_of(text)).size(); };
  EXPECT_EQ(names("x; // \"softmax.forward\", layernorm"), 0u);
  EXPECT_EQ(names("if (contract.family() == \"softmax\")"), 1u);
  EXPECT_EQ(names("find(\"softmax.forward rows=3\")"), 1u);
  EXPECT_EQ(names("softmax_forward(device, {});"), 1u);
  EXPECT_EQ(names("using softmax::Operators;"), 2u);  // of both operators
  EXPECT_EQ(names("option_index(\"skip_nonfinite\")"), 1u);
  EXPECT_EQ(names("open(\"http://x\"); softmaxed(); scale * eps;"), 0u);
}

}  // namespace
}  // namespace tokitai
