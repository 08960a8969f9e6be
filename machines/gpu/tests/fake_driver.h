// What a test asks of the fake driver beside the driver's own calls.
#pragma once
#include <cstddef>

#include "machines/device/arguments.h"

namespace tokitai::gpu::fake {

struct Counts {
  int allocations = 0, copies_in = 0, copies_out = 0, fills = 0, waits = 0, modules = 0, launches = 0;
  int contexts = 0, events = 0, streams = 0;  // that are open now
  int maps = 0;                               // made for the copy engine
  // Of the last launch with maps: what they are of, and the workspace.
  const void* mapped[device::kMaps] = {};
  const void* workspace = nullptr;
};
// Does a kernel's work. A kernel begins, and ends later: others may begin and end meanwhile on other streams.
using Runner = void (*)(const char* kernel, const device::Arguments& arguments, bool ends);

}  // namespace tokitai::gpu::fake

extern "C" {
void fake_runner(tokitai::gpu::fake::Runner runner);
void fake_counts(tokitai::gpu::fake::Counts* counts);
void fake_memory(std::size_t bytes);
// 0: queued work is done as late as it may be, that which somebody waits for and no other. Else while somebody waits a
// stream is drawn for each piece of work, which begins or ends: a way through that the streams' order allows.
void fake_schedule(unsigned seed);
// Whether that stream records a graph.
void fake_recording(void* stream, bool recording);
}
