#include "base/fork_descriptors.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <vector>

namespace tokitai {
namespace {

struct Kept {
  int descriptor, stand_in;
};

// Never destroyed: a process may fork while it ends.
std::vector<Kept>& all() {
  static auto* kept = new std::vector<Kept>();
  return *kept;
}

// Nobody changes the list while a fork begins, and its own forks have nothing to replace any more. Registered when the
// library is loaded: older C libraries run these with a lock that registering takes, too.
const int kListens = [] {
  all();
  return ::pthread_atfork(nullptr, nullptr, [] {
    for (const Kept& one : all()) ::dup3(one.stand_in, one.descriptor, O_CLOEXEC);
    all().clear();
  });
}();

}  // namespace

void keep_from_forks(int descriptor, int stand_in, const std::unique_lock<std::mutex>&) {
  static_cast<void>(kListens);
  all().push_back({descriptor, stand_in});
}

void forget_kept(int descriptor, const std::unique_lock<std::mutex>&) {
  std::erase_if(all(), [&](const Kept& one) { return one.descriptor == descriptor; });
}

}  // namespace tokitai
