// Messages name what was given and what the contract knows.
#include "cli/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "contract/parse.h"

namespace tokitai::cli {
namespace {

bool is_read(const OperandSpec& spec) { return spec.role != Role::out || !spec.read_when.empty(); }
bool is_written(const OperandSpec& spec) { return spec.role != Role::in; }

std::optional<Type> storage_named(std::string_view name) {
  for (const Type type : {Type::f16, Type::bf16, Type::f32})
    if (name_of(type) == name) return type;
  return {};
}

class Matcher {
 public:
  Matcher(const Contract& contract, FileUses& files) : files_(files) {
    request_.contract = &contract;
    request_.inputs.resize(contract.operands.size());
    request_.outputs.resize(contract.operands.size());
  }

  Result<Request> run(const RunArguments& arguments) {
    if (!arguments.dtype.empty()) {
      request_.dtype = storage_named(arguments.dtype);
      if (!request_.dtype) return fail(fmt::format("--dtype {}; it must be f16, bf16 or f32", arguments.dtype));
    }
    for (const std::string& text : arguments.in)
      if (Status s = input(text); !s.ok()) return s;
    for (const std::string& text : arguments.set)
      if (Status s = option(text); !s.ok()) return s;
    for (const std::string& text : arguments.out)
      if (Status s = output(text); !s.ok()) return s;
    if (arguments.out.empty())
      return fail(fmt::format("nothing to write; give --out NAME=FILE.npy, NAME one of {}", known(is_written)));
    if (Status s = counts(); !s.ok()) return s;
    if (Status s = read_when(); !s.ok()) return s;
    return std::move(request_);
  }

 private:
  const Contract& contract() const { return *request_.contract; }
  Status fail(const std::string& what) const { return Status::invalid(fmt::format("{}: {}", contract().name, what)); }

  std::string known(bool (*chosen)(const OperandSpec&)) const {
    std::vector<std::string_view> names;
    for (const OperandSpec& spec : contract().operands)
      if (chosen(spec)) names.push_back(spec.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  struct Pair {
    std::string name, value;
  };
  Result<Pair> split(std::string_view flag, std::string_view form, const std::string& text) const {
    const std::size_t at = text.find('=');
    if (at == 0 || at == std::string::npos)
      return fail(fmt::format("{} {}; it must read {} {}", flag, text, flag, form));
    return Pair{text.substr(0, at), text.substr(at + 1)};
  }

  // Who reads or writes a file: a tensor of a list each its own.
  std::string file_user(int operand, std::size_t tensor) const {
    const std::string_view name = contract().operands[static_cast<std::size_t>(operand)].name;
    const bool listed = contract().list && !contract().has_once(contract().operands[static_cast<std::size_t>(operand)]);
    return listed ? fmt::format("{}[list index {}]", name, tensor) : std::string(name);
  }

  Status input(const std::string& text) {
    auto pair = split("--in", "NAME=FILE.npy", text);
    if (!pair.ok()) return pair.status();
    const int operand = contract().operand_index(pair->name);
    if (operand < 0) return fail(fmt::format("--in {}: no such operand; it reads {}", pair->name, known(is_read)));
    if (!is_read(contract().operands[static_cast<std::size_t>(operand)]))
      return fail(fmt::format("--in {}: that is written, not read; it reads {}", pair->name, known(is_read)));
    auto& inputs = request_.inputs[static_cast<std::size_t>(operand)];
    files_.reads(file_user(operand, inputs.size()), pair->value);
    inputs.push_back(std::move(pair->value));
    return {};
  }

  Status option(const std::string& text) {
    auto pair = split("--set", "NAME=VALUE", text);
    if (!pair.ok()) return pair.status();
    const int index = contract().option_index(pair->name);
    if (index < 0) {
      std::vector<std::string_view> names;
      for (const OptionSpec& spec : contract().options) names.push_back(spec.name);
      return fail(names.empty()
                      ? fmt::format("--set {}: it has no options", pair->name)
                      : fmt::format("--set {}: no such option; it has {}", pair->name, fmt::join(names, ", ")));
    }
    Option& option = request_.options[static_cast<std::size_t>(index)];
    if (option.set) return fail(fmt::format("--set {} is given twice", pair->name));
    return parse_option(contract(), pair->name, pair->value, option);
  }

  Status output(const std::string& text) {
    auto pair = split("--out", "NAME=FILE.npy or NAME:TYPE=FILE.npy", text);
    if (!pair.ok()) return pair.status();
    RequestedOutput output{pair->value, {}, {}};
    std::string name = pair->name;
    if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
      output.type = storage_named(name.substr(colon + 1));
      if (!output.type) return fail(fmt::format("--out {}: the type must be f16, bf16 or f32", name));
      name.resize(colon);
    }
    const int operand = contract().operand_index(name);
    if (operand < 0) return fail(fmt::format("--out {}: no such operand; it writes {}", name, known(is_written)));
    if (!is_written(contract().operands[static_cast<std::size_t>(operand)]))
      return fail(fmt::format("--out {}: that is read, not written; it writes {}", name, known(is_written)));
    // A tensor of a list may replace its own file, not that of another.
    const std::size_t tensor = request_.outputs[static_cast<std::size_t>(operand)].size();
    std::vector<std::string> over;
    for (const OperandSpec& spec : contract().operands)
      if (contract().operands[static_cast<std::size_t>(operand)].may_lie_over(spec.name))
        over.push_back(file_user(contract().operand_index(spec.name), tensor));
    auto where = files_.writes(file_user(operand, tensor), output.path, over);
    if (!where.ok()) return fail(where.status().message());
    output.destination = std::move(where).value();
    request_.outputs[static_cast<std::size_t>(operand)].push_back(std::move(output));
    return {};
  }

  // How often each operand is given: once, or for a list as often as the first operand.
  Status counts() {
    const OperandSpec& first = contract().operands.front();
    if (contract().list) request_.count = request_.inputs.front().size();
    for (std::size_t i = 0; i < contract().operands.size(); ++i) {
      const OperandSpec& spec = contract().operands[i];
      const std::size_t read = request_.inputs[i].size(), written = request_.outputs[i].size();
      if (read == 0 && spec.role != Role::out && !spec.optional)
        return fail(fmt::format("{} is missing; give --in {}=FILE.npy", spec.name, spec.name));
      if (read == 0 && spec.role == Role::in_out && written != 0)
        return fail(fmt::format("{} is worked on in place; give --in {}=FILE.npy too", spec.name, spec.name));
      if (read != 0 && spec.role == Role::in_out && written == 0)
        return fail(fmt::format("{} is worked on in place; give --out {}=FILE.npy too, or what becomes of it is lost",
                                spec.name, spec.name));
      for (const auto& [flag, given] : {std::pair("--in", read), std::pair("--out", written)}) {
        const bool listed = contract().list && !contract().has_once(spec);
        if (given == 0 || given == (listed ? request_.count : 1)) continue;
        return fail(listed ? fmt::format("{} of {} {}, but {} of --in {}; the n-th of each belong together", given,
                                         flag, spec.name, request_.count, first.name)
                           : fmt::format("{} {} is given {} times; it takes one", flag, spec.name, given));
      }
    }
    return {};
  }

  // Giving an output to read as well switches the option on that reads it.
  Status read_when() {
    for (std::size_t i = 0; i < contract().operands.size(); ++i) {
      const OperandSpec& spec = contract().operands[i];
      if (spec.read_when.empty()) continue;
      Option& option = request_.options[static_cast<std::size_t>(contract().option_index(spec.read_when))];
      const bool given = !request_.inputs[i].empty();
      if (option.set && (option.i != 0) != given)
        return fail(given
                        ? fmt::format("{} = 0, but --in {} is given to be read", spec.read_when, spec.name)
                        : fmt::format("{} = 1 reads {}; give --in {}=FILE.npy", spec.read_when, spec.name, spec.name));
      if (given) option = option_integer(1);
    }
    return {};
  }

  Request request_;
  FileUses& files_;
};

}  // namespace

std::string Request::label(std::size_t operand, std::size_t tensor) const {
  const std::string_view name = contract->operands[operand].name;
  const bool listed = count > 1 && !contract->has_once(contract->operands[operand]);
  return listed ? fmt::format("{}[list index {}]", name, tensor) : std::string(name);
}

Result<Request> parse_request(const RunArguments& arguments, FileUses& files) {
  const auto contract = operator_named(arguments.op);
  if (!contract.ok()) return contract.status();
  return Matcher(*contract.value(), files).run(arguments);
}

}  // namespace tokitai::cli
