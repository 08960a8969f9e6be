#include "cli/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "base/printable.h"

namespace tokitai::cli {
namespace {

bool write_bytes(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

// One of the two streams. A character may be cut by the end of a buffer: its bytes wait for the rest. What cannot be
// written is remembered and hidden from the C library, for which print functions would throw; nothing is written from
// then on, so that what did arrive is the beginning of the text.
struct Guarded {
  int descriptor;
  std::string waiting;
  std::atomic<bool> failed = false;

  void put_raw(std::string_view bytes) noexcept {
    if (!failed && !write_bytes(descriptor, bytes)) failed = true;
  }
  void put(std::string_view text) noexcept {
    try {
      waiting += text;
      const std::size_t whole = waiting.size() - base::cut_character(waiting);
      put_raw(base::printable(std::string_view(waiting).substr(0, whole)));
      waiting.erase(0, whole);
    } catch (const std::exception&) {  // memory ran out
      failed = true;
    }
  }
};

Guarded& guarded(Stream stream) {
  static Guarded out{STDOUT_FILENO, {}}, error{STDERR_FILENO, {}};
  return stream == Stream::out ? out : error;
}

std::FILE* behind(Guarded& stream, int buffering) {
  const cookie_io_functions_t functions{nullptr,
                                        [](void* cookie, const char* text, std::size_t bytes) -> ssize_t {
                                          static_cast<Guarded*>(cookie)->put({text, bytes});
                                          return static_cast<ssize_t>(bytes);
                                        },
                                        nullptr, nullptr};
  std::FILE* file = ::fopencookie(&stream, "w", functions);
  if (file != nullptr) std::setvbuf(file, nullptr, buffering, BUFSIZ);
  return file;
}

// A file opened later must not become a standard stream. In the other direction: using the stream fails as before.
void occupy(int descriptor, int direction) {
  if (::fcntl(descriptor, F_GETFD) < 0) static_cast<void>(::open("/dev/null", direction));
}

}  // namespace

void guard_terminal() {
  // What nobody reads, or what a file size limit cuts, then fails to be written, and that is known. A handler, because
  // a program that is started gets the default back, which it would not of a signal that is ignored.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, [](int) {});
  occupy(STDIN_FILENO, O_WRONLY);  // in this order: the lowest free number is taken
  occupy(STDOUT_FILENO, O_RDONLY);
  occupy(STDERR_FILENO, O_RDONLY);
  // As the C library buffers the streams themselves.
  if (std::FILE* out = behind(guarded(Stream::out), ::isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF)) stdout = out;
  if (std::FILE* error = behind(guarded(Stream::error), _IONBF)) stderr = error;
}

void write_raw(Stream stream, std::string_view bytes) noexcept {
  std::fflush(stream == Stream::out ? stdout : stderr);
  guarded(stream).put_raw(bytes);
}

bool all_written(Stream stream) noexcept {
  std::fflush(stream == Stream::out ? stdout : stderr);
  return !guarded(stream).failed;
}

}  // namespace tokitai::cli
