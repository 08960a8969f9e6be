#include "bench/copy.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "bench/gpu.h"
#include "machines/gpu/driver.h"

namespace tokitai::bench {
namespace {

constexpr std::int64_t kBytes = std::int64_t{1} << 30;

void streamed_copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
#if defined(__x86_64__)
  for (std::int64_t i = 0; i < bytes; i += 64) {
    const auto* in = reinterpret_cast<const __m128i*>(from + i);
    auto* out = reinterpret_cast<__m128i*>(to + i);
    const __m128i a = _mm_load_si128(in), b = _mm_load_si128(in + 1), c = _mm_load_si128(in + 2),
                  d = _mm_load_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  _mm_sfence();
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}
void library_copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

using Way = void (*)(std::byte*, const std::byte*, std::int64_t);

double median_seconds(Way copy, std::byte* to, const std::byte* from, int threads) {
  std::vector<double> seconds;
  const std::int64_t share = kBytes / threads / 4096 * 4096;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> crew;
    for (int t = 0; t < threads; ++t) crew.emplace_back(copy, to + t * share, from + t * share, share);
    for (std::thread& thread : crew) thread.join();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2] * static_cast<double>(kBytes) / static_cast<double>(share * threads);
}

}  // namespace

void Copy::Free::operator()(std::byte* p) const { std::free(p); }

Result<Copy> Copy::on(Device& device) {
  Copy copy;
  if (gpu::names_gpu(device.name())) {
    const auto measured = device_copy_bandwidth(device);
    if (!measured.ok()) return measured.status();
    copy.of_gpu_ = measured.value();
    return copy;
  }
  copy.threads_ = device.threads();
  for (auto* memory : {&copy.from_, &copy.to_}) {
    memory->reset(static_cast<std::byte*>(std::aligned_alloc(4096, kBytes)));
    if (*memory == nullptr) return Status(Code::unavailable, "out of memory for the copy measurement (2 GiB)");
    std::memset(memory->get(), 1, kBytes);
  }
  return copy;
}

double Copy::bandwidth() const {
  if (of_gpu_ != 0) return of_gpu_;
  const double seconds = std::min(median_seconds(streamed_copy, to_.get(), from_.get(), threads_),
                                  median_seconds(library_copy, to_.get(), from_.get(), threads_));
  return 2.0 * kBytes / seconds / 1e9;
}

}  // namespace tokitai::bench
