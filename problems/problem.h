// A problem: one operator with sizes, options, a storage type and a family of data. Problems are written as
// plain lines in operators/*/problems.txt; a line with several values for a key stands for all combinations:
//   verify layernorm.forward rows=1,7 cols=255,256,257 type=f16,f32 data=all
// The lengths of a list of tensors are joined by +, and repeated with *: n=80411200+2560000*192. What else differs from
// tensor to tensor is joined by + too, and begins anew behind the last: n=0+5+300*2 master=no+yes shift=0+1+3.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/contract.h"
#include "problems/data.h"

namespace tokitai::problems {

// Of one problem's list; the largest models have some thousands.
inline constexpr std::size_t kMostTensors = 1 << 16;

struct Problem {
  const Contract* contract = nullptr;
  std::vector<std::pair<std::string, std::int64_t>> sizes;  // shape symbols
  std::vector<std::int64_t> list;                           // lengths of a list operator's tensors
  std::vector<std::pair<std::string, std::string>> options;
  Type storage = Type::f16;
  Type index = Type::i64;
  Type to = Type::f16;  // of operands whose type is their own
  Family family = Family::normal;
  Spread spread = Spread::uniform;
  std::int64_t pad = 0;             // extra elements between rows
  bool in_place = false;            // outputs that may alias do
  std::string over;                 // the operand that they lie over; empty: the first that they may
  std::vector<std::string> single;  // operands that may be f32 and are, by name; "yes": all of them
  std::vector<std::string> given;   // optional operands that are given, by name, whatever `master` says
  // By tensor of a list, in turns; one value where there is no list.
  std::vector<bool> master{false};     // optional operands are given
  std::vector<std::int64_t> shift{0};  // elements from an aligned address to an operand's first
  std::vector<Type> types{};           // of operands that each tensor has its own type of; none: `storage`
  std::vector<std::string> once{};     // optional operands of the whole call that are given

  // Operands that belong together are given together, and have one type.
  bool gives(const OperandSpec& optional, std::size_t tensor) const;
  bool is_single(const OperandSpec& operand) const;
  std::int64_t shift_of(std::size_t tensor) const { return shift[tensor % shift.size()]; }
  Type type_of(std::size_t tensor) const { return types.empty() ? storage : types[tensor % types.size()]; }
  bool gives_once(std::string_view operand) const { return std::find(once.begin(), once.end(), operand) != once.end(); }
  std::int64_t size(std::string_view symbol) const;
  std::string text() const;       // the line that stands for just this problem
  std::string list_text() const;  // the list's lengths as a line has them: "80411200+2560000*192"
};

// The first word of a line: what the problem is for. verify_gpu and bench_gpu are sizes that fill a GPU; compile are
// those whose kernels stand for the operator where no device is at hand; verify_lockstep are few and small, and
// together take every path of the device text; accuracy are small too, as each operation becomes interval arithmetic;
// gradients are of backward operators.
enum class Use : std::uint8_t { verify, verify_gpu, verify_lockstep, bench, bench_gpu, compile, accuracy, gradients };

// The problems of the operators' own files. An unreadable line is a bug of ours and comes back as a status.
Result<std::vector<Problem>> for_use(Use use);
// Every line of every folder that was loaded can be read.
Status check_problems();
// The problems of one line without its first word.
Result<std::vector<Problem>> parse_problems(std::string_view line);

}  // namespace tokitai::problems
