// The memory of one call made from files: inputs by what their files say, outputs by the shape symbols that the
// inputs and options give. Sizes are checked before memory is taken, and data is read after the contract's check.
#pragma once
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/npy.h"
#include "cli/request.h"

namespace tokitai::cli {

class Tensors {
 public:
  // Reads the inputs' headers and takes memory for every operand.
  static Result<Tensors> make(const Request& request);

  Call& call() { return call_; }
  std::int64_t bytes() const { return bytes_; }
  Status read_data() const;

  struct Output {
    std::size_t operand, tensor;
    View view;
    std::vector<std::int64_t> shape;  // of the file: a tensor of a list has any
  };
  const std::vector<Output>& outputs() const { return outputs_; }  // by tensor, then as in the contract
  const std::string& largest() const { return largest_; }          // the operand that takes most, for messages

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  struct Input {
    std::string label, path;
    NpyHeader header;
    void* memory;
  };
  using Symbols = std::vector<std::pair<std::string_view, std::int64_t>>;

  explicit Tensors(const Request& request) : request_(&request) {}
  Status make_set(std::size_t tensor);
  Status input(std::size_t operand, std::size_t tensor, View& view, Symbols& symbols);
  Status output(std::size_t operand, std::size_t tensor, Operands& set, const Symbols& symbols);
  Status allocate(std::size_t operand, std::size_t tensor, View& view);
  Status fail(const std::string& what) const;

  const Request* request_;
  Call call_;
  std::optional<Type> storage_;  // as the first input of storage type has it
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<Input> inputs_;
  std::size_t first_of_set_ = 0;  // of the inputs: the set's that is being made
  std::vector<Output> outputs_;
  std::int64_t bytes_ = 0;
  std::int64_t largest_bytes_ = 0;
  std::string largest_;
};

NpyType file_type(Type type);
// Bytes of main memory this machine has.
std::int64_t main_memory();

}  // namespace tokitai::cli
