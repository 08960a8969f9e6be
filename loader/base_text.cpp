// What a definition derives from, written out of its contract.
#include <fmt/format.h>

#include "contract/registry.h"
#include "loader/contract_text.h"

namespace tokitai::loader {
namespace {

std::string_view kind_of(const Contract& contract, const OperandSpec& spec) {
  if (contract.has_once(spec)) return "Once";
  switch (spec.type) {
    case TypeRule::storage: return "Storage";
    case TypeRule::f32: return "Single";
    case TypeRule::storage_or_f32: return "StorageOrSingle";
    case TypeRule::floating: return contract.list ? "Storage" : "Floating";
    case TypeRule::index:
    case TypeRule::i64: return "Integer";
  }
  return "";
}

}  // namespace

std::string struct_name(const Contract& contract) {
  const std::string whole = definition_name(contract);
  return whole.substr(whole.rfind(':') + 1);
}

std::string base_text(const WrittenContract& written) {
  const Contract& contract = written.contract;
  std::string text =
      fmt::format("struct {}Contract {{\n  static constexpr char name[] = \"{}\";\n{}  struct Names {{\n",
                  struct_name(contract), contract.name, contract.list ? "  static constexpr bool list = true;\n" : "");
  const auto member = [&](std::string_view kind, std::size_t index, std::string_view name) {
    text += fmt::format("    static constexpr {}<{}> {}{{}};\n", kind, index, name);
  };
  for (std::size_t i = 0; i < contract.operands.size(); ++i)
    member(kind_of(contract, contract.operands[i]), i, contract.operands[i].name);
  for (std::size_t i = 0; i < contract.options.size(); ++i)
    if (contract.options[i].kind != OptionKind::f32) member("IntegerOption", i, contract.options[i].name);
  for (std::size_t i = 0; i < written.scalars.size(); ++i) member("Scalar", i, written.scalars[i]);
  return text + "  };\n};\n";
}

}  // namespace tokitai::loader
