#include "tokitai/status.h"

#include <cstdio>
#include <cstdlib>

namespace tokitai {

void end_without_value(const Status& status) {
  std::fprintf(stderr, "tokitai: %s\n",
               status.ok() ? "a result has neither value nor reason" : status.message().c_str());
  std::abort();
}

}  // namespace tokitai
