// What belongs to what is told by names: the backward's input dNAME is the cotangent of the forward's output NAME, its
// output dNAME the gradient of the forward's input NAME, and an input without d is the forward's operand of that name,
// or the output that it saved in its place.
#include "accuracy/gradients.h"

#include <fmt/format.h>

#include <algorithm>

#include "accuracy/gradient_sides.h"
#include "base/at_once.h"
#include "problems/instance.h"

namespace tokitai::evidence {
namespace {

using analysis::Bound;
using analysis::Dual;
using analysis::Interval;
using analysis::Sets;
using problems::Instance;
using problems::Problem;

struct Pair {
  std::size_t forward, backward;
};
struct Roles {
  std::vector<Pair> gradients;   // a forward's input and the backward's output that is its gradient
  std::vector<Pair> cotangents;  // a forward's output and the backward's input that is its cotangent
  std::vector<Pair> shared;      // a forward's operand that the backward reads
};

Roles roles_of(const Call& forward_call, const Call& backward_call) {
  const Contract &forward = *forward_call.contract, &backward = *backward_call.contract;
  // The forward's operand that the backward reads by this name.
  const auto read_as = [&](std::string_view name) {
    for (std::size_t f = 0; f < forward.operands.size(); ++f)
      if (forward.operands[f].saved_as == name && forward_call.operands[f].present()) return static_cast<int>(f);
    return forward.operand_index(name);
  };
  Roles roles;
  for (std::size_t b = 0; b < backward.operands.size(); ++b) {
    const OperandSpec& spec = backward.operands[b];
    if (!backward_call.operands[b].present()) continue;
    const bool written = spec.role != Role::in;
    const int of = spec.name.starts_with('d') ? forward.operand_index(spec.name.substr(1)) : -1;
    if (of >= 0)
      (written ? roles.gradients : roles.cotangents).push_back({static_cast<std::size_t>(of), b});
    else if (const int same = read_as(spec.name); same >= 0)
      roles.shared.push_back({static_cast<std::size_t>(same), b});
  }
  return roles;
}

Result<Problem> forward_of(const Problem& backward) {
  Problem problem = backward;
  problem.contract = find_contract(std::string(backward.contract->family()) + ".forward");
  if (problem.contract == nullptr)
    return Status::invalid(fmt::format("{}: its family has no forward operator", backward.contract->name));
  if (!problem.given.empty()) {  // operands of the backward: the forward has others
    problem.given.clear();
    problem.master = {true};
  }
  std::erase_if(problem.options, [&](const auto& option) { return problem.contract->option_index(option.first) < 0; });
  return problem;
}

Result<GradientResult> own_gradient_of(const Problem& problem, int directions, const Backward& backward) {
  const Contract& contract = *problem.contract;
  const auto operand = [&](std::string_view name) { return static_cast<std::size_t>(contract.operand_index(name)); };
  const OwnGradient& own = contract.own_gradient;
  const std::size_t by = operand(own.by), grad = operand(own.gradient);
  auto instance = Instance::make(problem);
  if (!instance.ok()) return instance.status();
  Call call = instance->call();
  if (Status s = check(call); !s.ok()) return s;
  const float scale = call.option(contract.option_index(own.scale)).f;
  const bool mean = call.option_set(own.mean_when);
  const std::size_t of = operand(mean ? own.mean_of : own.of);
  if (!call.operands[of].present())
    return Status::invalid(
        fmt::format("{}: it has no {} to hold the gradient against; master=yes gives it", problem.text(), own.mean_of));
  // Rows are independent of each other: each counts with a weight of its own, the direction's first numbers. In the
  // mean they have the same.
  const auto weight = [&](const Direction& direction, std::size_t r) { return mean ? 1.0f : direction.along[0][r]; };
  const auto exact = analysis::run(backward.kernels.exact, call);
  const auto bound = analysis::run(backward.kernels.bound, call);
  const auto kernels = analysis::kernels(contract);
  if (!kernels.ok()) return kernels.status();

  GradientResult result;
  std::vector<Sides> all;
  std::vector<Direction> drawn;
  for (int k = 0; k < directions; ++k) {  // before the device may write over it
    const Direction& direction = drawn.emplace_back(call.operands, std::vector<std::size_t>{by}, k);
    const auto tangent = analysis::run(kernels->dual, call, direction.inputs);
    Sides& sides = all.emplace_back();
    for (std::size_t r = 0; r < tangent[0][of].size(); ++r)
      sides.derivative = sides.derivative + Interval(weight(direction, r)) * Interval(scale) * tangent[0][of][r].slope;
  }
  if (Status s = backward.device(call); !s.ok()) return s;
  const View& stored = instance->sets()[0][grad];
  for (int k = 0; k < directions; ++k) {
    const auto n = static_cast<std::size_t>(stored.cols());
    const Direction& direction = drawn[static_cast<std::size_t>(k)];
    const std::vector<float>& v = direction.along[0];
    Sides& sides = all[static_cast<std::size_t>(k)];
    for (std::size_t r = 0; r * n < v.size(); ++r) {
      Sides row;
      for (std::size_t e = r * n; e < (r + 1) * n; ++e)
        row.add(v[e], exact[0][grad][e], bound[0][grad][e], stored, e, 0);
      const float w = weight(direction, r);
      sides.formula = sides.formula + Interval(w) * row.formula;
      sides.device = sides.device + Interval(w) * row.device;
      sides.bound = analysis::add_up(sides.bound, analysis::mul_up(std::fabs(w), row.bound));
      sides.size += std::fabs(w) * row.size;
    }
    judge(sides, fmt::format("{}, direction {}", problem.text(), k), result);
  }
  return result;
}

// The forward of a problem, run once: what it stored, in exact arithmetic, and with its bounds.
struct Forward {
  Instance instance;
  Call call;
  Sets<Interval> exact;
  Sets<Bound> bound;

  static Result<Forward> run(const Problem& problem, const analysis::Kernels& kernels, Device& device) {
    auto instance = Instance::make(problem);
    if (!instance.ok()) return instance.status();
    Call call = instance->call();
    if (Status s = device.run(call); !s.ok()) return s;
    auto exact = analysis::run(kernels.exact, call);
    auto bound = analysis::run(kernels.bound, call);
    return Forward{std::move(instance).value(), call, std::move(exact), std::move(bound)};
  }
};

// What an operand holds where it is read, else zeros.
std::vector<float> held(const View& view, bool read) {
  std::vector<float> values(static_cast<std::size_t>(view.elements()));
  for (std::size_t e = 0; read && e < values.size(); ++e) values[e] = element(view, e);
  return values;
}

// The forward's saved outputs as the backward gets them: exactly, or as stored with all of their error.
template <class N, class Make> Sets<N> saved(const Forward& forward, const std::vector<Pair>& shared, Make make) {
  Sets<N> given(1);
  for (const Pair& pair : shared)
    for (std::size_t e = 0; e < forward.exact[0][pair.forward].size(); ++e)
      given[0][pair.backward].push_back(make(pair.forward, e));
  return given;
}

Result<GradientResult> paired_gradient_of(const Problem& problem, int directions, Device& device,
                                          const Backward& backward) {
  const auto forward_problem = forward_of(problem);
  if (!forward_problem.ok()) return forward_problem.status();
  const auto kernels = analysis::kernels(*forward_problem->contract);
  if (!kernels.ok()) return kernels.status();
  auto forward = Forward::run(forward_problem.value(), kernels.value(), device);
  if (!forward.ok()) return forward.status();
  auto instance = Instance::make(problem);
  if (!instance.ok()) return instance.status();
  Call call = instance->call();
  const Roles roles = roles_of(forward->call, call);
  if (roles.gradients.empty() || roles.cotangents.empty())
    return Status::invalid(
        fmt::format("{} is not a backward operator: it has no dNAME for an input and an output of {}",
                    problem.contract->name, forward_problem->contract->name));
  for (const Pair& pair : roles.shared) call.operands[pair.backward] = forward->call.operands[pair.forward];
  if (Status s = check(call); !s.ok()) return s;

  const auto exact_inputs = saved<Interval>(forward.value(), roles.shared,
                                            [&](std::size_t o, std::size_t e) { return forward->exact[0][o][e]; });
  const auto bound_inputs = saved<Bound>(forward.value(), roles.shared, [&](std::size_t o, std::size_t e) {
    const View& view = forward->call.operands[o];
    return Bound(element(view, e), stored_error(forward->bound[0][o][e], view.type));
  });
  std::vector<std::size_t> inputs;
  for (const Pair& pair : roles.gradients) inputs.push_back(pair.forward);
  GradientResult result;
  for (int k = 0; k < directions; ++k) {
    for (const Pair& pair : roles.cotangents)
      problems::fill(call.operands[pair.backward], problem.family, 100 + static_cast<std::uint64_t>(k), pair.backward,
                     false, problems::Filling::whole);
    instance->reset(std::byte{0xa5});
    const Direction direction(forward->call.operands, inputs, k);
    const auto tangent = analysis::run(kernels->dual, forward->call, direction.inputs);
    const auto exact = analysis::run(backward.kernels.exact, call, exact_inputs);
    const auto bound = analysis::run(backward.kernels.bound, call, bound_inputs);
    Sides sides;
    for (const Pair& pair : roles.cotangents)
      for (std::size_t e = 0; e < tangent[0][pair.forward].size(); ++e)
        sides.derivative = sides.derivative + Interval::given(element(call.operands[pair.backward], e)) *
                                                  tangent[0][pair.forward][e].slope;
    std::vector<std::vector<float>> before;  // what each gradient is added to
    for (const Pair& pair : roles.gradients)
      before.push_back(held(call.operands[pair.backward], instance->read(pair.backward)));
    Call mine = call;
    if (Status s = backward.device(mine); !s.ok()) return s;
    for (std::size_t g = 0; g < roles.gradients.size(); ++g) {
      const std::size_t o = roles.gradients[g].backward;
      for (std::size_t e = 0; e < direction.along[g].size(); ++e)
        sides.add(direction.along[g][e], exact[0][o][e], bound[0][o][e], call.operands[o], e, before[g][e]);
    }
    judge(sides, fmt::format("{}, direction {}", problem.text(), k), result);
  }
  return result;
}

void merge(GradientResult& all, const GradientResult& one) {
  all.problems += one.problems;
  all.directions += one.directions;
  all.failed += one.failed;
  if (all.first_failure.empty()) all.first_failure = one.first_failure;
  all.widest = std::max(all.widest, one.widest);
  all.worst_deviation = std::max(all.worst_deviation, one.worst_deviation);
  all.worst_bound = std::max(all.worst_bound, one.worst_bound);
  all.tightest = std::max(all.tightest, one.tightest);
}

}  // namespace

Result<GradientResult> gradient_of(const Problem& problem, int directions, Device& device, const Backward& backward) {
  if (problem.contract->list)
    return Status::invalid(
        fmt::format("{} works on lists of tensors; a gradient is of one set", problem.contract->name));
  auto result = !problem.contract->own_gradient.gradient.empty()
                    ? own_gradient_of(problem, directions, backward)
                    : paired_gradient_of(problem, directions, device, backward);
  if (!result.ok()) return result;
  result->name = problem.contract->name;
  result->problems = 1;
  return result;
}

Result<std::vector<GradientResult>> gradients(const std::vector<Problem>& problems, int directions, Device& device,
                                              const GradientProgress& progress) {
  std::vector<Result<GradientResult>> results(problems.size(), Status(Code::internal, "not run"));
  base::at_once(problems.size(), [&](std::size_t p) {
    if (progress) progress(problems[p], p, problems.size());
    const auto kernels = analysis::kernels(*problems[p].contract);
    if (!kernels.ok()) {
      results[p] = kernels.status();
      return;
    }
    const Backward backward{[&](Call& call) { return device.run(call); }, kernels.value()};
    results[p] = gradient_of(problems[p], directions, device, backward);
  });
  std::vector<GradientResult> all;
  for (const auto& result : results) {
    if (!result.ok()) return result.status();
    auto same = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == result->name; });
    if (same == all.end()) same = all.emplace(same), same->name = result->name;
    merge(*same, result.value());
  }
  return all;
}

}  // namespace tokitai::evidence
