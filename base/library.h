// Shared libraries, opened at run time by a name that a variable or a list gives.
#pragma once
#include <string>

namespace tokitai::base {

// As dlopen(RTLD_NOW | RTLD_LOCAL) opens it, or nothing and why. A path must be that of a regular file: the loader
// would wait for the other end of a FIFO.
void* open_library(const std::string& name, std::string& why);

}  // namespace tokitai::base
