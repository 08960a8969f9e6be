#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/peers.h"

namespace tokitai::bench {
namespace {

// The parts of the CBLAS interface we call.
using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda,
                       const float* b, int ldb, float beta, float* c, int ldc);
using SetThreads = void (*)(int);
using GetConfig = char* (*)();
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;

template <class F> F symbol(void* library, const char* name) { return reinterpret_cast<F>(dlsym(library, name)); }

}  // namespace

Result<Peer> openblas_peer(const std::vector<testing::Problem>& problems, int threads) {
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Status(Code::unavailable, "no OpenBLAS: libopenblas.so.0 was not found");
  const auto sgemm = symbol<Sgemm>(library, "cblas_sgemm");
  const auto set_threads = symbol<SetThreads>(library, "openblas_set_num_threads");
  const auto config = symbol<GetConfig>(library, "openblas_get_config");
  if (sgemm == nullptr || set_threads == nullptr || config == nullptr)
    return Status(Code::unavailable, "libopenblas.so.0 has no cblas_sgemm");
  set_threads(threads);
  Peer peer;
  for (const testing::Problem& problem : problems) {
    if (problem.contract->family() != "gemm") continue;
    const auto m = static_cast<int>(problem.size("m")), n = static_cast<int>(problem.size("n")),
               k = static_cast<int>(problem.size("k"));
    const auto area = [](int rows, int cols) {
      return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    };
    std::vector<float> a(area(m, k)), b(area(k, n)), c(area(m, n));
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 17) - 8;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 13) - 6;
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<float>(i % 11) - 5;
    const auto once = [&] {
      if (problem.contract->name == "gemm.forward")
        sgemm(kRowMajor, kNoTrans, kNoTrans, m, n, k, 1, a.data(), k, b.data(), n, 0, c.data(), n);
      else if (problem.contract->name == "gemm.grad_a")
        sgemm(kRowMajor, kNoTrans, kTrans, m, k, n, 1, c.data(), n, b.data(), n, 0, a.data(), k);
      else
        sgemm(kRowMajor, kTrans, kNoTrans, k, n, m, 1, a.data(), k, c.data(), n, 0, b.data(), n);
    };
    std::vector<double> seconds;
    for (int i = 0; i < 8; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      once();
      if (i > 0) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    peer.seconds[problem.text()] = seconds[seconds.size() / 2];
  }
  peer.name = fmt::format("openblas sgemm (f32; {:.40})", config());
  return peer;
}

}  // namespace tokitai::bench
