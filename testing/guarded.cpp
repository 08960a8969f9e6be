#include "testing/guarded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tokitai::testing {

GuardedCopy::GuardedCopy(const View& view, Against side) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto extent = static_cast<std::size_t>(problems::extent_of(view));
  const std::size_t inside = (extent + page - 1) / page * page;
  bytes_ = inside + 2 * page;
  void* all = ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return;
  all_ = static_cast<std::byte*>(all);
  if (::mprotect(all_ + page, inside, PROT_READ | PROT_WRITE) != 0) return;
  data_ = all_ + page + (side == Against::end ? inside - extent : 0);
  std::memcpy(data_, view.data, extent);
}
GuardedCopy::~GuardedCopy() {
  if (all_ != nullptr) ::munmap(all_, bytes_);
}

GuardedCall::GuardedCall(const Call& call, Against side) : call_(call) {
  for (Operands& tensor : call_.list) guard(tensor, side);
  guard(call_.operands, side);
}

void GuardedCall::guard(Operands& operands, Against side) {
  for (View& view : operands) {
    if (!view.present() || view.elements() == 0) continue;
    std::unique_ptr<GuardedCopy>& copy = copies_[view.data];
    if (copy == nullptr) copy = std::make_unique<GuardedCopy>(view, side);
    view.data = copy->data();
  }
}

bool GuardedCall::has_memory() const {
  return std::all_of(copies_.begin(), copies_.end(), [](const auto& copy) { return copy.second->data() != nullptr; });
}

}  // namespace tokitai::testing
