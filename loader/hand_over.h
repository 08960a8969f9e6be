// The operators that this process has loaded, handed to a process that it starts: by what was read then, not by what
// lies in their folders now.
#pragma once
#include <string_view>

#include "base/files.h"

namespace tokitai::loader {

// A file in memory with all of them; none where none were loaded.
Result<base::Descriptor> loaded_folders();
// Loads those of such a file.
Status load_handed_over(int descriptor);

// One of them, as OperatorFolder::written has it.
Status load_written(std::string_view text);

}  // namespace tokitai::loader
