// Every sentence of every contract has a test that would fail if it were false: operators/NAME/promises.txt says which,
// in blocks of `sentence`, `of` (the operators whose contracts say it) and `test`. A test is Suite.Name (GoogleTest),
// file.Class.test (testing/acceptance/) or a name of cmake/tests.cmake. What is not claimed is shown by an example
// where there is one; else `untested` says why not. Built for the operators and for the skeleton. (What requirements()
// makes of a contract's tables is tested over the tables, by requirements_test.cpp.)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "contract/registry.h"

namespace tokitai {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string_view> sentences_of(const Contract& contract) {
  std::vector<std::string_view> all{contract.summary, contract.formula, contract.determinism};
  for (const Promise& promise : contract.ensures) all.push_back(promise.text);
  for (const auto* more : {&contract.edges, &contract.conditions, &contract.non_claims})
    all.insert(all.end(), more->begin(), more->end());
  return all;
}

// A block of the table: a sentence, the operators whose contracts have it, the tests.
struct Entry {
  std::string place;  // file and line
  std::string sentence, untested;
  std::vector<std::string> operators, tests;

  bool is_of(const Contract& contract) const {
    return std::find(operators.begin(), operators.end(), contract.name) != operators.end();
  }
};
void read(const fs::path& path, std::vector<Entry>& all) {
  std::istringstream file(text_of(fs::path(TK_SOURCES) / path));
  int number = 0;
  const std::size_t before = all.size();
  for (std::string line; std::getline(file, line);) {
    const std::string place = fmt::format("{}:{}", path.string(), ++number);
    if (line.empty() || line.starts_with("#")) continue;
    const std::size_t colon = line.find(": ");
    const std::string key = line.substr(0, colon), value = line.substr(std::min(line.size(), colon + 2));
    std::istringstream words(value);
    if (key == "sentence") {
      all.push_back({.place = place, .sentence = value, .untested = {}, .operators = {}, .tests = {}});
    } else if (all.size() == before || (key != "of" && key != "test" && key != "untested")) {
      ADD_FAILURE() << place << ": cannot read '" << line << "'";
    } else if (key == "untested") {
      all.back().untested = value;
    } else {
      auto& list = key == "of" ? all.back().operators : all.back().tests;
      for (std::string word; words >> word;) list.push_back(word);
    }
  }
}
// Of all families that are built.
std::vector<Entry> table() {
  std::vector<Entry> all;
  for (const auto& folder : operator_folders()) read(fs::path(folder->origin) / "promises.txt", all);
  return all;
}

TEST(Promises, EverySentenceOfEveryContractHasATest) {
  const auto all = table();
  for (const Contract* contract : contracts())
    for (const std::string_view sentence : sentences_of(*contract)) {
      const auto found = std::count_if(all.begin(), all.end(), [&](const Entry& entry) {
        return entry.sentence == sentence && entry.is_of(*contract);
      });
      EXPECT_EQ(found, 1) << contract->name << " says \"" << sentence
                          << "\"; its family's promises.txt must name its tests, once";
    }
}

TEST(Promises, NoSentenceIsOfAContractThatDoesNotSayIt) {
  for (const Entry& entry : table()) {
    EXPECT_FALSE(entry.operators.empty()) << entry.place << ": of no operator";
    for (const std::string& name : entry.operators)
      EXPECT_NE(find_contract(name), nullptr) << entry.place << ": no operator " << name;
    for (const Contract* contract : contracts()) {
      const auto said = sentences_of(*contract);
      EXPECT_TRUE(!entry.is_of(*contract) || std::find(said.begin(), said.end(), entry.sentence) != said.end())
          << entry.place << ": " << contract->name << " does not say so";
    }
  }
}

// Suite.Name of GoogleTest, file.Class.test of the acceptance tests, or a test that CMake knows by name.
std::set<std::string> tests_there_are() {
  std::set<std::string> all;
  const auto between = [](const std::string& text, std::size_t begin, std::string_view ends) {
    return text.substr(begin, text.find_first_of(ends, begin) - begin);
  };
  for (const char* folder :
       {"accuracy", "base", "contract", "evidence", "machines", "operators", "reports", "server", "testing"})
    for (const fs::path& path : fs::recursive_directory_iterator(fs::path(TK_SOURCES) / folder)) {
      const std::string text = path.extension() == ".cpp" ? text_of(path) : "";
      for (const char* macro : {"\nTEST(", "\nTEST_F(", "\nTEST_P("})
        for (std::size_t at = text.find(macro); at != std::string::npos; at = text.find(macro, at + 1)) {
          const std::size_t suite = at + std::string_view(macro).size();
          const std::size_t name = text.find_first_not_of(", \n", text.find(',', suite));
          all.insert(between(text, suite, ",") + "." + between(text, name, ")"));
        }
      if (path.extension() != ".py") continue;
      std::istringstream lines(text_of(path));
      std::string inside;
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("class ")) inside = between(line, 6, "(:");
        if (line.starts_with("    def test_"))
          all.insert(path.stem().string() + "." + inside + "." + between(line, 8, "("));
      }
    }
  const std::string cmake = text_of(fs::path(TK_SOURCES) / "cmake/tests.cmake");
  constexpr std::string_view kAdded = "add_test(NAME ";
  for (std::size_t at = cmake.find(kAdded); at != std::string::npos; at = cmake.find(kAdded, at + 1))
    all.insert(between(cmake, at + kAdded.size(), " \n"));
  return all;
}

TEST(Promises, EveryTestThatIsNamedIsThere) {
  const auto there = tests_there_are();
  EXPECT_GT(there.size(), 300U);
  for (const Entry& entry : table()) {
    EXPECT_TRUE(entry.tests.empty() != entry.untested.empty())
        << entry.place << ": either tests or why there can be none";
    for (const std::string& test : entry.tests)
      EXPECT_TRUE(there.contains(test)) << entry.place << ": there is no test " << test;
  }
}

// Only what is not claimed may go without.
TEST(Promises, OnlyANonClaimMayHaveNoTest) {
  for (const Entry& entry : table())
    for (const Contract* contract : contracts())
      if (entry.is_of(*contract) && !entry.untested.empty()) {
        const auto& not_claimed = contract->non_claims;
        EXPECT_NE(std::find(not_claimed.begin(), not_claimed.end(), entry.sentence), not_claimed.end())
            << entry.place << ": a claim of " << contract->name << " without a test";
      }
}

}  // namespace
}  // namespace tokitai
