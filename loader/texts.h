// The texts that are part of the binary: what a folder's kernels are compiled from, and folders to begin with.
#pragma once
#include <span>

#include "compiler/compiler.h"

namespace tokitai::loader {

std::span<const compiler::Header> headers();   // by the names that #include has
std::span<const compiler::Header> examples();  // "softcap/contract.txt": the files of examples/operators/

}  // namespace tokitai::loader
