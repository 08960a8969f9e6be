// Standard output and error as the whole command has them: what passes through cannot steer a terminal, whoever prints
// it and wherever it came from (evidence/printable.h).
#pragma once
#include <cstdint>
#include <string_view>

namespace tokitai::cli {

// Puts itself behind `stdout` and `stderr`. Asked for once, before anything is printed.
void guard_terminal();

// Past that: bytes that are no text, and the progress line's own control characters. False: they could not be written.
enum class Stream : std::uint8_t { out = 1, error = 2 };
bool write_raw(Stream stream, std::string_view bytes);

}  // namespace tokitai::cli
