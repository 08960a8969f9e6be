// Every definition's description, looked up by the operator's name.
#include <string_view>
#include <vector>

#include "contract/contract.h"
#include "contract/record.h"
#include "definitions.h"
#include "machines/describe/instantiate.h"

namespace tokitai {
namespace {

struct Entry {
  std::string_view name;
  Describe describe;
};
template <class... D> void add(Family<D...>, std::vector<Entry>& entries) {
  (entries.push_back({D::name, describing::describer<D>()}), ...);
}
const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> all;
#define TK_FAMILY(family) add(family::Operators{}, all);
#include "families.inc"
#undef TK_FAMILY
    return all;
  }();
  return entries;
}
// Made before main, as the contracts are, and for the same reason.
[[maybe_unused]] const std::size_t made_before_main = table().size();

}  // namespace

Record describe(const Call& call) {
  for (const Entry& entry : table())
    if (entry.name == call.contract->name) return entry.describe(call);
  return {};
}

}  // namespace tokitai
