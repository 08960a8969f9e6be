#include <csignal>

#include "cli/commands.h"

int main(int argc, char** argv) {
#if defined(SIGXFSZ)
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit then fails the write, and temporaries are removed
#endif
  return tokitai::cli::run_command(argc, argv);
}
