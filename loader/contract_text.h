// Contracts as a person writes them, one line for each thing (docs/own_operators.md):
//   operator softcap.forward
//   summary  Holds every element within +-cap, smoothly.
//   in       x    storage [rows, cols] : the elements
//   out      y    storage [rows, cols] over x : the same, held
//   option   cap  f32 = 50 > 0 : what they stay below
//   scalar   slope = 1 / cap
#pragma once
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "contract/contract.h"

namespace tokitai::loader {

struct WrittenContract {
  Contract contract;
  int line = 0;                      // of `operator`
  std::vector<int> operand_lines;    // of each operand
  std::vector<std::string> scalars;  // their names, in the order that a call has them
};

// What a contract's views point at; both must last as long as any of the contracts.
struct Contracts {
  std::deque<std::string> words;
  std::vector<WrittenContract> all;
};

// `path` for messages: PATH:LINE: what is wrong.
Status read_contracts(std::string_view text, std::string_view path, Contracts& out);

// "Forward" of x.forward.
std::string struct_name(const Contract& contract);
// The struct that a definition derives from, as C++: ForwardContract of x.forward has its name and the names of its
// operands, options and scalars.
std::string base_text(const WrittenContract& written);

}  // namespace tokitai::loader
