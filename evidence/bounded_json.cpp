#include "evidence/bounded_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tokitai::evidence {
namespace {

using Json = nlohmann::json;

// A first pass that builds nothing: the parser itself keeps one bit per level, and it stops at the first fault.
class Guard final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    why_ = fmt::format("the key \"{}\" stands twice in one object", name);
    return false;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    why_ = fmt::format("it is not JSON: byte {} does not fit", position);
    return false;
  }
  const std::string& why() const { return why_; }

 private:
  bool enter() {
    keys_.emplace_back();
    if (keys_.size() <= static_cast<std::size_t>(kDeepest)) return true;
    why_ = fmt::format("it is nested more than {} levels deep", kDeepest);
    return false;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }
  std::vector<std::set<std::string>> keys_;
  std::string why_;
};

bool is_text(const Json& value) { return value.is_string() && !value.get_ref<const std::string&>().empty(); }
// Of the other numbers, 1e300 and 2^63 among them, none can be made an integer of ours.
bool is_count(const Json& value) { return value.is_number_unsigned() && value.get<std::uint64_t>() <= INT64_MAX; }
bool is_figure(const Json& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0;
}

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Result<Json> parse_bounded(std::string_view text) {
  if (text.size() > kLargestDocument)
    return Status::invalid(fmt::format("it has {} bytes; at most {} are read", text.size(), kLargestDocument));
  Guard guard;
  if (!Json::sax_parse(text, &guard)) return Status::invalid(guard.why());
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return Status::invalid("it is not JSON");
  return document;
}

Fields::Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (!object.is_object()) first() = fmt::format("{} is not an object", path_);
}
Fields::Fields(const Json& object, std::string path, Fields& parent)
    : object_(object), path_(std::move(path)), parent_(&parent) {
  if (!object.is_object() && first().empty()) first() = fmt::format("{} is not an object", path_);
}

void Fields::wrong(const char* name, std::string_view what) {
  if (first().empty()) first() = fmt::format("{}.{} {}", path_, name, what);
}

bool Fields::has(const char* name) const { return object_.is_object() && object_.contains(name); }

const Json* Fields::take(const char* name) {
  asked_.emplace_back(name);
  if (!first().empty()) return nullptr;
  if (has(name)) return &object_[name];
  wrong(name, "is missing");
  return nullptr;
}

std::string Fields::string(const char* name) {
  const Json* value = take(name);
  if (value == nullptr) return {};
  if (is_text(*value)) return value->get<std::string>();
  return wrong(name, "is not a text"), std::string();
}

std::string Fields::digest(const char* name) {
  const Json* value = take(name);
  if (value == nullptr) return {};
  if (value->is_string() && is_digest(value->get_ref<const std::string&>())) return value->get<std::string>();
  return wrong(name, "is not a SHA-256 digest in hexadecimal"), std::string();
}

std::int64_t Fields::integer(const char* name) {
  const Json* value = take(name);
  if (value == nullptr) return 0;
  if (is_count(*value)) return value->get<std::int64_t>();
  return wrong(name, "is not an integer >= 0"), 0;
}

double Fields::number(const char* name) {
  const Json* value = take(name);
  if (value == nullptr) return 0;
  if (is_figure(*value)) return value->get<double>();
  return wrong(name, "is not a number >= 0"), 0;
}

template <class T> std::vector<T> Fields::all_of(const char* name, bool (*fits)(const Json&), const char* what) {
  const Json* value = take(name);
  std::vector<T> all;
  if (value == nullptr) return all;
  if (!value->is_array()) return wrong(name, "is not an array"), all;
  for (const Json& one : *value) {
    if (!fits(one)) return wrong(name, fmt::format("holds something that is not {}", what)), all;
    all.push_back(one.get<T>());
  }
  return all;
}
std::vector<std::string> Fields::strings(const char* name) { return all_of<std::string>(name, is_text, "a text"); }
std::vector<std::int64_t> Fields::integers(const char* name) {
  return all_of<std::int64_t>(name, is_count, "an integer >= 0");
}
std::vector<double> Fields::numbers(const char* name) { return all_of<double>(name, is_figure, "a number >= 0"); }

void Fields::visit_one(const Json& value, const std::string& path, const Visit& visit) {
  Fields fields(value, path, *this);
  if (first().empty()) visit(fields);
  // Of an object without a fault, what nobody asked for is one.
  if (first().empty()) static_cast<void>(fields.end());
}

void Fields::object(const char* name, const Visit& visit) {
  if (const Json* value = take(name)) visit_one(*value, fmt::format("{}.{}", path_, name), visit);
}

void Fields::array(const char* name, std::size_t least, std::size_t most, const Visit& visit) {
  const Json* value = take(name);
  if (value == nullptr) return;
  if (!value->is_array()) return wrong(name, "is not an array");
  if (value->size() < least || value->size() > most)
    return wrong(name, fmt::format("has {} entries; it must have {} to {}", value->size(), least, most));
  for (std::size_t i = 0; i < value->size() && first().empty(); ++i)
    visit_one((*value)[i], fmt::format("{}.{}[{}]", path_, name, i), visit);
}

std::vector<std::pair<std::string, std::string>> Fields::digests(const char* name) {
  const Json* value = take(name);
  std::vector<std::pair<std::string, std::string>> all;
  if (value == nullptr) return all;
  if (!value->is_object()) return wrong(name, "is not an object"), all;
  for (const auto& [key, digest] : value->items()) {
    if (!digest.is_string() || !is_digest(digest.get_ref<const std::string&>()))
      return wrong(name, fmt::format("has no SHA-256 digest for \"{}\"", key)), all;
    all.emplace_back(key, digest.get<std::string>());
  }
  return all;
}

Status Fields::end() {
  if (first().empty())
    for (const auto& item : object_.items())
      if (std::find(asked_.begin(), asked_.end(), item.key()) == asked_.end()) {
        first() = fmt::format("{} has a field \"{}\" that does not belong there", path_, item.key());
        break;
      }
  return first().empty() ? Status() : Status::invalid(first());
}

}  // namespace tokitai::evidence
