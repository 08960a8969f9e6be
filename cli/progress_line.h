// One line on a terminal that says what is going on, gone at the end. Where standard error is no terminal: nothing.
#pragma once
#include <fmt/format.h>
#include <unistd.h>

#include <mutex>
#include <string_view>

#include "base/printable.h"
#include "cli/terminal.h"

namespace tokitai::cli {

class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { say(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // May be called from several threads.
  void say(std::string_view what) {
    if (!terminal_) return;
    const std::scoped_lock lock(mutex_);
    write_raw(Stream::error, fmt::format("\r\033[K{:.110}", base::one_line(what)));
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::mutex mutex_;
};

}  // namespace tokitai::cli
