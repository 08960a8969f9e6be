// A problem made real: memory for every operand, inputs filled, outputs poisoned, and the call that works on
// them. Rows may be padded apart; the padding is poisoned too, and must come back untouched.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "contract/contract.h"
#include "problems/problem.h"

namespace tokitai::problems {

// Every problem's data is drawn with this seed.
inline constexpr std::uint64_t kSeed = 1;

// Bytes of an operand's memory, padding between rows included.
std::int64_t extent_of(const View& view);

// The checked call of a problem over memory that is not there: for planning, which reads no element.
Result<Call> call_without_memory(const Problem& problem);

// Fills an integer operand of a problem's call: with indices, or with offsets.
void fill_integers(const Problem& problem, const Call& call, const OperandSpec& spec, const View& view,
                   std::uint64_t stream);

// The size of a problem's batch dimension, of a list all its elements in a row; and a call over a part of it only, with
// the tensors that have elements there.
std::int64_t batch_of(const Problem& problem);
Call cut(const Call& call, std::int64_t begin, std::int64_t end);
// Whether a call cut along the batch still gives this operand.
bool has_batch(const Contract& contract, std::size_t operand);

class Instance {
 public:
  // Empty where memory ran out or the contract refuses the problem.
  static Result<Instance> make(const Problem& problem, Filling filling = Filling::whole);

  // The call over this memory; `call(begin, end)` only over a part of the batch dimension.
  Call call() const { return call_; }
  Call call(std::int64_t begin, std::int64_t end) const { return cut(call_, begin, end); }
  std::int64_t batch() const { return batch_; }

  // Puts every output back to what it was before any run: poisoned with this byte, or the read value.
  void reset(std::byte poison);

  // The operand sets of the call: one, or one per tensor of a list.
  const std::vector<Operands>& sets() const { return sets_; }
  bool has_batch(std::size_t operand) const { return problems::has_batch(*call_.contract, operand); }
  bool written(std::size_t operand) const;
  // Whether the call reads what the operand holds before: an input, an output read too, or one over an input.
  bool read(std::size_t operand) const;

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  using Memory = std::unique_ptr<std::byte[], Free>;
  struct Original {  // what a read-and-written operand held
    View view;
    std::vector<std::byte> bytes;
  };

  bool allocate(View& view, std::int64_t shift);
  bool lies_over(std::size_t operand) const;  // it shares the memory of an operand
  Status fill_operands(const Problem& problem, Filling filling);

  Call call_;
  std::vector<Operands> sets_;
  std::vector<Memory> memory_;
  std::vector<Original> originals_;
  std::int64_t batch_ = 0;
  bool in_place_ = false;
  std::string over_;
};

}  // namespace tokitai::problems
