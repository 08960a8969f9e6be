// What `tokitai run` was asked to do: its arguments matched with the operator's contract. Names, counts, option
// texts and destinations are checked here; no file has been opened yet.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/output_files.h"
#include "contract/contract.h"

namespace tokitai::cli {

struct RunArguments {
  std::string op;
  std::vector<std::string> in, set, out;  // NAME=FILE, NAME=VALUE, NAME[:TYPE]=FILE
  std::string dtype;
};

struct RequestedOutput {
  std::string path;         // as it was written
  std::string destination;  // where it leads
  std::optional<Type> type;
};

struct Request {
  const Contract* contract = nullptr;
  std::size_t count = 1;                         // tensors in the list
  std::vector<std::vector<std::string>> inputs;  // for each operand: a file for each tensor, or none
  std::vector<std::vector<RequestedOutput>> outputs;
  std::array<Option, kMaxOptions> options{};
  std::optional<Type> dtype;  // where the caller says it

  // An operand as messages name it, with its place in the list where there is one.
  std::string label(std::size_t operand, std::size_t tensor) const;
};

// What is read and written goes into `files`.
Result<Request> parse_request(const RunArguments& arguments, FileUses& files);

}  // namespace tokitai::cli
