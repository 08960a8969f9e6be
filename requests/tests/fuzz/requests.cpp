// libFuzzer: every request of the older protocol. The first byte chooses the family; what comes through is a call that
// its contract takes or refuses, over arrays of the right size.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "contract/contract.h"
#include "requests/request.h"

using namespace tokitai;
using namespace tokitai::requests;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const RequestFamily family = kRequestFamilies[data[0] % std::size(kRequestFamilies)].second;
  ParsedRequest parsed = parse_framed_request(family, {reinterpret_cast<const char*>(data) + 1, size - 1});
  if ((parsed.status == 0) != parsed.error.empty()) std::abort();
  if (parsed.status != 0) return 0;
  const Code code = check(parsed.request.call).code();
  if (code != Code::ok && code != Code::invalid) std::abort();
  // The first and the last element of each output are ours.
  for (const Request::Output& output : parsed.request.outputs) {
    const auto bytes = static_cast<std::size_t>(output.view.elements()) * size_of(output.view.type);
    auto* p = static_cast<volatile char*>(output.view.data);
    p[0] = p[bytes - 1];
  }
  return 0;
}
