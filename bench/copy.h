// The machine's copy bandwidth with a number of threads: what every memory-bound operator is measured against.
#pragma once

namespace tokitai::bench {

// Bytes read plus bytes written per second, in GB/s: the best of streaming stores and the C library's copy, the
// median over repetitions of a copy far larger than the caches.
double copy_bandwidth(int threads);

}  // namespace tokitai::bench
