#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/peers.h"
#include "contract/registry.h"
#include "contract/ways.h"

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

Result<Peer> openblas_peer(const std::vector<problems::Problem>& problems, int threads) {
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Status(Code::unavailable, "no OpenBLAS: libopenblas.so.0 was not found");
  const auto sgemm = symbol<Sgemm>(library, "cblas_sgemm");
  const auto set_threads = symbol<SetThreads>(library, "openblas_set_num_threads");
  const auto config = symbol<GetConfig>(library, "openblas_get_config");
  if (sgemm == nullptr || set_threads == nullptr || config == nullptr)
    return Status(Code::unavailable, "libopenblas.so.0 has no cblas_sgemm");
  set_threads(threads);
  Peer peer;
  for (const problems::Problem& problem : problems) {
    const Record record = describe(plainest_way(*problem.contract));
    if (record.pattern != Pattern::tile || record.offsets >= 0) continue;
    // The factor that has the output's rows comes first; the size that both have and the output lacks is the inner one.
    const auto& operands = problem.contract->operands;
    const std::string_view rows = operands[2].shape[0], cols = operands[2].shape[1];
    const bool swapped = operands[0].shape[0] != rows && operands[0].shape[1] != rows;
    const auto &first = operands[swapped ? 1 : 0].shape, &second = operands[swapped ? 0 : 1].shape;
    const bool first_lies = first[1] == rows, second_lies = second[0] == cols;  // transposed in memory
    const auto size = [&](std::string_view symbol) { return static_cast<int>(problem.size(symbol)); };
    const int m = size(rows), n = size(cols), k = size(first[first_lies ? 0 : 1]);
    const auto made = [](int outer, int inner, int period) {
      std::vector<float> values(static_cast<std::size_t>(outer) * static_cast<std::size_t>(inner));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i % static_cast<std::size_t>(period)) - static_cast<float>(period / 2);
      return values;
    };
    const std::vector<float> a = made(m, k, 17), b = made(k, n, 13);
    std::vector<float> c = made(m, n, 11);
    const auto once = [&] {
      sgemm(kRowMajor, first_lies ? kTrans : kNoTrans, second_lies ? kTrans : kNoTrans, m, n, k, 1, a.data(),
            first_lies ? m : k, b.data(), second_lies ? k : n, 0, c.data(), n);
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
