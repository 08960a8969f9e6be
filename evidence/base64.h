// Base64 as envelopes and keys have it: the standard alphabet, padded, no line breaks; one text for given bytes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tokitai::evidence {

std::string to_base64(std::string_view bytes);
// None where the text is not what to_base64 writes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace tokitai::evidence
