#include "proofs/symbol.h"

#include <string>

namespace tokitai::proofs {

std::pair<z3::expr, z3::expr> Ledger::divide(const z3::expr& n, const z3::expr& d) {
  note(n >= 0 && d > 0);
  if (d.is_numeral()) return {n / d, z3::mod(n, d)};
  const auto key = std::make_pair(Z3_get_ast_id(*context, n), Z3_get_ast_id(*context, d));
  if (const auto known = divisions_.find(key); known != divisions_.end()) return known->second;
  const std::string suffix = std::to_string(divisions_.size());
  const z3::expr quotient = context->int_const(("quotient" + suffix).c_str());
  const z3::expr remainder = context->int_const(("remainder" + suffix).c_str());
  facts.push_back(z3::implies(n >= 0 && d > 0, n == quotient * d + remainder && remainder >= 0 && remainder < d &&
                                                   quotient >= 0 && quotient <= n));
  return divisions_.emplace(key, std::make_pair(quotient, remainder)).first->second;
}

}  // namespace tokitai::proofs
