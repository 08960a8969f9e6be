#include "loader/words.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace tokitai::loader {

bool is_name(std::string_view word) {
  return !word.empty() && word.size() <= 64 && std::isdigit(static_cast<unsigned char>(word.front())) == 0 &&
         std::all_of(word.begin(), word.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

bool is_keyword(std::string_view word) {
  static const std::set<std::string_view> all{
      "alignas",     "alignof",   "and",        "and_eq",    "asm",      "auto",         "bitand",
      "bitor",       "bool",      "break",      "case",      "catch",    "char",         "char8_t",
      "char16_t",    "char32_t",  "class",      "compl",     "concept",  "const",        "consteval",
      "constexpr",   "constinit", "const_cast", "continue",  "co_await", "co_return",    "co_yield",
      "decltype",    "default",   "delete",     "do",        "double",   "dynamic_cast", "else",
      "enum",        "explicit",  "export",     "extern",    "false",    "float",        "for",
      "friend",      "goto",      "if",         "inline",    "int",      "long",         "mutable",
      "namespace",   "new",       "noexcept",   "not",       "not_eq",   "nullptr",      "operator",
      "or",          "or_eq",     "private",    "protected", "public",   "register",     "reinterpret_cast",
      "requires",    "return",    "short",      "signed",    "sizeof",   "static",       "static_assert",
      "static_cast", "struct",    "switch",     "template",  "this",     "thread_local", "throw",
      "true",        "try",       "typedef",    "typeid",    "typename", "union",        "unsigned",
      "using",       "virtual",   "void",       "volatile",  "wchar_t",  "while",        "xor",
      "xor_eq"};
  return all.contains(word);
}

bool is_our_namespace(std::string_view word) {
  static const std::set<std::string_view> all{
      "analysis", "base",     "bench",  "built_in",  "cli",     "compiler", "contract", "cpu",       "describing",
      "device",   "evidence", "gpu",    "hwy",       "loader",  "lockstep", "numerics", "operators", "option",
      "patterns", "problems", "proofs", "reference", "runtime", "server",   "std",      "testing",   "tokitai"};
  return all.contains(word);
}

}  // namespace tokitai::loader
