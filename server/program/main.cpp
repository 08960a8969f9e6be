// tokitai-worker: runs calls for the process that started it, over the socket it was given, and ends with it.
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "server/worker.h"

int main(int argc, char** argv) {
  constexpr int kSocket = 3;
  if (argc != 2 || fcntl(kSocket, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("tokitai-worker: Tokitai's library starts this program for devices named worker:DEVICE\n", stderr);
    return 2;
  }
  // The signal reaches even a stopped process. A parent that died before this line has to be seen otherwise.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != std::atoi(argv[1])) return 0;
  try {
    return tokitai::server::serve(tokitai::server::Channel(tokitai::server::Descriptor(kSocket)));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "tokitai-worker: %s\n", problem.what());
    return 4;
  }
}
