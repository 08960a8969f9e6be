#include "problems/instance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "contract/parse.h"
#include "contract/roles.h"

namespace tokitai::problems {
namespace {

Type type_of(const OperandSpec& spec, const Problem& problem, std::size_t tensor) {
  switch (spec.type) {
    case TypeRule::storage: return problem.storage;
    case TypeRule::f32: return Type::f32;
    case TypeRule::storage_or_f32: return problem.is_single(spec) ? Type::f32 : problem.storage;
    case TypeRule::floating: return problem.contract->list ? problem.type_of(tensor) : problem.to;
    case TypeRule::index: return problem.index;
    case TypeRule::i64: return Type::i64;
  }
  return Type::f32;
}

// Gives a view its strides: `pad` elements behind each row, and where strides may be any also behind each matrix of
// rows. False where its bytes are beyond counting: they are looked at before anything is multiplied for real.
bool lay_out(View& view, std::int64_t pad, bool any_strides, std::int64_t& bytes) {
  std::int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    if (d + 2 == view.rank) view.row_stride = stride;
    if (d + 2 < view.rank) view.outer_stride[static_cast<std::size_t>(d)] = stride;
    if (__builtin_mul_overflow(view.shape[static_cast<std::size_t>(d)], stride, &stride)) return false;
    const bool padded = d > 0 && (d + 1 == view.rank || any_strides);
    if (padded && __builtin_add_overflow(stride, pad, &stride)) return false;
  }
  if (view.rank == 1) view.row_stride = 1;
  return !__builtin_mul_overflow(stride, static_cast<std::int64_t>(size_of(view.type)), &bytes);
}

// The options of a problem, and the views of each operand set, still without memory.
Status describe(const Problem& problem, Call& call, std::vector<Operands>& sets) {
  const Contract& contract = *problem.contract;
  call.contract = &contract;
  call.storage = problem.storage;
  for (const auto& [name, value] : problem.options)
    if (Status s =
            parse_option(contract, name, value, call.options[static_cast<std::size_t>(contract.option_index(name))]);
        !s.ok())
      return s;
  sets.resize(contract.list ? problem.list.size() : 1);
  std::int64_t all = 0;
  for (std::size_t t = 0; t < sets.size(); ++t)
    for (std::size_t i = 0; i < contract.operands.size(); ++i) {
      const OperandSpec& spec = contract.operands[i];
      const bool once = contract.has_once(spec);
      if (once ? t > 0 || (spec.optional && !problem.gives_once(spec.name)) : spec.optional && !problem.gives(spec, t))
        continue;
      View& view = sets[t][i];
      view.type = type_of(spec, problem, t);
      view.rank = spec.rank();
      for (int d = 0; d < view.rank; ++d)
        view.shape[static_cast<std::size_t>(d)] =
            contract.list && !once ? problem.list[t] : problem.size(spec.shape[static_cast<std::size_t>(d)]);
      std::int64_t bytes = 0;
      if (!lay_out(view, problem.pad, contract.any_strides, bytes) || bytes > kMostBytes - all) {
        const auto last = view.shape.begin() + std::max(view.rank, 2);
        if (view.rank == 1) view.shape[1] = 1;
        return Status::invalid(fmt::format("{}: with {} of {} elements it takes more than {} bytes", contract.name,
                                           spec.name, fmt::join(view.shape.begin(), last, " x "), kMostBytes));
      }
      all += std::max<std::int64_t>(bytes, 0);
    }
  return {};
}

// Gives each view its memory through `allocate`(view, elements from an aligned address on); one that lies over another
// takes the other's.
template <class Allocate>
bool place(const Problem& problem, std::vector<Operands>& sets, Call& call, const Allocate& allocate) {
  const Contract& contract = *problem.contract;
  const auto over = [&](std::size_t t, std::size_t i) {
    return problem.in_place ? lies_over(contract, sets[t], i, problem.over) : -1;
  };
  for (std::size_t t = 0; t < sets.size(); ++t) {
    Operands& set = sets[t];
    for (std::size_t i = 0; i < contract.operands.size(); ++i)
      if (set[i].present() && over(t, i) < 0 && !allocate(set[i], problem.shift_of(t))) return false;
    // Then those that lie over others, which may come behind them in the contract.
    for (std::size_t i = 0; i < contract.operands.size(); ++i)
      if (set[i].present() && over(t, i) >= 0) set[i].data = set[static_cast<std::size_t>(over(t, i))].data;
  }
  if (contract.list)
    call.list = sets;
  else
    call.operands = sets[0];
  return true;
}

}  // namespace

std::int64_t extent_of(const View& view) {
  return view.shape[0] * view.stride(0) * static_cast<std::int64_t>(size_of(view.type));
}

Result<Call> call_without_memory(const Problem& problem) {
  Call call;
  std::vector<Operands> sets;
  if (Status s = describe(problem, call, sets); !s.ok()) return s;
  std::int64_t next = std::int64_t{1} << 20;
  place(problem, sets, call, [&](View& view, std::int64_t shift) {
    const std::int64_t begin = shift * static_cast<std::int64_t>(size_of(view.type));
    view.data = reinterpret_cast<void*>(next + begin);  // NOLINT(performance-no-int-to-ptr): never read through
    next += (begin + extent_of(view) + 511) / 256 * 256;
    return true;
  });
  if (Status s = check(call); !s.ok()) return s;
  return call;
}

bool has_batch(const Contract& contract, std::size_t operand) {
  const auto& shape = contract.operands[operand].shape;
  return !contract.batch.empty() && std::find(shape.begin(), shape.end(), contract.batch) != shape.end();
}

void fill_integers(const Problem& problem, const Call& call, const OperandSpec& spec, const View& view,
                   std::uint64_t stream) {
  if (spec.ascend_to.empty())
    fill_indices(view, problem.size(spec.below), problem.spread, kSeed, stream, left_out(call, spec));
  else
    fill_offsets(view, problem.size(spec.ascend_to), problem.spread, kSeed, stream);
}

std::int64_t batch_of(const Problem& problem) {
  if (!problem.contract->list) return problem.size(problem.contract->batch);
  return std::accumulate(problem.list.begin(), problem.list.end(), std::int64_t{0});
}

Call cut(const Call& call, std::int64_t begin, std::int64_t end) {
  Call part = call;
  part.symbols = {};  // bound anew: the batch is shorter
  const auto narrow = [&](Operands& set, std::int64_t begin, std::int64_t end) {
    for (std::size_t i = 0; i < call.contract->operands.size(); ++i) {
      View& view = set[i];
      const OperandSpec& spec = call.contract->operands[i];
      const bool has = call.contract->list ? !call.contract->has_once(spec) : has_batch(*call.contract, i);
      if (!view.present() || !has) continue;
      const auto d = call.contract->list
                         ? 0
                         : std::find(spec.shape.begin(), spec.shape.end(), call.contract->batch) - spec.shape.begin();
      const std::int64_t step = view.stride(static_cast<int>(d)) * static_cast<std::int64_t>(size_of(view.type));
      view.data = static_cast<std::byte*>(view.data) + begin * step;
      view.shape[static_cast<std::size_t>(d)] = end - begin;
    }
  };
  if (!call.contract->list) {
    narrow(part.operands, begin, end);
    return part;
  }
  part.list.clear();
  std::int64_t before = 0;
  for (const Operands& tensor : call.list) {
    const std::int64_t n = tensor[0].elements();
    const std::int64_t first = std::max<std::int64_t>(begin - before, 0), last = std::min(end - before, n);
    if (first < last) narrow(part.list.emplace_back(tensor), first, last);
    before += n;
  }
  for (std::size_t i = 0; i < call.contract->operands.size(); ++i)
    if (call.contract->has_once(call.contract->operands[i]) && !part.list.empty())
      part.list.front()[i] = call.list.front()[i];
  return part;
}

bool Instance::written(std::size_t operand) const { return writes(call_.contract->operands[operand]); }

bool Instance::read(std::size_t operand) const {
  const OperandSpec& spec = call_.contract->operands[operand];
  return reads(call_, spec) || lies_over(operand);
}

bool Instance::lies_over(std::size_t operand) const {
  return in_place_ && tokitai::lies_over(*call_.contract, sets_[0], operand, over_) >= 0;
}

bool Instance::allocate(View& view, std::int64_t shift) {
  const std::int64_t begin = shift * static_cast<std::int64_t>(size_of(view.type)), bytes = begin + extent_of(view);
  auto* p = static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>((bytes + 64) / 64 * 64)));
  if (p == nullptr) return false;
  memory_.emplace_back(p);
  view.data = p + begin;
  return true;
}

Result<Instance> Instance::make(const Problem& problem, Filling filling) {
  // What the contract refuses is refused before memory is taken for it, let alone filled.
  if (const auto good = call_without_memory(problem); !good.ok()) return good.status();
  Instance instance;
  if (Status s = describe(problem, instance.call_, instance.sets_); !s.ok()) return s;
  if (!place(problem, instance.sets_, instance.call_,
             [&](View& view, std::int64_t shift) { return instance.allocate(view, shift); }))
    return Status(Code::unavailable, fmt::format("out of memory for {}", problem.text()));
  instance.batch_ = batch_of(problem);
  instance.in_place_ = problem.in_place;
  instance.over_ = problem.over;
  if (Status s = instance.fill_operands(problem, filling); !s.ok()) return s;
  return instance;
}

Status Instance::fill_operands(const Problem& problem, Filling filling) {
  const Contract& contract = *problem.contract;
  // Tensors' operands are numbered through; what a call has once changes no tensor's data. Of `special` numbers the
  // first such of adamw.step is none of them, the second NaN.
  constexpr std::uint64_t kOnce = (std::uint64_t{1} << 40) + 1984;
  std::uint64_t last = 0;
  for (const Operands& set : sets_)
    for (std::size_t i = 0; i < contract.operands.size(); ++i) {
      const OperandSpec& spec = contract.operands[i];
      const std::uint64_t stream = contract.has_once(spec) ? kOnce + i : ++last;
      const View& view = set[i];
      if (!view.present()) continue;
      if (!lies_over(i)) std::memset(view.data, 0xa5, static_cast<std::size_t>(extent_of(view)));
      if (!read(i)) continue;
      if (!lies_over(i)) {
        if (spec.type == TypeRule::index)
          fill_integers(problem, call_, spec, view, stream);
        else
          fill(view, problem.family, kSeed, stream, spec.nonnegative, filling);
      }
      if (written(i)) {
        const auto* bytes = static_cast<const std::byte*>(view.data);
        originals_.push_back({view, std::vector<std::byte>(bytes, bytes + extent_of(view))});
      }
    }
  // An output over an input is filled after it: take what the input holds now.
  for (Original& original : originals_)
    if (!original.bytes.empty()) std::memcpy(original.bytes.data(), original.view.data, original.bytes.size());
  return {};
}

void Instance::reset(std::byte poison) {
  for (const Operands& set : sets_)
    for (std::size_t i = 0; i < call_.contract->operands.size(); ++i)
      if (set[i].present() && written(i))
        std::memset(set[i].data, static_cast<int>(poison), static_cast<std::size_t>(extent_of(set[i])));
  for (const Original& original : originals_)
    if (!original.bytes.empty()) std::memcpy(original.view.data, original.bytes.data(), original.bytes.size());
}

}  // namespace tokitai::problems
