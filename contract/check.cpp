// Argument checks, all derived from the contract's tables: presence, types, shapes, strides, sizes, alignment,
// aliasing, options. Everything is checked before the first output byte is written.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "contract/contract.h"
#include "contract/parse.h"

namespace tokitai {
namespace {

// Sizes, or strides, of the dimensions there are; a view that could not be made had two at least.
std::string shape_text(const View& v) {
  const auto filled = std::find_if(v.shape.rbegin(), v.shape.rend() - 2, [](std::int64_t size) { return size != 0; });
  const auto end = v.rank > 0 ? v.shape.begin() + std::min(v.rank, kMaxRank) : filled.base();
  return fmt::format("[{}]", fmt::join(v.shape.begin(), end, ", "));
}
std::string strides_text(const View& v) {
  std::string text;
  for (int d = 0; d < v.rank; ++d) text += fmt::format("{}{}", d > 0 ? ", " : "", v.stride(d));
  return fmt::format("[{}]", text);
}

struct Extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
Extent extent_of(const View& v) {
  const auto begin = reinterpret_cast<std::uintptr_t>(v.data);
  return {begin, begin + static_cast<std::uintptr_t>(v.span()) * size_of(v.type)};
}

// The dimensions before the last, those of one index left out, the widest stride first.
struct Dimension {
  std::int64_t size, stride;
};
struct Dimensions {
  std::array<Dimension, kMaxRank> all{};
  std::size_t count = 0;
  explicit Dimensions(const View& v) {
    for (int d = 0; d + 1 < v.rank; ++d)
      if (v.shape[static_cast<std::size_t>(d)] != 1) insert({v.shape[static_cast<std::size_t>(d)], v.stride(d)});
  }
  void insert(const Dimension& one) {  // the widest stride first
    std::size_t at = count++;
    for (; at > 0 && all[at - 1].stride < one.stride; --at) all[at] = all[at - 1];
    all[at] = one;
  }
};

// Whether rows of b, which begins `distance` elements behind a, lie over rows of a. Both have the strides of `dims`,
// each wider than what the narrower ones reach together, so that at each stride there are two places to look at.
bool rows_meet(const Dimensions& a, const Dimensions& b, std::size_t from, std::int64_t distance, std::int64_t cols_a,
               std::int64_t cols_b) {
  if (from == a.count) return distance < cols_a && -distance < cols_b;
  const std::int64_t stride = a.all[from].stride;
  const std::int64_t below = distance / stride - (distance % stride < 0 ? 1 : 0);
  for (const std::int64_t steps : {below, below + 1})
    if (steps < a.all[from].size && -steps < b.all[from].size &&
        rows_meet(a, b, from + 1, distance - steps * stride, cols_a, cols_b))
      return true;
  return false;
}

// Two column ranges of one wider matrix lie in overlapping extents but share no element; so do the parts of a tensor.
bool interleaved(const View& a, const View& b) {
  if (a.rank < 2 || b.rank < 2 || size_of(a.type) != size_of(b.type)) return false;
  const auto size = static_cast<std::int64_t>(size_of(a.type));
  const auto distance =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b.data) - reinterpret_cast<std::uintptr_t>(a.data));
  if (a.evenly_spaced() && b.evenly_spaced() && a.row_stride == b.row_stride) {
    const std::int64_t stride = a.row_stride * size;
    const std::int64_t shift = ((distance % stride) + stride) % stride;
    return shift >= a.cols() * size && stride - shift >= b.cols() * size;
  }
  const Dimensions x(a), y(b);
  bool alike = x.count == y.count && distance % size == 0;
  for (std::size_t d = 0; alike && d < x.count; ++d) alike = x.all[d].stride == y.all[d].stride;
  return alike && !rows_meet(x, y, 0, distance / size, a.cols(), b.cols());
}
bool overlap(const View& a, const View& b) {
  const Extent x = extent_of(a), y = extent_of(b);
  return x.begin < y.end && y.begin < x.end && !interleaved(a, b);
}
bool same_memory(const View& a, const View& b) {
  if (a.data != b.data || a.type != b.type || a.rank != b.rank) return false;
  for (int d = 0; d < a.rank; ++d)
    if (a.shape[static_cast<std::size_t>(d)] != b.shape[static_cast<std::size_t>(d)] || a.stride(d) != b.stride(d))
      return false;
  return true;
}

// A dimension of one index is never stepped along, so its stride says nothing: it gets the one that keeps rows evenly
// spaced where the others do.
void settle_strides(View& v) {
  const auto one = [&](int d) { return v.shape[static_cast<std::size_t>(d)] == 1; };
  const auto set = [&](int d, std::int64_t stride) {
    (d + 2 == v.rank ? v.row_stride : v.outer_stride[static_cast<std::size_t>(d)]) = stride;
  };
  for (int d = 1; d + 1 < v.rank; ++d)
    if (one(d) && !one(d - 1)) set(d, v.stride(d - 1));
  for (int d = v.rank - 3; d >= 0; --d)
    if (std::int64_t stride = 0; one(d)) {
      static_cast<void>(__builtin_mul_overflow(v.stride(d + 1), v.shape[static_cast<std::size_t>(d) + 1], &stride));
      set(d, stride);
    }
}

class Checker {
 public:
  explicit Checker(Call& call) : call_(call), contract_(*call.contract) {}

  Status run() {
    if (Status s = options(); !s.ok()) return s;
    if (contract_.list) {
      if (call_.list.empty()) return fail("the list of tensors is empty; it must hold at least one");
      std::int64_t total = 0;
      for (item_ = 0; item_ < static_cast<std::int64_t>(call_.list.size()); ++item_) {
        call_.symbols = {};  // each set has a size of its own; the storage type is one for all
        Operands& tensor = call_.list[static_cast<std::size_t>(item_)];
        if (Status s = operands(tensor); !s.ok()) return s;
        for (std::size_t i = 0; i < contract_.tensor_operands(); ++i)
          if (View& v = tensor[i]; v.rank >= 2) v = {v.data, v.type, 1, {v.elements(), 1}, 1, {}};
        total += tensor[0].elements();  // memory() has bounded it
      }
      item_ = -1;
      call_.symbols = {};  // no tensor's sizes are the call's
      if (Status s = operands(call_.list[0]); !s.ok()) return s;
      if (total == 0 && !contract_.may_be_empty)
        return fail(fmt::format("{} has no elements in any tensor of the list", contract_.operands[0].name));
      if (Status s = list_aliasing(); !s.ok()) return s;
    } else {
      if (Status s = operands(call_.operands); !s.ok()) return s;
      if (Status s = aliasing(call_.operands); !s.ok()) return s;
    }
    return contract_.prepare != nullptr ? contract_.prepare(call_) : Status();
  }

 private:
  Status fail(const std::string& what) const { return Status::invalid(fmt::format("{}: {}", contract_.name, what)); }
  // An operand's name as a message shows it: with its place in the list where there is one. Only for messages: a model
  // has thousands of operands, and a good call pays for none of their labels.
  std::string label(std::string_view name, std::int64_t item) const {
    return item >= 0 && call_.list.size() > 1 ? fmt::format("{}[list index {}]", name, item) : std::string(name);
  }
  std::string label(std::string_view name) const { return label(name, item_); }

  Status options() {
    for (std::size_t i = 0; i < contract_.options.size(); ++i) {
      const OptionSpec& spec = contract_.options[i];
      Option& option = call_.options[i];
      if (!option.set) {
        if (spec.required) return fail(fmt::format("{} is missing; it must be {}", spec.name, range_of(spec)));
        option = spec.fallback;
      }
      const bool unnamed = spec.kind == OptionKind::choice && (option.i < 0 || option.i >= std::ssize(spec.choices));
      if (option.set && (unnamed || (spec.allowed != nullptr && !spec.allowed(option))))
        return fail(fmt::format("{} = {}; it must be {}", spec.name, text_of(spec, option), range_of(spec)));
    }
    return {};
  }

  Status type(const OperandSpec& spec, const View& v) {
    const auto refuse = [&](std::string_view wanted) {
      return fail(fmt::format("{} has type {}; it must be {}", label(spec.name), name_of(v.type), wanted));
    };
    const bool storage = v.type == Type::f16 || v.type == Type::bf16 || v.type == Type::f32;
    switch (spec.type) {
      case TypeRule::storage:
        if (!storage) return refuse("f16, bf16 or f32");
        if (storage_from_ == nullptr) {
          call_.storage = v.type;
          storage_from_ = &spec;
          storage_item_ = item_;
        } else if (v.type != call_.storage) {
          return refuse(fmt::format("{}, as {} is", name_of(call_.storage), label(storage_from_->name, storage_item_)));
        }
        return {};
      case TypeRule::f32: return v.type == Type::f32 ? Status() : refuse("f32");
      case TypeRule::storage_or_f32:
        return v.type == Type::f32 || v.type == call_.storage
                   ? Status()
                   : refuse(call_.storage == Type::f32 ? "f32" : fmt::format("f32 or {}", name_of(call_.storage)));
      case TypeRule::floating: return storage ? Status() : refuse("f16, bf16 or f32");
      case TypeRule::index: return v.type == Type::i32 || v.type == Type::i64 ? Status() : refuse("i32 or i64");
      case TypeRule::i64: return v.type == Type::i64 ? Status() : refuse("i64");
    }
    return {};
  }

  // The storage type is that of the first such operand; others may come before it.
  void expect_storage(const Operands& set) {
    for (std::size_t i = 0; i < contract_.operands.size(); ++i)
      if (contract_.operands[i].type == TypeRule::storage && set[i].present()) {
        call_.storage = set[i].type;
        return;
      }
  }

  Status bind(std::string_view size, std::int64_t extent, const View& v, int operand) {
    const auto [symbol, more] = size_named(size);
    const std::int64_t value = std::max<std::int64_t>(extent, -1) - more;
    const auto name = [&] { return label(contract_.operands[static_cast<std::size_t>(operand)].name); };
    if (extent < 0) return fail(fmt::format("{} has shape {}; {} must not be negative", name(), shape_text(v), size));
    if (extent == 0 && !contract_.list)
      return fail(fmt::format("{} is empty: shape {}; {} must be at least {}", name(), shape_text(v), size, 1 + more));
    if (value == 0 && more > 0)
      return fail(fmt::format("{} has shape {}; {} must be at least {}", name(), shape_text(v), size, 1 + more));
    if (symbol == "1")
      return value == 1 ? Status() : fail(fmt::format("{} has shape {}; it must be [1]", name(), shape_text(v)));
    for (const Limit& limit : contract_.limits)
      if (limit.symbol == symbol && value > limit.most)
        return fail(fmt::format("{} has shape {}; {} must be at most {}", name(), shape_text(v), symbol, limit.most));
    if (const int option = contract_.option_index(symbol);
        option >= 0 && call_.option(option).set && value != call_.option(option).i)
      return fail(fmt::format("{} has shape {}, but the option {} is {}", name(), shape_text(v), symbol,
                              call_.option(option).i));
    for (Symbol& s : call_.symbols) {
      if (s.name.empty()) {
        s = {symbol, value, operand};
        return {};
      }
      if (s.name != symbol) continue;
      if (s.value == value) return {};
      const View& other = item_ >= 0 ? call_.list[static_cast<std::size_t>(item_)][static_cast<std::size_t>(s.operand)]
                                     : call_.operand(s.operand);
      return fail(fmt::format("{} has shape {}, but {} is {} (from {} {})", name(), shape_text(v), symbol, s.value,
                              contract_.operands[static_cast<std::size_t>(s.operand)].name, shape_text(other)));
    }
    return Status(Code::internal, "a contract with too many shape symbols");
  }

  // A tensor's operands; without a tensor those of the call, of a list the ones that it has once.
  Status operands(Operands& set) {
    if (storage_from_ == nullptr) expect_storage(set);
    for (std::size_t i = 0; i < contract_.operands.size(); ++i) {
      const OperandSpec& spec = contract_.operands[i];
      View& v = set[i];
      const bool once = contract_.has_once(spec);
      if (once && item_ > 0 && v.present())
        return fail(
            fmt::format("{} is given; a call has one {}, beside its first tensor", label(spec.name), spec.name));
      if (contract_.list && once != (item_ < 0)) continue;
      if (!v.present()) {
        if (spec.optional) continue;
        return fail(fmt::format("{} is missing", label(spec.name)));
      }
      if (v.rank == kWrongSize)
        return fail(fmt::format("{} is to have shape [{}, {}], but its range holds {} elements", label(spec.name),
                                v.shape[0], v.shape[1], v.row_stride));
      if (v.rank == kHasGaps)
        return fail(fmt::format("{} is a matrix {} with row stride {}; it is no vector, its rows have gaps",
                                label(spec.name), shape_text(v), v.row_stride));
      if (v.rank == kNoShape) return no_shape(spec, v);
      if (Status s = type(spec, v); !s.ok()) return s;
      if (Status s = contract_.list && !once ? any_shape(set, i) : shape(set, i); !s.ok()) return s;
      if (Status s = memory(spec, v); !s.ok()) return s;
    }
    return together(set);
  }

  // Operands that belong together: both or none, and of one type.
  Status together(const Operands& set) const {
    for (std::size_t i = 0; i < contract_.operands.size(); ++i) {
      const OperandSpec& spec = contract_.operands[i];
      if (spec.with.empty()) continue;
      const View &v = set[i], &other = set[static_cast<std::size_t>(contract_.operand_index(spec.with))];
      if (v.present() != other.present())
        return fail(fmt::format("{} is missing; it is given with {}", label(v.present() ? spec.with : spec.name),
                                v.present() ? spec.name : spec.with));
      if (v.present() && v.type != other.type)
        return fail(fmt::format("{} has type {}; it must be {}, as {} is", label(spec.name), name_of(v.type),
                                name_of(other.type), spec.with));
    }
    return {};
  }

  Status shape(const Operands& set, std::size_t operand) {
    const OperandSpec& spec = contract_.operands[operand];
    const View& v = set[operand];
    const int rank = spec.rank();
    if (v.rank != rank)
      return fail(fmt::format("{} has {} dimension{}; it must have {}", label(spec.name), v.rank,
                              v.rank == 1 ? "" : "s", rank));
    for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d)
      if (Status s = bind(spec.shape[d], v.shape[d], v, static_cast<int>(operand)); !s.ok()) return s;
    return {};
  }

  // A tensor of a list is its elements in a row, whatever its shape: one for all its operands, and no gaps.
  Status any_shape(const Operands& set, std::size_t operand) {
    const OperandSpec& spec = contract_.operands[operand];
    const View &v = set[operand], &first = set[0];
    if (v.rank < 1 || v.rank > kMaxRank)
      return fail(fmt::format("{} has {} dimensions; it must have 1 to {}", label(spec.name), v.rank, kMaxRank));
    const std::int64_t elements = elements_of(v.shape, v.rank);
    if (v.rank >= 2) {
      if (elements < 0) return no_shape(spec, v);
      if (elements > 0 && has_gaps(v))
        return fail(v.rank == 2
                        ? fmt::format("{} has row stride {} and {} columns; a tensor of a list must lie without gaps",
                                      label(spec.name), v.row_stride, v.cols())
                        : fmt::format("{} has shape {} and strides {}; a tensor of a list must lie without gaps",
                                      label(spec.name), shape_text(v), strides_text(v)));
    }
    if (Status s = bind(spec.shape[0], v.rank == 1 ? v.shape[0] : elements, v, static_cast<int>(operand)); !s.ok())
      return s;
    const auto end = v.shape.begin() + v.rank;
    if (first.present() && (v.rank != first.rank || !std::equal(v.shape.begin(), end, first.shape.begin())))
      return fail(fmt::format("{} has shape {}, but {} has shape {}; the operands of a tensor must have one shape",
                              label(spec.name), shape_text(v), label(contract_.operands[0].name), shape_text(first)));
    return {};
  }

  // A tensor of no number of elements.
  Status no_shape(const OperandSpec& spec, const View& v) const {
    if (std::none_of(v.shape.begin(), v.shape.end(), [](std::int64_t size) { return size < 0; }))
      return too_large(spec, v);
    return fail(fmt::format("{} has shape {}; no dimension may be negative", label(spec.name), shape_text(v)));
  }
  Status too_large(const OperandSpec& spec, const View& v) const {
    return fail(v.rank <= 2 ? fmt::format("{} has shape {} and row stride {}: more than 2^48 bytes", label(spec.name),
                                          shape_text(v), v.row_stride)
                            : fmt::format("{} has shape {} and strides {}: more than 2^48 bytes", label(spec.name),
                                          shape_text(v), strides_text(v)));
  }

  Status memory(const OperandSpec& spec, View& v) {
    if (v.rank == 2 && v.row_stride < v.cols())
      return fail(fmt::format("{} has row stride {}; it must be at least its {} columns", label(spec.name),
                              v.row_stride, v.cols()));
    if (v.rank > 2 && elements_of(v.shape, v.rank) < 0) return too_large(spec, v);
    if (v.rank > 2 && v.elements() > 0)
      if (Status s = strides(spec, v); !s.ok()) return s;
    std::int64_t bytes = 0;
    std::int64_t times = v.shape[0], widest = v.rank == 2 ? v.row_stride : 1;
    if (v.rank > 2) {
      const Dimensions outer(v);
      times = outer.count > 0 ? outer.all[0].size : 1;
      widest = outer.count > 0 ? outer.all[0].stride : v.cols();
    }
    if (__builtin_mul_overflow(times, widest, &bytes) ||
        __builtin_mul_overflow(bytes, static_cast<std::int64_t>(size_of(v.type)), &bytes) || bytes > kMostBytes)
      return too_large(spec, v);
    // Both are at most 2^48, so that neither this sum nor any of sizes behind this check can overflow.
    if (bytes_ += bytes; bytes_ > kMostBytes)
      return fail(fmt::format("the operands up to {} take more than 2^48 bytes together", label(spec.name)));
    if (v.elements() == 0) return {};
    if (v.data == nullptr) return fail(fmt::format("{} has no memory: its pointer is null", label(spec.name)));
    const auto address = reinterpret_cast<std::uintptr_t>(v.data);
    if (address % size_of(v.type) != 0)
      return fail(fmt::format("{} lies at an address that is not a multiple of its {} bytes per element",
                              label(spec.name), size_of(v.type)));
    if (address + static_cast<std::uintptr_t>(bytes) < address)
      return fail(fmt::format("{} runs past the end of the address space", label(spec.name)));
    return {};
  }

  // Three or four dimensions: each stride reaches over all that the narrower ones do, so that no two elements share
  // memory. The contract has bound the sizes: none is below 1.
  Status strides(const OperandSpec& spec, View& v) {
    settle_strides(v);
    const Dimensions outer(v);
    std::int64_t reach = v.cols();
    for (std::size_t d = outer.count; d-- > 0;) {
      if (outer.all[d].stride < reach)
        return fail(fmt::format("{} has shape {} and strides {}; elements of it share memory, or may", label(spec.name),
                                shape_text(v), strides_text(v)));
      std::int64_t further = 0;
      if (__builtin_mul_overflow(outer.all[d].size - 1, outer.all[d].stride, &further) ||
          __builtin_add_overflow(reach, further, &reach))
        return too_large(spec, v);
    }
    if (!contract_.any_strides && !v.evenly_spaced())
      return fail(fmt::format("{} has shape {} and strides {}; its rows must be one stride apart, all of them",
                              label(spec.name), shape_text(v), strides_text(v)));
    return {};
  }

  // An output may share memory with nothing but the operand it is allowed to be written over, exactly.
  Status aliasing(const Operands& set) const {
    for (std::size_t i = 0; i < contract_.operands.size(); ++i) {
      const OperandSpec& out = contract_.operands[i];
      if (out.role == Role::in || set[i].elements() == 0) continue;
      for (std::size_t j = 0; j < contract_.operands.size(); ++j) {
        const OperandSpec& other = contract_.operands[j];
        if (i == j || set[j].elements() == 0 || (other.role != Role::in && j > i)) continue;
        if (!overlap(set[i], set[j])) continue;
        const bool allowed = out.may_lie_over(other.name);
        if (allowed && same_memory(set[i], set[j])) continue;
        return fail(allowed ? fmt::format("{} overlaps {} without being the same view", label(out.name), other.name)
                            : fmt::format("{} overlaps {}; they must be separate memory", label(out.name), other.name));
      }
    }
    return {};
  }

  // Across a list: sort what is written and read by address, then only neighbours can overlap.
  Status list_aliasing() {
    struct Range {
      Extent extent;
      bool written;
      std::int64_t item;
      std::size_t operand;
    };
    std::vector<Range> ranges;
    ranges.reserve(call_.list.size() * contract_.operands.size());
    for (std::size_t t = 0; t < call_.list.size(); ++t)
      for (std::size_t i = 0; i < contract_.operands.size(); ++i)
        if (const View& v = call_.list[t][i]; v.elements() != 0)
          ranges.push_back({extent_of(v), contract_.operands[i].role != Role::in, static_cast<std::int64_t>(t), i});
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.extent.begin < b.extent.begin; });
    Range reach{};  // the range that reaches furthest so far, and the furthest that is written
    Range written{};
    for (const Range& r : ranges) {
      const Range& other = r.written ? reach : written;
      if (other.extent.end > r.extent.begin)
        return fail(fmt::format("{} of tensor {} overlaps {} of tensor {}; they must be separate memory",
                                contract_.operands[r.operand].name, r.item, contract_.operands[other.operand].name,
                                other.item));
      if (r.extent.end > reach.extent.end) reach = r;
      if (r.written && r.extent.end > written.extent.end) written = r;
    }
    return {};
  }

  Call& call_;
  const Contract& contract_;
  std::int64_t item_ = -1;
  std::int64_t bytes_ = 0;                     // of the operands so far
  const OperandSpec* storage_from_ = nullptr;  // the operand whose type is the call's, and its place in the list
  std::int64_t storage_item_ = -1;
};

}  // namespace

Status check(Call& call) { return Checker(call).run(); }

}  // namespace tokitai
