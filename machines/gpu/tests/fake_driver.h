// What a test asks of the fake driver beside the driver's own calls.
#pragma once
#include <cstddef>

#include "machines/device/arguments.h"

namespace tokitai::gpu::fake {

struct Counts {
  int allocations = 0, copies_in = 0, copies_out = 0, fills = 0, waits = 0, modules = 0, launches = 0;
  int contexts = 0, events = 0;  // that are open now
};
using Runner = void (*)(const char* kernel, const device::Arguments& arguments);

}  // namespace tokitai::gpu::fake

extern "C" {
void fake_runner(tokitai::gpu::fake::Runner runner);
void fake_counts(tokitai::gpu::fake::Counts* counts);
void fake_memory(std::size_t bytes);
}
