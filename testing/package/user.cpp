// A user's program: softmax of two rows through the installed package, and a report of the call.
#include <tokitai/report.h>
#include <tokitai/tokitai.h>
#include <cstdio>

int main() {
  const float x[2][3] = {{0, 0, 0}, {1, 2, 3}};
  float y[2][3] = {};
  auto device = tokitai::open("cpu");
  if (!device.ok()) return 3;
  const tokitai::SoftmaxForward call{.x = tokitai::matrix(&x[0][0], 2, 3), .y = tokitai::matrix(&y[0][0], 2, 3)};
  if (auto status = tokitai::softmax_forward(device.value(), call); !status.ok()) {
    std::puts(status.message().c_str());
    return 2;
  }
  std::printf("%.6f %.6f %.6f\n", y[0][0], y[1][0], y[1][2]);
  const auto report = tokitai::run_with_report(device.value(), call);
  if (!report.ok() || !report->equal() || report->json().empty()) return 4;
  const tokitai::SoftmaxForward wrong{.x = tokitai::matrix(&x[0][0], 2, 3), .y = tokitai::matrix(&y[0][0], 3, 2)};
  return tokitai::softmax_forward(device.value(), wrong).code() == tokitai::Code::invalid ? 0 : 1;
}
