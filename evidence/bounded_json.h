// JSON from strangers: its size and depth are bounded before anything is built of it, a key may stand once only, and
// each field is asked for by name and type. What does not fit is named by its path: $.predicate.problems[3].line.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tokitai/status.h"

namespace tokitai::evidence {

inline constexpr std::size_t kLargestDocument = std::size_t{64} << 20;
inline constexpr int kDeepest = 16;

Result<nlohmann::json> parse_bounded(std::string_view text);

// The fields of one object. Each is asked for once, then end() names the first that was wrong or that nobody asked
// for. After a wrong one the answers are empty.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string path);
  Fields(const nlohmann::json& object, std::string path, Fields& parent);

  bool has(const char* name) const;
  std::string string(const char* name);    // not empty
  std::string digest(const char* name);    // SHA-256 in hexadecimal
  std::int64_t integer(const char* name);  // >= 0
  double number(const char* name);         // finite and >= 0
  std::vector<std::string> strings(const char* name);
  std::vector<std::int64_t> integers(const char* name);  // >= 0
  std::vector<double> numbers(const char* name);         // finite and >= 0
  using Visit = std::function<void(Fields&)>;
  void object(const char* name, const Visit& visit);
  // Of objects; how many there may be.
  void array(const char* name, std::size_t least, std::size_t most, const Visit& visit);
  // An object whose keys are free and whose values are digests.
  std::vector<std::pair<std::string, std::string>> digests(const char* name);

  void wrong(const char* name, std::string_view what);
  const std::string& path() const { return path_; }
  Status end();

 private:
  const nlohmann::json* take(const char* name);
  template <class T> std::vector<T> all_of(const char* name, bool (*fits)(const nlohmann::json&), const char* what);
  void visit_one(const nlohmann::json& value, const std::string& path, const Visit& visit);
  std::string& first() { return parent_ != nullptr ? parent_->first() : first_; }

  const nlohmann::json& object_;
  std::string path_;
  Fields* parent_ = nullptr;
  std::string first_;  // what is wrong
  std::vector<std::string> asked_;
};

}  // namespace tokitai::evidence
