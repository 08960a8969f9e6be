// Reading problem lines. The operators' files are part of the binary (contract/registry.h).
#include "problems/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/lines.h"
#include "contract/registry.h"
#include "problems/instance.h"

namespace tokitai::problems {
namespace {

// What lies between separators, empty or not.
std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(at, begin);
    parts.emplace_back(text.substr(begin, end - begin));
  }
  return parts;
}
std::vector<std::string> words_of(std::string_view text, char at) {
  std::vector<std::string> words = split(text, at);
  std::erase(words, "");
  return words;
}

template <class T, class Names> bool choose(std::string_view value, const Names& names, T& out) {
  std::size_t i = 0;
  for (std::string_view name : names) {
    if (name == value) {
      out = static_cast<T>(i);
      return true;
    }
    ++i;
  }
  return false;
}

bool integer(std::string_view text, std::int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// "4096", or "4096*300" for three hundred tensors of that length. A list that grows too long is cut behind the first
// tensor too many: lines come from files that anyone may have written.
bool lengths(std::string_view text, std::vector<std::int64_t>& list) {
  const std::size_t times = text.find('*');
  std::int64_t length = 0, count = 1;
  if (!integer(text.substr(0, times), length)) return false;
  if (times != std::string_view::npos && !integer(text.substr(times + 1), count)) return false;
  if (count < 1) return false;
  list.insert(list.end(), std::min(static_cast<std::size_t>(count), kMostTensors + 1 - list.size()), length);
  return true;
}

constexpr std::string_view kTypes[] = {"f16", "bf16", "f32", "i32", "i64"};
constexpr std::string_view kFamilyNames[] = {"normal",   "huge", "subnormal", "cancelling",
                                             "constant", "zero", "special"};
constexpr std::string_view kSpreads[] = {"uniform", "zipf", "equal"};
constexpr std::string_view kNoYes[] = {"no", "yes"};
constexpr std::int64_t kMostShift = 64;
constexpr std::size_t kMostProblems = 100'000;  // of a line

// A setting that every tensor of a list has for itself: values joined by +.
template <class T, class Read>
bool in_turns(const Problem& problem, const std::string& value, std::vector<T>& out, const Read& read) {
  out.clear();
  for (const std::string& part : split(value, '+')) {
    T one{};
    if (!read(part, one)) return false;
    out.push_back(one);
  }
  return out.size() == 1 || (out.size() > 1 && problem.contract->list);
}
template <class T, class Word> std::string in_turns(const std::vector<T>& values, const Word& word) {
  std::string text;
  for (const T value : values) text += fmt::format("{}{}", text.empty() ? "" : "+", word(value));
  return text;
}

template <class Is> bool some_operand(const Problem& problem, const Is& is) {
  const auto& all = problem.contract->operands;
  return std::any_of(all.begin(), all.end(), is);
}
// Operands by name, joined by +, where all of them are of that kind and the contract takes no list.
template <class Is>
bool operands(const Problem& problem, const std::string& value, std::vector<std::string>& out, const Is& is) {
  const std::vector<std::string> names = split(value, '+');
  for (const std::string& name : names)
    if (!some_operand(problem, [&](const OperandSpec& spec) { return spec.name == name && is(spec); })) return false;
  out = names;
  return !problem.contract->list;
}

bool set(Problem& problem, const std::string& key, const std::string& value) {
  if (key == "type") {
    if (!in_turns(problem, value, problem.types,
                  [](std::string_view word, Type& type) { return choose(word, kTypes, type); }))
      return false;
    problem.storage = problem.types.front();
    if (problem.types.size() == 1) problem.types.clear();
    return problem.types.empty() ||
           some_operand(problem, [](const OperandSpec& spec) { return spec.type == TypeRule::floating; });
  }
  if (key == "index") return choose(value, kTypes, problem.index);
  if (key == "to") return choose(value, kTypes, problem.to);
  if (key == "data") return choose(value, kFamilyNames, problem.family);
  if (key == "spread") return choose(value, kSpreads, problem.spread);
  if (key == "in_place") {
    if (choose(value, kNoYes, problem.in_place)) return true;
    problem.over = value;
    return problem.in_place = some_operand(problem, [&](const OperandSpec& spec) { return spec.may_lie_over(value); });
  }
  if (key == "master" && operands(problem, value, problem.given, [](const OperandSpec& spec) { return spec.optional; }))
    return true;
  if (key == "master")
    return in_turns(problem, value, problem.master,
                    [](std::string_view word, bool& yes) { return choose(word, kNoYes, yes); });
  if (key == "shift")
    return in_turns(problem, value, problem.shift, [](std::string_view word, std::int64_t& elements) {
      return integer(word, elements) && elements >= 0 && elements <= kMostShift;
    });
  if (key == "single") {
    if (value == "yes") problem.single = {"yes"};
    return value == "yes" || value == "no" || operands(problem, value, problem.single, [](const OperandSpec& spec) {
             return spec.type == TypeRule::storage_or_f32;
           });
  }
  if (key == "pad") return integer(value, problem.pad);
  if (problem.contract->list && key == problem.contract->operands[0].shape[0]) {
    for (const std::string& part : split(value, '+'))
      if (!lengths(part, problem.list)) return false;
    return !problem.list.empty();
  }
  for (const OperandSpec& spec : problem.contract->operands) {
    if (bool yes = false; spec.name == key && spec.optional && problem.contract->has_once(spec)) {
      if (!choose(value, kNoYes, yes)) return false;
      if (yes) problem.once.push_back(key);
      return true;
    }
    for (std::string_view symbol : spec.shape)
      if (!symbol.empty() && size_named(symbol).symbol == key)
        return integer(value, problem.sizes.emplace_back(key, 0).second);
  }
  if (problem.contract->option_index(key) < 0) return false;
  if (value != "none") problem.options.emplace_back(key, value);
  return true;
}

}  // namespace

namespace {
bool names(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}
}  // namespace

bool Problem::gives(const OperandSpec& optional, std::size_t tensor) const {
  if (given.empty()) return master[tensor % master.size()];
  if (names(given, optional.name) || names(given, optional.with)) return true;
  return some_operand(*this,
                      [&](const OperandSpec& spec) { return spec.with == optional.name && names(given, spec.name); });
}

bool Problem::is_single(const OperandSpec& operand) const {
  if (names(single, "yes") || names(single, operand.name) || names(single, operand.with)) return true;
  return some_operand(*this,
                      [&](const OperandSpec& spec) { return spec.with == operand.name && names(single, spec.name); });
}

std::int64_t Problem::size(std::string_view symbol) const {
  if (symbol == "1") return 1;
  if (const auto [base, more] = size_named(symbol); more != 0) return size(base) + more;
  for (const auto& [name, value] : sizes)
    if (name == symbol) return value;
  return 0;
}

std::string Problem::list_text() const {
  std::string text;
  for (std::size_t i = 0, count = 0; i < list.size(); i += count) {
    for (count = 1; i + count < list.size() && list[i + count] == list[i];) ++count;
    text += fmt::format("{}{}", text.empty() ? "" : "+", list[i]);
    if (count > 1) text += fmt::format("*{}", count);
  }
  return text;
}

std::string Problem::text() const {
  std::string line(contract->name);
  for (const auto& [name, value] : sizes) line += fmt::format(" {}={}", name, value);
  if (!list.empty()) line += fmt::format(" {}={}", contract->operands[0].shape[0], list_text());
  for (const auto& [name, value] : options) line += fmt::format(" {}={}", name, value);
  line += fmt::format(" type={} data={}",
                      types.empty() ? std::string(tokitai::name_of(storage))
                                    : in_turns(types, [](Type type) { return tokitai::name_of(type); }),
                      name_of(family));
  for (const OperandSpec& spec : contract->operands)
    if (spec.type == TypeRule::floating && !contract->list) line += fmt::format(" to={}", tokitai::name_of(to));
  for (const OperandSpec& spec : contract->operands)
    if (spec.type == TypeRule::index)
      line += fmt::format(" index={} spread={}", tokitai::name_of(index), kSpreads[static_cast<std::size_t>(spread)]);
  if (pad != 0) line += fmt::format(" pad={}", pad);
  if (in_place) line += fmt::format(" in_place={}", over.empty() ? "yes" : over);
  if (!given.empty())
    line += fmt::format(" master={}", fmt::join(given, "+"));
  else if (master != std::vector{false})
    line += fmt::format(" master={}", in_turns(master, [](bool yes) { return kNoYes[yes ? 1 : 0]; }));
  for (const std::string& operand : once) line += fmt::format(" {}=yes", operand);
  if (!single.empty()) line += fmt::format(" single={}", fmt::join(single, "+"));
  if (shift != std::vector<std::int64_t>{0})
    line += fmt::format(" shift={}", in_turns(shift, [](std::int64_t elements) { return elements; }));
  return line;
}

Result<std::vector<Problem>> parse_problems(std::string_view line) {
  const std::vector<std::string> words = words_of(line, ' ');
  if (words.empty()) return Status::invalid("a problem line names an operator first");
  Problem first;
  first.contract = find_contract(words[0]);
  if (first.contract == nullptr) return Status::invalid(fmt::format("no operator '{}'", words[0]));
  std::vector<Problem> problems{first};
  std::set<std::string> keys;
  for (std::size_t w = 1; w < words.size(); ++w) {
    const std::size_t equals = words[w].find('=');
    if (equals == std::string::npos) return Status::invalid(fmt::format("'{}' is not KEY=VALUE", words[w]));
    const std::string key = words[w].substr(0, equals);
    if (!keys.insert(key).second) return Status::invalid(fmt::format("{}: '{}' is given twice", words[0], key));
    std::vector<std::string> values = split(words[w].substr(equals + 1), ',');
    if (key == "data" && values.size() == 1 && values[0] == "all")
      values.assign(std::begin(kFamilyNames), std::end(kFamilyNames));
    if (values.size() > kMostProblems / problems.size())
      return Status::invalid(fmt::format("{}: a line stands for at most {} problems", words[0], kMostProblems));
    std::vector<Problem> combined;
    for (const Problem& problem : problems)
      for (const std::string& value : values) {
        if (!set(combined.emplace_back(problem), key, value))
          return Status::invalid(fmt::format("{}: '{}={}' is no size, option or setting of it", words[0], key, value));
        if (combined.back().list.size() > kMostTensors)
          return Status::invalid(
              fmt::format("{}: '{}={:.40}' is a list of more than {} tensors", words[0], key, value, kMostTensors));
      }
    problems = std::move(combined);
  }
  return problems;
}

namespace {

constexpr std::string_view kUses[] = {"verify",    "verify_gpu", "verify_lockstep", "bench",
                                      "bench_gpu", "compile",    "accuracy",        "gradients"};

// Calls look(use, problems) for each line of a folder's file. A line that cannot be read is a bug of ours where the
// folder is ours.
template <class F> Status for_each_line(const OperatorFolder& folder, const F& look) {
  int number = 0;
  for (const std::string& line : split(folder.problems, '\n')) {
    ++number;
    const auto refuse = [&](const std::string& what) {
      return Status(folder.written.empty() ? Code::internal : Code::invalid,
                    fmt::format("{}/problems.txt:{}: {}", folder.origin, number, what));
    };
    const std::string_view text = base::trimmed(line);
    if (text.empty() || text.starts_with('#')) continue;
    const std::string_view use = text.substr(0, text.find(' '));
    if (std::find(std::begin(kUses), std::end(kUses), use) == std::end(kUses))
      return refuse(fmt::format("'{}' is no use of a problem; it is one of {}", use, fmt::join(kUses, ", ")));
    if (Status s = look(use, std::string_view(text).substr(use.size()), refuse); !s.ok()) return s;
  }
  return {};
}

}  // namespace

Result<std::vector<Problem>> for_use(Use use) {
  std::vector<Problem> all;
  const std::string_view wanted = kUses[static_cast<std::size_t>(use)];
  for (const auto& folder : operator_folders()) {
    const Status status = for_each_line(*folder, [&](std::string_view word, std::string_view line, const auto& refuse) {
      if (word != wanted) return Status();
      auto parsed = parse_problems(line);
      if (!parsed.ok()) return refuse(parsed.status().message());
      all.insert(all.end(), parsed->begin(), parsed->end());
      return Status();
    });
    if (!status.ok()) return status;
  }
  return all;
}

Status check_problems() {
  for (const auto& folder : operator_folders()) {
    if (folder->written.empty()) continue;
    const Status status = for_each_line(*folder, [&](std::string_view, std::string_view line, const auto& refuse) {
      const auto parsed = parse_problems(line);
      if (!parsed.ok()) return refuse(parsed.status().message());
      for (const Problem& problem : parsed.value())
        if (const auto call = call_without_memory(problem); !call.ok()) return refuse(call.status().message());
      return Status();
    });
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace tokitai::problems
