// A user's program: softmax of two rows through the installed package, and a report of the call with its true error.
#include <tokitai/report.h>
#include <tokitai/tokitai.h>
#include <tokitai/true_error.h>
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
  const auto report = tokitai::run_with_report(device.value(), call, {.measure = tokitai::true_error});
  if (!report.ok() || !report->equal() || report->json().empty()) return 4;
  if (!report->error || report->error->outputs != 6 || !report->within_bound()) return 5;
  const tokitai::SoftmaxForward wrong{.x = tokitai::matrix(&x[0][0], 2, 3), .y = tokitai::matrix(&y[0][0], 3, 2)};
  return tokitai::softmax_forward(device.value(), wrong).code() == tokitai::Code::invalid ? 0 : 1;
}
