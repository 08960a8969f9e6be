// A small model whose steps a test takes while something goes wrong, and what kills its workers.
#pragma once
#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/tests/processes.h"
#include "tokitai/tokitai.h"

namespace tokitai::server {

// Three tensors of f16 parameters with moments, in the caller's own memory or in buffers of the device; the parameters
// may stay in the caller's own.
class Model {
 public:
  static constexpr std::int64_t kLengths[] = {70001, 333, 40000};

  explicit Model(Device* device, bool own_parameters = false) {
    std::mt19937 random(3);
    for (const std::int64_t n : kLengths) {
      auto* theta = static_cast<f16*>(memory(own_parameters ? nullptr : device, n * 2));
      auto* m = static_cast<float*>(memory(device, n * 4));
      auto* v = static_cast<float*>(memory(device, n * 4));
      auto* grad = static_cast<f16*>(memory(device, n * 2));
      for (std::int64_t i = 0; i < n; ++i) {
        theta[i].bits = static_cast<std::uint16_t>(random() % 0x3c00);
        grad[i].bits = static_cast<std::uint16_t>(random() % 0x3c00);
        m[i] = v[i] = 0;
      }
      tensors_.push_back({vector(theta, n), vector(m, n), vector(v, n), vector(grad, n)});
    }
  }
  Status step(Device& device, std::int64_t t) { return adamw_step(device, {.tensors = tensors_, .t = t}); }
  std::string bytes() const {
    std::string all;
    for (const AdamwTensor& tensor : tensors_)
      for (const View& view : {tensor.theta, tensor.m, tensor.v})
        all.append(static_cast<const char*>(view.data), static_cast<std::size_t>(view.rows()) * size_of(view.type));
    return all;
  }

 private:
  void* memory(Device* device, std::int64_t bytes) {
    if (device == nullptr) return own_.emplace_back(static_cast<std::size_t>(bytes)).data();
    return buffers_.emplace_back(device->allocate(bytes).value()).data();
  }
  std::vector<std::vector<std::byte>> own_;
  std::vector<Buffer> buffers_;
  std::vector<AdamwTensor> tensors_;
};

// Sends SIGKILL to whatever worker there is, at random moments, so many times or until told to stop.
class Killer {
 public:
  explicit Killer(unsigned seed, int most = 1 << 30, unsigned most_microseconds = 6000)
      : most_(most), most_microseconds_(most_microseconds), thread_([this, seed] { work(seed); }) {}
  ~Killer() {
    stop_ = true;
    thread_.join();
  }
  int kills() const { return kills_; }

 private:
  void work(unsigned seed) {
    std::mt19937 random(seed);
    pid_t last = 0;
    while (!stop_ && kills_ < most_) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % most_microseconds_));
      for (const pid_t one : children()) {
        if (one == last || ::kill(one, SIGKILL) != 0) continue;
        last = one;
        ++kills_;
      }
    }
  }
  const int most_;
  const unsigned most_microseconds_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> kills_ = 0;
  std::thread thread_;
};

}  // namespace tokitai::server
