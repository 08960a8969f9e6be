#include "cli/terminal.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

#include "evidence/printable.h"

namespace tokitai::cli {
namespace {

bool write_bytes(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

// One of the two streams. A character may be cut by the end of a buffer: its bytes wait for the rest.
struct Guarded {
  int descriptor;
  std::string waiting;

  bool put(std::string_view text) {
    waiting += text;
    const std::size_t whole = waiting.size() - evidence::cut_character(waiting);
    const bool good = write_bytes(descriptor, evidence::printable(std::string_view(waiting).substr(0, whole)));
    waiting.erase(0, whole);
    return good;
  }
};

std::FILE* behind(Guarded& stream, int buffering) {
  const cookie_io_functions_t functions{
      nullptr,
      [](void* cookie, const char* text, std::size_t bytes) -> ssize_t {
        return static_cast<Guarded*>(cookie)->put({text, bytes}) ? static_cast<ssize_t>(bytes) : 0;
      },
      nullptr, nullptr};
  std::FILE* file = ::fopencookie(&stream, "w", functions);
  if (file != nullptr) std::setvbuf(file, nullptr, buffering, BUFSIZ);
  return file;
}

}  // namespace

void guard_terminal() {
  static std::array<Guarded, 2> streams{Guarded{STDOUT_FILENO, {}}, Guarded{STDERR_FILENO, {}}};
  // As the C library buffers the streams themselves.
  if (std::FILE* out = behind(streams[0], ::isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF)) stdout = out;
  if (std::FILE* error = behind(streams[1], _IONBF)) stderr = error;
}

bool write_raw(Stream stream, std::string_view bytes) {
  std::fflush(stream == Stream::out ? stdout : stderr);
  return write_bytes(static_cast<int>(stream), bytes);
}

}  // namespace tokitai::cli
