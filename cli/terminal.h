// Standard output and error as the whole command has them: what passes through cannot steer a terminal, whoever prints
// it and wherever it came from (base/printable.h), and printing never fails: whether all of it arrived is asked
// once, at the end.
#pragma once
#include <cstdint>
#include <string_view>

namespace tokitai::cli {

// Puts itself behind `stdout` and `stderr`, and no write ends the process from then on. Asked for once, before anything
// is printed or opened.
void guard_terminal();

enum class Stream : std::uint8_t { out, error };
// Past that: bytes that are no text, and the progress line's own control characters.
void write_raw(Stream stream, std::string_view bytes) noexcept;
// Whether everything that was printed so far could be written.
bool all_written(Stream stream) noexcept;

}  // namespace tokitai::cli
