// Operators of one's own: a folder with a contract, a definition and problems becomes operators like the built-in ones.
// docs/own_operators.md says what is in such a folder.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "tokitai/call.h"
#include "tokitai/status.h"
#include "tokitai/view.h"

namespace tokitai {

// Loads every operator of the folder, or of the folders in it, or none: the status then says PATH:LINE and what is
// wrong. Their kernels are compiled by this machine's C++ compiler, and kept in the kernel cache. A folder that others
// than its owner may write to is refused, because its code is run. May be called at any time and from any thread.
Status load_operators(const std::string& folder);

// A call of any operator by names, for Device::run. An option is written as the command takes it: {"cap", "50"}.
struct NamedView {
  std::string_view name;
  View view;

  NamedView(std::string_view operand, const View& v) : name(operand), view(v) {}
  NamedView(std::string_view operand, const ConstView& v) : name(operand), view(unconst(v)) {}
};
struct NamedOption {
  std::string_view name, value;
};
Result<Call> call_of(std::string_view operator_name, std::initializer_list<NamedView> operands,
                     std::initializer_list<NamedOption> options = {});

}  // namespace tokitai
