// Descriptors whose closing tells another process something: a fork that had them too would keep that from being heard.
// In a fork of this process each is replaced by its stand-in, so that its number stays taken there and whoever closes
// it closes nothing else. Both functions are for who holds hold_forks(), also around the opening and the closing.
#pragma once
#include <mutex>

namespace tokitai {

void keep_from_forks(int descriptor, int stand_in, const std::unique_lock<std::mutex>& no_fork);
// Before it is closed, and so before its stand-in is.
void forget_kept(int descriptor, const std::unique_lock<std::mutex>& no_fork);

}  // namespace tokitai
