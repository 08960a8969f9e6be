// The kernels of a folder on host machines, in parts: one for the reference machine, one for each instruction set of
// the cpu machine, one for the analysis machines. Each is compiled when it is first asked for, through the kernel
// cache, and stays loaded.
#pragma once
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "contract/registry.h"
#include "loader/boundary.h"

namespace tokitai::loader {

// Where the definition is, for messages and for compiling.
struct Definition {
  std::string path;                  // of definition.h as the user named it
  std::string header;                // as the parts include it
  std::string text;                  // with what the contract adds before it
  std::vector<std::string> structs;  // "tokitai::softcap::Forward"
};

class Parts : public LateKernels {
 public:
  explicit Parts(Definition definition) : definition_(std::move(definition)) {}

  Result<const Entry*> reference(std::string_view name);
  Result<cpu::Kernel> cpu(std::string_view name, std::string_view isa) override;
  Result<const analysis::Kernels*> analysis(std::string_view name, const void* intervals) override;
  // Compiles those parts at once; the first that does not says why.
  Status prepare(const std::vector<std::string>& parts);

  const Definition& definition() const { return definition_; }

 private:
  static constexpr std::size_t kMost = 8;
  struct Loaded {
    std::atomic<const Table*> table = nullptr;
  };

  Result<const Table*> get(std::string_view part, const void* intervals = nullptr);
  Result<const Entry*> entry(std::string_view name, const Table& table) const;

  Definition definition_;
  std::array<Loaded, kMost> loaded_;  // by the part's place in part_names()
};

// "reference", the instruction sets that the library was built for, best first, "analysis".
const std::vector<std::string>& part_names();
// Those that a program needs first: the reference and this processor's best.
std::vector<std::string> first_parts();

}  // namespace tokitai::loader
