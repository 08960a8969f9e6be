// A program over the installed package that loads an operator from a folder and calls it by names.
#include <tokitai/load_operators.h>
#include <tokitai/tokitai.h>

#include <cstdio>
#include <vector>

int main() {
  if (const tokitai::Status status = tokitai::load_operators("mine"); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  const std::vector<float> x{1, 4};
  std::vector<float> y(2);
  tokitai::Device device = tokitai::open("cpu").value();
  auto call = tokitai::call_of("mine.forward", {{"x", tokitai::matrix(x, 1, 2)}, {"y", tokitai::matrix(y, 1, 2)}},
                               {{"cap", "2"}});
  if (!call.ok() || !device.run(call.value()).ok()) return 1;
  std::printf("%g\n", static_cast<double>(y[1]));  // 2 tanh(2)
}
