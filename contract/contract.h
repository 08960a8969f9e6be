// A contract as data: what an operator reads, writes, requires and promises. Argument checks, the command's
// parsing, the verifier's problems, the benchmark's byte counts and the documentation come from it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokitai/call.h"

namespace tokitai {

enum class Role : std::uint8_t { in, out, in_out };
enum class TypeRule : std::uint8_t {
  storage,  // f16, bf16 or f32, the same for every such operand of a call
  f32,
  storage_or_f32,  // each such operand has the one or the other, as the caller gives it
  floating,        // f16, bf16 or f32, whatever the others are
  index,           // i32 or i64
  i64,
};

struct OperandSpec {
  std::string_view name;
  Role role;
  TypeRule type;
  std::array<std::string_view, kMaxRank> shape;  // symbols; an empty one ends the shape; "1" is the number; "n+1" is
                                                 // one more than n, which another operand has
  std::string_view text;
  bool optional = false;
  std::string_view may_alias = {};  // operands this output may be written over, one of them; words
  std::string_view read_when = {};  // an output that is also read when this option is set
  bool single_by_default = false;   // storage_or_f32: f32 where the caller does not say
  std::string_view with = {};       // an operand that is given where this one is, and has its type
  std::string_view saved_as = {};   // an output that the backward reads as that operand of this one, where it is given

  bool may_lie_over(std::string_view operand) const;
  bool nonnegative = false;         // numbers below zero have no meaning: a second moment, the reciprocal of a root
  std::string_view below = {};      // of indices: the size they stay below
  std::string_view left_out = {};   // of indices: the option whose value stands for none
  std::string_view ascend_to = {};  // of offsets: the size that they ascend to, from 0

  int rank() const { return static_cast<int>(std::find(shape.begin(), shape.end(), "") - shape.begin()); }
};

// What a shape's symbol stands for: a size, or one more than it.
struct Size {
  std::string_view symbol;
  std::int64_t more = 0;
};
constexpr Size size_named(std::string_view symbol) {
  return symbol.ends_with("+1") ? Size{symbol.substr(0, symbol.size() - 2), 1} : Size{symbol};
}

enum class OptionKind : std::uint8_t { f32, integer, flag, choice };

struct OptionSpec {
  std::string_view name;
  OptionKind kind;
  Option fallback;         // used where the caller gives none; not `set` where the option is then off
  std::string_view range;  // in words; of a choice its names say it (range_of)
  std::function<bool(const Option&)> allowed;
  std::string_view text;
  bool required = false;
  std::vector<std::string_view> choices = {};  // names of a choice's values; the value is the place in this list
};

struct Limit {
  std::string_view symbol;
  std::int64_t most;
};

// What is promised of an output, the strongest first.
enum class Guarantee : std::uint8_t {
  exact_copy,         // the input's bits
  correctly_rounded,  // the real number's nearest neighbour in the output's type
  reproducible,       // the bits that the formula gives, operation by operation, the same everywhere
  bounded,            // within an error that the text gives
};
std::string_view name_of(Guarantee guarantee);
// What has to be shown before such a promise may be believed, in a sentence.
std::string_view evidence_for(Guarantee guarantee);

struct Promise {
  Guarantee kind;
  std::string_view text;
  std::string_view types = {};  // the storage types it holds for, "bf16 f32"; empty: all
};

// Of an operator that computes a function and its gradient at once: `gradient` is that of `of` with respect to `by`,
// times the option `scale`; where the option `mean_when` is on, that of `mean_of`.
struct OwnGradient {
  std::string_view gradient, of, by, scale, mean_of, mean_when;
};

// What a call has to move and compute at the least: each input read once, each output written once.
struct Cost {
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t flops = 0;
};

struct Contract {
  std::string_view name;     // "layernorm.forward"
  std::string_view summary;  // one sentence
  std::string_view formula;  // to the bit
  std::vector<Promise> ensures;
  std::string_view determinism;         // on what the bits depend, and on what they do not
  std::vector<std::string_view> edges;  // NaN, infinities, subnormals, empty, overflow; a sentence each
  std::vector<std::string_view> non_claims;
  std::vector<OperandSpec> operands;
  std::vector<OptionSpec> options;
  std::vector<Limit> limits = {};
  std::vector<std::string_view> conditions = {};  // what is required beyond what the tables say, a sentence each
  // The dimension that a call can be cut along without changing a bit of the outputs that have it; "": none.
  std::string_view batch = {};
  std::string_view whole_when = {};  // an option with which a call cannot be cut: what is written depends on all of it
  // The call takes a list of operand sets, worked on together. Each set has a shape of its own, any without gaps: the
  // one symbol stands for its elements, and the machines see them as a vector. An operand of shape [1] the call has
  // once (has_once): the list's first set holds it.
  bool list = false;
  // Operands of three or four dimensions may have any strides. Where that is not said, all their rows lie one row
  // stride apart, and machines may take them for matrices (View::rows, cols, row_stride).
  bool any_strides = false;

  OwnGradient own_gradient = {};
  bool may_be_empty = false;  // of a list: no tensor needs to have elements

  // Beyond what the tables say: relations between options, and host scalars derived from them.
  std::function<Status(Call&)> prepare = nullptr;
  // The sentence for an element that the pattern's check refused.
  std::function<std::string(const Call&, std::int64_t position)> refusal = nullptr;

  std::string_view family() const { return name.substr(0, name.find('.')); }
  int operand_index(std::string_view operand) const;  // -1: no such operand
  int option_index(std::string_view option) const;
  bool has_once(const OperandSpec& operand) const { return list && operand.shape[0] == "1"; }
  // Those of a tensor; what a call has once stands behind them.
  std::size_t tensor_operands() const {
    std::size_t count = 0;
    while (count < operands.size() && !has_once(operands[count])) ++count;
    return count;
  }
};

// All operators' contracts, as contract/registry.h has them.
std::vector<const Contract*> contracts();
const Contract* find_contract(std::string_view name);

// What it claims, a sentence each, to stand beside its non-claims.
std::vector<std::string> claims_of(const Contract& contract);

// The formulas of a contract's cost, from what its definition asks for.
struct CostFormulas {
  std::string bytes_read, bytes_written, flops;
};
CostFormulas cost_formulas(const Contract& contract);
// What they give for a checked call.
Cost cost_of(const Call& call);

// Checks every operand and option against the contract, binds the shape symbols and derives the scalars.
// Nothing is read through the operands' pointers and nothing is written.
Status check(Call& call);

// Whether pieces of it along `batch` give the same bits.
bool can_be_cut(const Call& call);

// The value of a shape symbol after `check`, or 0; a list has none.
std::int64_t dimension(const Call& call, std::string_view symbol);

}  // namespace tokitai
