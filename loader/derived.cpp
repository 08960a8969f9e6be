#include "loader/derived.h"

#include <fmt/format.h>

#include <map>

#include "loader/lines.h"

namespace tokitai::loader {
namespace {

using Places = std::map<std::string, std::size_t, std::less<>>;

// Puts each behind those that it is made of.
class Order {
 public:
  Order(const Contract& contract, const std::vector<Derived>& derived, const Sizes& sizes, std::string_view path)
      : contract_(contract), derived_(derived), sizes_(sizes), path_(path), state_(derived.size(), State::unseen) {
    for (std::size_t i = 0; i < derived.size(); ++i) places.emplace(derived[i].name, i);
  }
  Status make() {
    for (std::size_t i = 0; i < derived_.size(); ++i)
      if (Status s = put(i); !s.ok()) return s;
    return {};
  }
  Places places;
  std::vector<std::size_t> order;

 private:
  enum class State : std::uint8_t { unseen, open, placed };

  Status put(std::size_t i) {
    if (state_[i] == State::placed) return {};
    state_[i] = State::open;
    const Line line{path_, derived_[i].line, {}};
    for (const std::string& name : derived_[i].expression.names()) {
      if (contract_.option_index(name) >= 0) continue;
      const auto other = places.find(name);
      if (other == places.end()) {
        if (sizes_.contains(name)) continue;
        return line.refuse("{}: {} has no option, scalar or size '{}'", derived_[i].name, contract_.name, name);
      }
      if (state_[other->second] == State::open)
        return line.refuse("{} depends on itself, through {}", derived_[i].name, name);
      if (Status s = put(other->second); !s.ok()) return s;
    }
    state_[i] = State::placed;
    order.push_back(i);
    return {};
  }

  const Contract& contract_;
  const std::vector<Derived>& derived_;
  const Sizes& sizes_;
  std::string_view path_;
  std::vector<State> state_;
};

double given(const Call& call, int option) {
  const Option& value = call.option(option);
  if (!value.set) return 0;
  const bool number = call.contract->options[static_cast<std::size_t>(option)].kind == OptionKind::f32;
  return number ? static_cast<double>(value.f) : static_cast<double>(value.i);
}

}  // namespace

Result<std::function<Status(Call&)>> preparation(const Contract& contract, const std::vector<Derived>& derived,
                                                 const Sizes& sizes, std::string_view path) {
  Order made(contract, derived, sizes, path);
  if (Status s = made.make(); !s.ok()) return s;
  return std::function([derived, order = made.order, places = made.places](Call& call) {
    std::vector<double> values(derived.size(), 0.0);
    const auto value = [&](std::string_view name) {
      if (const int at = call.contract->option_index(name); at >= 0) return given(call, at);
      const auto known = places.find(name);
      return known != places.end() ? values[known->second] : static_cast<double>(dimension(call, name));
    };
    for (const std::size_t i : order) {
      const std::optional<double> number = derived[i].expression.value(value);
      if (!number)
        return Status::invalid(fmt::format("{}: {} has a power that is no whole number in [0, 2^31)",
                                           call.contract->name, derived[i].name));
      values[i] = *number;
      call.scalars[i] = static_cast<float>(*number);
    }
    return Status();
  });
}

}  // namespace tokitai::loader
