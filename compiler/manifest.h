// The manifest as text, with a digest of itself: what it says of an artifact can be believed or is refused.
#pragma once
#include <string>
#include <string_view>

#include "compiler/compiler.h"

namespace tokitai::compiler {

// The manifest and the figures of the kernels.
std::string manifest_text(const Artifact& artifact);
// Fills in `manifest` and `resources`; the reason where the text is damaged.
Status read_manifest(std::string_view text, Artifact& artifact);

}  // namespace tokitai::compiler
