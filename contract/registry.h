// Every operator there is, found by its name: its contract, what its folder holds, and the kernels that host machines
// have of it. Built-in operators come from the folders under operators/ (a generated file for each); others may be
// added while the program runs. Reading takes no lock, so that a fork of the process can go on reading; what was
// found stays as it is until the process ends.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "contract/contract.h"
#include "contract/kernel_table.h"
#include "contract/record.h"

namespace tokitai {

namespace analysis {
struct Kernels;
}

// What the folder of a family holds, as text.
struct OperatorFolder {
  std::string origin;        // "operators/layernorm", or where it was found
  std::string header;        // what kernels include the definition as
  std::string definition;    // the text of definition.h
  std::string problems;      // of problems.txt
  std::string peer = {};     // of peer.py; empty: nobody to compare with
  std::string written = {};  // of a folder that was loaded: all of it, as another process can load it (loader/)
};

struct CpuKernel {
  std::string isa;
  cpu::Kernel run = nullptr;
};

// Kernels that are compiled when they are first asked for: of operators that were loaded from a folder.
class LateKernels {
 public:
  virtual ~LateKernels() = default;
  virtual Result<cpu::Kernel> cpu(std::string_view name, std::string_view isa) = 0;
  // `intervals`: what the analysis machines compute with (machines/analysis/interval_words.h).
  virtual Result<const analysis::Kernels*> analysis(std::string_view name, const void* intervals) = 0;
};

struct Operator {
  const Contract* contract = nullptr;  // lives until the process ends
  std::shared_ptr<const OperatorFolder> folder;
  Describe describe = nullptr;  // what its definition asks for
  std::string definition = {};  // "tokitai::layernorm::Forward"; empty: as `definition_name` says
  reference::Kernel reference = nullptr;
  std::vector<CpuKernel> cpu = {};              // by instruction set
  const analysis::Kernels* analysis = nullptr;  // built-in operators have theirs in tokitai::analysis
  std::shared_ptr<LateKernels> late = nullptr;  // what the above lack

  cpu::Kernel cpu_kernel(std::string_view isa) const;  // as it is; nullptr: none, or late
};

// "tokitai::layernorm::Forward" for layernorm.forward.
std::string definition_name(const Contract& contract);

// All of them: the built-in ones by their folders' names, then the others as they came.
std::vector<const Operator*> operators();
std::size_t operator_count();  // it only grows
const Operator* find_operator(std::string_view name);
const Operator* find_operator(const Contract& contract);
// The different folders of all operators.
std::vector<std::shared_ptr<const OperatorFolder>> operator_folders();

// Adds operators, all of them or none. A name that is taken is refused with where both come from.
Status add_operators(std::vector<Operator> more);

}  // namespace tokitai
