// From files to views. What a contract can judge is left to its check; here is only what the shapes of outputs
// and the memory for them need.
#include "cli/tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

namespace tokitai::cli {
namespace {

Type memory_type(NpyType type) {
  switch (type) {
    case NpyType::f2: return Type::f16;
    case NpyType::u2: return Type::bf16;
    case NpyType::f4: return Type::f32;
    case NpyType::i4: return Type::i32;
    case NpyType::i8: return Type::i64;
  }
  return Type::f32;
}

// The shape with its symbols: "[vocab = 30, dim = 12]".
std::string shape_text(const OperandSpec& spec, const View& view) {
  std::string text;
  for (std::size_t d = 0; d < static_cast<std::size_t>(view.rank); ++d)
    text += fmt::format("{}{} = {}", d > 0 ? ", " : "", spec.shape[d], view.shape[d]);
  return fmt::format("[{}]", text);
}

}  // namespace

NpyType file_type(Type type) {
  switch (type) {
    case Type::f16: return NpyType::f2;
    case Type::bf16: return NpyType::u2;
    case Type::f32: return NpyType::f4;
    case Type::i32: return NpyType::i4;
    case Type::i64: return NpyType::i8;
  }
  return NpyType::f4;
}

std::int64_t main_memory() { return std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

Result<Tensors> Tensors::make(const Request& request) {
  Tensors tensors(request);
  tensors.call_.contract = request.contract;
  tensors.call_.options = request.options;
  for (std::size_t tensor = 0; tensor < request.count; ++tensor)
    if (Status s = tensors.make_set(tensor); !s.ok()) return s;
  return tensors;
}

Status Tensors::fail(const std::string& what) const {
  return Status::invalid(fmt::format("{}: {}", request_->contract->name, what));
}

Status Tensors::make_set(std::size_t tensor) {
  const Contract& contract = *request_->contract;
  Operands set{};
  Symbols symbols{{"1", 1}};
  first_of_set_ = inputs_.size();
  // What a call over a list has once lies beside its first tensor.
  const auto elsewhere = [&](std::size_t i) { return tensor > 0 && contract.has_once(contract.operands[i]); };
  for (std::size_t i = 0; i < contract.operands.size(); ++i)
    if (!request_->inputs[i].empty() && !elsewhere(i))
      if (Status s = input(i, tensor, set[i], symbols); !s.ok()) return s;
  // A size that no file tells may be an option of the same name. Files come first: a contradiction is the
  // contract's to name.
  for (std::size_t i = 0; i < contract.options.size(); ++i)
    if (request_->options[i].set) symbols.emplace_back(contract.options[i].name, request_->options[i].i);
  for (std::size_t i = 0; i < contract.operands.size(); ++i) {
    if (elsewhere(i)) continue;
    const bool left_out = contract.operands[i].optional && request_->outputs[i].empty();
    if (contract.operands[i].role == Role::out && !set[i].present() && !left_out)
      if (Status s = output(i, tensor, set, symbols); !s.ok()) return s;
    if (request_->outputs[i].empty()) continue;
    if (const auto type = request_->outputs[i][tensor].type; type && *type != set[i].type)
      return fail(fmt::format("{} is read as {} and worked on in place; it cannot be written as {}",
                              request_->label(i, tensor), name_of(set[i].type), name_of(*type)));
    std::vector<std::int64_t> shape(set[i].shape.begin(), set[i].shape.begin() + set[i].rank);
    const bool as_tensor = contract.list && !contract.has_once(contract.operands[i]);
    outputs_.push_back({i, tensor, set[i], as_tensor ? inputs_[first_of_set_].header.shape : std::move(shape)});
  }
  if (contract.list)
    call_.list.push_back(set);
  else
    call_.operands = set;
  return {};
}

Status Tensors::input(std::size_t operand, std::size_t tensor, View& view, Symbols& symbols) {
  const OperandSpec& spec = request_->contract->operands[operand];
  const std::string& path = request_->inputs[operand][tensor];
  const std::string label = request_->label(operand, tensor);
  const auto header = read_npy_header(path);
  if (!header.ok()) return fail(fmt::format("{}: {}", label, header.status().message()));
  const Type type = memory_type(header->type);
  if (type == Type::bf16 && request_->dtype != Type::bf16)
    return fail(fmt::format("{}: {} holds <u2; if these are the bits of bf16 numbers, say --dtype bf16", label, path));
  if (spec.type == TypeRule::storage && request_->dtype && type != *request_->dtype)
    return fail(fmt::format("{}: {} holds {} ({}), but --dtype says {}", label, path, descr_of(header->type),
                            name_of(type), name_of(*request_->dtype)));
  const std::vector<std::int64_t>& shape = header->shape;
  if (request_->contract->list && !request_->contract->has_once(spec)) {
    if (inputs_.size() > first_of_set_)
      if (const Input& first = inputs_[first_of_set_]; shape != first.header.shape)
        return fail(
            fmt::format("{}: {} has shape [{}], but {} has shape [{}]; the operands of a tensor must have one "
                        "shape",
                        label, path, fmt::join(shape, ", "), first.label, fmt::join(first.header.shape, ", ")));
    view = {nullptr, type, 1, {header->elements(), 1}, 1, {}};
  } else {
    const int rank = spec.rank();
    if (shape.size() != static_cast<std::size_t>(rank))
      return fail(fmt::format("{}: {} has {} dimension{}; it must have {}", label, path, shape.size(),
                              shape.size() == 1 ? "" : "s", rank));
    view = {nullptr, type, rank, {}, 1, {}};
    std::copy(shape.begin(), shape.end(), view.shape.begin());
    make_dense(view);
  }
  if (spec.type == TypeRule::storage && !storage_) storage_ = type;
  for (int d = 0; d < view.rank; ++d) {
    const Size size = size_named(spec.shape[static_cast<std::size_t>(d)]);
    symbols.emplace_back(size.symbol, view.shape[static_cast<std::size_t>(d)] - size.more);
  }
  if (Status s = allocate(operand, tensor, view); !s.ok()) return s;
  inputs_.push_back({label, path, header.value(), view.data});
  return {};
}

Status Tensors::output(std::size_t operand, std::size_t tensor, Operands& set, const Symbols& symbols) {
  View& view = set[operand];
  const OperandSpec& spec = request_->contract->operands[operand];
  const Type storage = storage_.value_or(Type::f32);
  switch (spec.type) {
    case TypeRule::storage:
    case TypeRule::floating: view.type = storage; break;
    case TypeRule::f32: view.type = Type::f32; break;
    case TypeRule::storage_or_f32:
      view.type = spec.single_by_default ? Type::f32 : storage;
      if (const int with = request_->contract->operand_index(spec.with);
          with >= 0 && set[static_cast<std::size_t>(with)].present())
        view.type = set[static_cast<std::size_t>(with)].type;
      break;
    case TypeRule::index:
    case TypeRule::i64: view.type = Type::i64; break;
  }
  if (!request_->outputs[operand].empty()) view.type = request_->outputs[operand][tensor].type.value_or(view.type);
  view.rank = spec.rank();
  for (std::size_t d = 0; d < static_cast<std::size_t>(view.rank); ++d) {
    const auto [symbol, more] = size_named(spec.shape[d]);
    const std::string_view name = symbol;
    const auto bound = std::find_if(symbols.begin(), symbols.end(), [&](const auto& s) { return s.first == name; });
    if (bound == symbols.end())
      return fail(fmt::format("no input tells the size {} of {}; give --set {}=N", name, spec.name, name));
    view.shape[d] = bound->second + more;
  }
  make_dense(view);
  return allocate(operand, tensor, view);
}

Status Tensors::allocate(std::size_t operand, std::size_t tensor, View& view) {
  const OperandSpec& spec = request_->contract->operands[operand];
  const std::string what =
      fmt::format("{} {} of {}", request_->label(operand, tensor), shape_text(spec, view), name_of(view.type));
  const auto refuse = [&](const std::string& why) { return fail(fmt::format("{} {}", what, why)); };
  std::int64_t bytes = 0;  // a size below zero is the contract's to refuse
  Shape sizes{};
  std::transform(view.shape.begin(), view.shape.end(), sizes.begin(),
                 [](std::int64_t size) { return std::max<std::int64_t>(size, 0); });
  const std::int64_t elements = elements_of(sizes, view.rank);
  if (elements < 0 || __builtin_mul_overflow(elements, static_cast<std::int64_t>(size_of(view.type)), &bytes))
    return refuse("takes more than 2^63 bytes");
  if (bytes > main_memory() - bytes_)
    return refuse(
        fmt::format("takes {} bytes beside {} of other operands; this machine has {}", bytes, bytes_, main_memory()));
  constexpr std::size_t kAlignment = 64;
  view.data = std::aligned_alloc(kAlignment, (static_cast<std::size_t>(bytes) / kAlignment + 1) * kAlignment);
  if (view.data == nullptr) return refuse(fmt::format("takes {} bytes; there is no memory for it", bytes));
  memory_.emplace_back(view.data);
  bytes_ += bytes;
  if (bytes > largest_bytes_) largest_bytes_ = bytes, largest_ = what;
  return {};
}

Status Tensors::read_data() const {
  for (const Input& input : inputs_)
    if (Status s = read_npy_data(input.path, input.header, input.memory); !s.ok())
      return fail(fmt::format("{}: {}", input.label, s.message()));
  return {};
}

}  // namespace tokitai::cli
