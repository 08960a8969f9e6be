// Timing on a GPU: operands stay in the device's memory, the clock is the device's own, and a piece of the answer is
// checked against the cpu device.
#pragma once
#include "bench/harness.h"

namespace tokitai::bench {

// Bytes read plus bytes written per second, in GB/s: the median copy of 1 GiB from one place on the device to another.
Result<double> device_copy_bandwidth(Device& device);

// At least twenty calls after warming up, and more until about `budget` seconds are spent; all are queued without
// waiting, as a training step does it. Timing::host_seconds is how long a call takes to return.
Result<Timing> time_on_gpu(const problems::Problem& problem, Device& device, double budget);

}  // namespace tokitai::bench
