#include "loader/contract_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "contract/build.h"
#include "loader/derived.h"
#include "loader/lines.h"
#include "loader/option_text.h"
#include "loader/refusal.h"
#include "loader/words.h"

namespace tokitai::loader {
namespace {

class Reader {
 public:
  Reader(std::string_view path, Contracts& out) : path_(path), out_(out) {}

  Status read(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) return Line{path_, 1, {}}.refuse("it begins with a byte order mark");
    int number = 0;
    Status status;
    std::string joined;  // a line that ends in \ goes on in the next
    int begun = 0;
    base::for_each_line(text, [&](std::string_view line) {
      ++number;
      if (!status.ok()) return;
      line = base::trimmed(line);
      if (joined.empty()) begun = number;
      if (line.ends_with('\\')) {
        joined += std::string(base::trimmed(line.substr(0, line.size() - 1))) + " ";
        return;
      }
      joined += line;
      const std::string_view whole = keep(std::exchange(joined, {}));
      if (!whole.empty() && !whole.starts_with('#')) status = one({path_, begun, whole});
    });
    if (!status.ok()) return status;
    if (!joined.empty()) return Line{path_, begun, {}}.refuse("the last line ends in \\");
    if (out_.all.empty()) return Line{path_, std::max(number, 1), {}}.refuse("no line 'operator FAMILY.NAME' in it");
    return finish();
  }

 private:
  std::string_view keep(std::string text) { return out_.words.emplace_back(std::move(text)); }
  Contract& contract() { return out_.all.back().contract; }

  Status one(Line line) {
    const std::string_view keyword = line.word();
    if (keyword == "operator") return begin(line);
    if (out_.all.empty()) return line.refuse("'{}' stands before the first 'operator'", keyword);
    if (keyword == "in" || keyword == "out" || keyword == "in_out") return operand(keyword, line);
    if (keyword == "option") return option(line);
    if (keyword == "scalar") return scalar(line);
    if (keyword == "promise") return promise(line);
    if (keyword == "limit") return limit(line);
    if (keyword == "gradient") return gradient(line);
    const auto text = [&](std::string_view& to) {
      if (line.rest.empty()) return line.refuse("'{}' says nothing", keyword);
      if (!to.empty()) return line.refuse("a second '{}' of {}", keyword, contract().name);
      to = line.rest;
      return Status();
    };
    const auto flag = [&](bool& to) {
      if (!line.rest.empty()) return line.refuse("'{}' takes nothing: '{}'", keyword, line.rest);
      to = true;
      return Status();
    };
    if (keyword == "summary") return text(contract().summary);
    if (keyword == "formula") return text(contract().formula);
    if (keyword == "edge" || keyword == "not") {
      std::string_view sentence;
      if (Status s = text(sentence); !s.ok()) return s;
      (keyword == "edge" ? contract().edges : contract().non_claims).push_back(sentence);
      return {};
    }
    if (keyword == "batch") {
      lines_["batch"] = line;
      return text(contract().batch);
    }
    if (keyword == "list") return flag(contract().list);
    if (keyword == "may_be_empty") return flag(contract().may_be_empty);
    return line.refuse(
        "'{}' is no word of a contract; they are operator, summary, formula, promise, edge, not, in, out, in_out, "
        "option, scalar, limit, batch, gradient, list, may_be_empty",
        keyword);
  }

  Status begin(Line line) {
    if (!out_.all.empty())
      if (Status s = finish(); !s.ok()) return s;
    const std::string_view name = line.word();
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos || !is_name(name.substr(0, dot)) || !is_name(name.substr(dot + 1)))
      return line.refuse("'{}': an operator's name is FAMILY.OPERATOR, in small letters, digits and _", name);
    if (!line.rest.empty()) return line.refuse("'{}' behind the operator's name", line.rest);
    if (is_keyword(name.substr(0, dot)) || is_keyword(name.substr(dot + 1)))
      return line.refuse("'{}' has a word of C++ in it", name);
    if (is_our_namespace(name.substr(0, dot)))
      return line.refuse("a family cannot be called {}: the library itself has that name", name.substr(0, dot));
    for (const WrittenContract& other : out_.all) {
      if (other.contract.name == name)
        return line.refuse("a second operator {}; the first is in line {}", name, other.line);
      if (other.contract.family() != name.substr(0, dot))
        return line.refuse("{} is of another family than {} in line {}; a folder holds one", name, other.contract.name,
                           other.line);
    }
    out_.all.push_back({});
    out_.all.back().line = line.number;
    contract().name = name;
    contract().determinism = "the same bits on every device and for any thread count";
    return {};
  }

  // A name of its own among operands, options and scalars: a definition has one word for each.
  Status claim(const Line& line, std::string_view name) {
    if (!is_name(name)) return line.refuse("'{}' is no name: small letters, digits and _, not a digit first", name);
    if (is_keyword(name)) return line.refuse("'{}' is a word of C++", name);
    const auto [known, first] = names_.emplace(name, line.number);
    if (!first) return line.refuse("'{}' is in line {} already", name, known->second);
    return {};
  }

  Status operand(std::string_view role, Line line) {
    OperandSpec spec{};
    spec.role = role == "in" ? Role::in : role == "out" ? Role::out : Role::in_out;
    spec.name = line.word();
    if (Status s = claim(line, spec.name); !s.ok()) return s;
    constexpr std::string_view kTypes[] = {"storage", "f32", "storage_or_f32", "floating", "index", "i64"};
    const std::string_view type = line.word();
    const auto* found = std::find(std::begin(kTypes), std::end(kTypes), type);
    if (found == std::end(kTypes))
      return line.refuse("{}: '{}' is no type; it is one of {}", spec.name, type, fmt::join(kTypes, ", "));
    spec.type = static_cast<TypeRule>(found - std::begin(kTypes));
    if (Status s = shape(line, spec); !s.ok()) return s;
    while (!line.rest.empty() && !line.rest.starts_with(':')) {
      const std::string_view word = line.word();
      std::string_view* to = word == "over"        ? &spec.may_alias
                             : word == "with"      ? &spec.with
                             : word == "saved_as"  ? &spec.saved_as
                             : word == "read_when" ? &spec.read_when
                             : word == "below"     ? &spec.below
                             : word == "left_out"  ? &spec.left_out
                                                   : nullptr;
      if (to != nullptr) {
        const std::string_view what = line.word();
        if (!is_name(what)) return line.refuse("{}: '{}' wants a name", spec.name, word);
        *to = to->empty() ? what : keep(fmt::format("{} {}", *to, what));
        refers_.push_back({line, std::string(word), std::string(what)});
      } else if (word == "optional") {
        spec.optional = true;
      } else if (word == "nonnegative") {
        spec.nonnegative = true;
      } else if (word == "f32_by_default") {
        spec.single_by_default = true;
      } else {
        return line.refuse(
            "{}: '{}' is no property of an operand; they are optional, nonnegative, f32_by_default, over X, with X, "
            "saved_as X, read_when OPTION, below SIZE, left_out OPTION; a text begins with :",
            spec.name, word);
      }
    }
    if (Status s = line.text(spec.name, spec.text); !s.ok()) return s;
    if (spec.type == TypeRule::index && spec.below.empty())
      return line.refuse("{}: indices say what they stay below: 'below SIZE'", spec.name);
    if (contract().operands.size() == std::size_t{kMaxOperands})
      return line.refuse("{} has more than {} operands", contract().name, kMaxOperands);
    contract().operands.push_back(spec);
    out_.all.back().operand_lines.push_back(line.number);
    return {};
  }

  Status shape(Line& line, OperandSpec& spec) {
    const std::size_t end = line.rest.find(']');
    if (!line.rest.starts_with('[') || end == std::string_view::npos)
      return line.refuse("{}: a shape like [rows, cols] stands behind the type", spec.name);
    std::string_view inside = line.rest.substr(1, end - 1);
    line.rest = base::trimmed(line.rest.substr(end + 1));
    for (std::size_t rank = 0;; ++rank) {
      const std::size_t comma = inside.find(',');
      const std::string_view symbol = base::trimmed(inside.substr(0, comma));
      if (rank == std::size_t{kMaxRank}) return line.refuse("{}: more than {} dimensions", spec.name, kMaxRank);
      if (symbol != "1" && !is_name(symbol)) return line.refuse("{}: '{}' is no size: a name, or 1", spec.name, symbol);
      spec.shape[rank] = symbol;
      if (comma == std::string_view::npos) return {};
      inside.remove_prefix(comma + 1);
    }
  }

  Status option(Line line) {
    const std::string_view name = line.word();
    if (Status s = claim(line, name); !s.ok()) return s;
    auto spec = read_option(line, name, out_.words);
    if (!spec.ok()) return spec.status();
    if (contract().options.size() == std::size_t{kMaxOptions})
      return line.refuse("{} has more than {} options", contract().name, kMaxOptions);
    contract().options.push_back(std::move(spec).value());
    if (contract().options.back().kind == OptionKind::f32) return derive(line, name, std::string(name));
    return {};
  }

  Status scalar(Line line) {
    const std::string_view name = line.word();
    if (Status s = claim(line, name); !s.ok()) return s;
    if (line.word() != "=") return line.refuse("a scalar is written 'scalar NAME = EXPRESSION'");
    return derive(line, name, std::string(line.rest));
  }
  Status derive(const Line& line, std::string_view name, const std::string& text) {
    auto expression = Expression::parse(text);
    if (!expression.ok()) return line.refuse("{} = {:.100}: {}", name, text, expression.status().message());
    if (derived_.size() == std::size_t{kMaxScalars})
      return line.refuse("{} has more than {} scalars; each option of kind f32 is one", contract().name, kMaxScalars);
    derived_.push_back({std::string(name), std::move(expression).value(), line.number});
    return {};
  }

  Status promise(Line line) {
    if (line.rest == "formula") return contract().ensures.push_back(kFormulaPromise), Status();
    if (line.rest == "bound") return contract().ensures.push_back(kBoundPromise), Status();
    const std::string_view kind = line.word();
    Promise promise{};
    for (const Guarantee one :
         {Guarantee::exact_copy, Guarantee::correctly_rounded, Guarantee::reproducible, Guarantee::bounded}) {
      if (name_of(one) != kind) continue;
      promise.kind = one;
      if (Status s = line.text(kind, promise.text); !s.ok()) return s;
      return contract().ensures.push_back(promise), Status();
    }
    return line.refuse("'{}' is no promise; it is formula, bound, or KIND : TEXT with KIND one of {}, {}, {}, {}", kind,
                       name_of(Guarantee::exact_copy), name_of(Guarantee::correctly_rounded),
                       name_of(Guarantee::reproducible), name_of(Guarantee::bounded));
  }

  Status limit(Line line) {
    const std::string_view symbol = line.word(), number = line.word();
    std::int64_t most = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), most);
    if (error != std::errc() || end != number.data() + number.size() || most < 1 || !line.rest.empty())
      return line.refuse("a limit is written 'limit SIZE NUMBER', the number at least 1");
    contract().limits.push_back({symbol, most});
    refers_.push_back({line, "limit", std::string(symbol)});
    return {};
  }

  Status gradient(Line line) {
    OwnGradient& own = contract().own_gradient;
    own.gradient = line.word();
    const bool of = line.word() == "of";
    own.of = line.word();
    const bool by = line.word() == "by";
    own.by = line.word();
    const std::string_view times = line.word();
    own.scale = line.word();
    if (!of || !by || own.by.empty() || (times == "times" ? own.scale.empty() : !times.empty()) || !line.rest.empty())
      return line.refuse("a gradient is written 'gradient DX of Y by X' or 'gradient DX of Y by X times OPTION'");
    for (const std::string_view operand : {own.gradient, own.of, own.by})
      refers_.push_back({line, "gradient", std::string(operand)});
    if (!own.scale.empty()) refers_.push_back({line, "times", std::string(own.scale)});
    return {};
  }

  // What one line says of another, at the end of an operator.
  Status finish() {
    Contract& c = contract();
    const Line here{path_, out_.all.back().line, {}};
    Sizes sizes;
    for (const OperandSpec& spec : c.operands)
      for (const std::string_view symbol : spec.shape)
        if (!symbol.empty() && symbol != "1") sizes.emplace(symbol);
    if (c.summary.empty()) return here.refuse("{} has no summary", c.name);
    if (c.formula.empty()) return here.refuse("{} has no formula", c.name);
    if (std::none_of(c.operands.begin(), c.operands.end(), [](const auto& o) { return o.role != Role::in; }))
      return here.refuse("{} writes nothing: no line begins with out or in_out", c.name);
    if (Status s = known_sizes(sizes); !s.ok()) return s;
    if (sizes.size() > std::size_t{kMaxSymbols})
      return here.refuse("{} has {} sizes; it may have {}", c.name, sizes.size(), kMaxSymbols);
    if (!c.batch.empty() && !sizes.contains(c.batch))
      return lines_["batch"].refuse("batch {}: no operand has that size; they have {}", c.batch,
                                    fmt::join(sizes, ", "));
    for (const Reference& one : refers_) {
      const bool option = one.word == "read_when" || one.word == "left_out" || one.word == "times";
      const bool size = one.word == "limit";
      const bool any_size = one.word == "below";
      const bool known = option                   ? c.option_index(one.name) >= 0
                         : size                   ? sizes.contains(one.name)
                         : any_size               ? sizes.contains(one.name)
                         : one.word == "saved_as" ? true
                                                  : c.operand_index(one.name) >= 0;
      if (!known)
        return one.line.refuse("{} {}: {} has no {} of that name", one.word, one.name, c.name,
                               option             ? "option"
                               : size || any_size ? "size"
                                                  : "operand");
    }
    if (c.ensures.empty()) c.ensures = {kFormulaPromise, kBoundPromise};
    auto prepare = preparation(c, derived_, sizes, path_);
    if (!prepare.ok()) return prepare.status();
    c.prepare = std::move(prepare).value();
    c.refusal = refusal_of;
    for (const Derived& one : derived_) out_.all.back().scalars.push_back(one.name);
    names_.clear();
    refers_.clear();
    derived_.clear();
    lines_.clear();
    return {};
  }

  // What a caller gives tells every size: it is one of an operand that is read, or an integer option.
  Status known_sizes(const Sizes& sizes) {
    const Contract& c = contract();
    for (const std::string& size : sizes) {
      const int option = c.option_index(size);
      if (option >= 0 && c.options[static_cast<std::size_t>(option)].kind != OptionKind::integer)
        return Line{path_, names_.find(size)->second, {}}.refuse("the option {} has the name of a size", size);
      std::size_t first = c.operands.size();
      bool read = false;
      for (std::size_t i = c.operands.size(); i-- > 0;) {
        const OperandSpec& spec = c.operands[i];
        if (std::find(spec.shape.begin(), spec.shape.end(), size) == spec.shape.end()) continue;
        first = i;
        read = read || (spec.role != Role::out && !spec.optional);
      }
      if (!read && option < 0)
        return Line{path_, out_.all.back().operand_lines[first], {}}.refuse(
            "nothing tells the size {}: no operand that is always read has it, and there is no integer option of that "
            "name",
            size);
    }
    return {};
  }

  struct Reference {
    Line line;
    std::string word, name;
  };

  std::string_view path_;
  Contracts& out_;
  std::map<std::string, int, std::less<>> names_;  // and the line of each
  std::vector<Reference> refers_;
  std::vector<Derived> derived_;
  std::map<std::string, Line, std::less<>> lines_;
};

}  // namespace

Status read_contracts(std::string_view text, std::string_view path, Contracts& out) {
  return Reader(path, out).read(text);
}

}  // namespace tokitai::loader
