// tokitai-worker: runs calls for the process that started it, over the socket it was given, and ends with it.
//   tokitai-worker PARENT [loaded]   loaded: a descriptor has the operators that the parent loaded from folders
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "loader/hand_over.h"
#include "server/worker.h"

int main(int argc, char** argv) {
  constexpr int kSocket = 3, kOperators = 4;
  if (argc < 2 || argc > 3 || fcntl(kSocket, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("tokitai-worker: Tokitai's library starts this program for devices named worker:DEVICE\n", stderr);
    return 2;
  }
  // The signal reaches even a stopped process. A parent that died before this line has to be seen otherwise.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != std::atoi(argv[1])) return 0;
  try {
    if (argc == 3)
      if (const tokitai::Status status = tokitai::loader::load_handed_over(kOperators); !status.ok()) {
        std::fprintf(stderr, "tokitai-worker: %s\n", status.message().c_str());
        return static_cast<int>(status.code());
      }
    return tokitai::server::serve(tokitai::server::Channel(tokitai::server::Descriptor(kSocket)));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "tokitai-worker: %s\n", problem.what());
    return 4;
  }
}
