// A user's program that is linked with the core alone: the same bits on the devices it has, and a sentence for others.
#include <tokitai/tokitai.h>
#include <cstdio>
#include <cstring>

int main() {
  const float x[6] = {0, 0, 0, 1, 2, 3};
  float y[2][6] = {};
  int i = 0;
  for (const char* name : {"cpu", "reference"}) {
    auto device = tokitai::open(name);
    if (!device.ok()) return 3;
    const auto status =
        tokitai::softmax_forward(device.value(), {.x = tokitai::matrix(x, 2, 3), .y = tokitai::matrix(y[i++], 2, 3)});
    if (!status.ok()) return 2;
  }
  if (std::memcmp(y[0], y[1], sizeof y[0]) != 0) return 1;
  for (const char* name : {"lockstep", "worker:cpu", "unix:/nowhere"}) {
    const auto device = tokitai::open(name);
    if (device.ok() || device.status().code() != tokitai::Code::unavailable) return 4;
    if (device.status().message().find("there are cpu, reference, cuda:N and amd:N") == std::string::npos) {
      std::puts(device.status().message().c_str());
      return 5;
    }
  }
  return 0;
}
