// What the two vendors' drivers share: AMD's runtime follows NVIDIA's driver, so these functions differ in name alone.
#pragma once
#include <cstddef>

#include "machines/gpu/driver.h"
#include "machines/gpu/library.h"

namespace tokitai::gpu {

struct CommonApi {
  Error (*init)(unsigned);
  Error (*version)(int*);
  Error (*device_count)(int*);
  Error (*device_name)(char*, int, int);
  Error (*device_memory)(std::size_t*, int);
  Error (*device_attribute)(int*, int, int);
  Error (*allocate_pinned)(void**, std::size_t, unsigned);
  Error (*free_pinned)(void*);
  Error (*memory)(std::size_t*, std::size_t*);
  Error (*create_stream)(void**, unsigned);
  Error (*destroy_stream)(void*);
  Error (*wait_stream)(void*);
  Error (*stream_number)(void*, unsigned long long*);  // may be absent
  Error (*recording)(void*, int*);                     // may be absent
  Error (*wait_device)();
  Error (*create_event)(void**, unsigned);
  Error (*destroy_event)(void*);
  Error (*record)(void*, void*);
  Error (*wait_event)(void*);
  Error (*stream_wait)(void*, void*, unsigned);
  Error (*elapsed)(float*, void*, void*);
  Error (*load)(void**, const void*);
  Error (*unload)(void*);
  Error (*function)(void**, void*, const char*);
  Error (*resident)(int*, void*, int, std::size_t);
};
constexpr unsigned kNonBlockingStream = 1, kDisableTiming = 2, kPortable = 1;
constexpr Error kInvalidHandle = 400, kContextDestroyed = 709;

template <class Api> class CommonDriver : public Driver {
 public:
  CommonDriver(const Api& api, int version, int count) : api_(api), version_(version), count_(count) {}

  int count() const override { return count_; }
  Error allocate_pinned(void*& memory, std::size_t bytes) override {
    return api_.allocate_pinned(&memory, bytes, kPortable);
  }
  Error free_pinned(void* memory) override { return api_.free_pinned(memory); }
  Error memory(std::size_t& free, std::size_t& total) override { return api_.memory(&free, &total); }

  Error create_stream(void*& stream) override { return api_.create_stream(&stream, kNonBlockingStream); }
  Error destroy_stream(void* stream) override { return api_.destroy_stream(stream); }
  Error wait_stream(void* stream) override { return api_.wait_stream(stream); }
  std::uint64_t stream_number(void* stream) override {
    unsigned long long number = 0;
    return api_.stream_number != nullptr && api_.stream_number(stream, &number) == 0 ? number : 0;
  }
  Error recording(void* stream, bool& answer) override {
    int state = 0;
    const Error error = api_.recording == nullptr ? 0 : of_stream(api_.recording(stream, &state));
    answer = state != 0;
    return error;
  }
  Error wait_device() override { return api_.wait_device(); }
  Error create_event(void*& event, bool timing) override {
    return api_.create_event(&event, timing ? 0 : kDisableTiming);
  }
  Error destroy_event(void* event) override { return api_.destroy_event(event); }
  Error record(void* event, void* stream) override { return api_.record(event, stream); }
  Error wait_event(void* event) override { return api_.wait_event(event); }
  Error stream_wait(void* stream, void* event) override { return api_.stream_wait(stream, event, 0); }
  Error elapsed(float& milliseconds, void* begin, void* end) override {
    return api_.elapsed(&milliseconds, begin, end);
  }

  Error load(void*& module, const void* binary) override { return api_.load(&module, binary); }
  Error unload(void* module) override { return api_.unload(module); }
  Error function(void*& function, void* module, const char* name) override {
    return api_.function(&function, module, name);
  }

 protected:
  // Of a stream that was destroyed some drivers say that its context was.
  static Error of_stream(Error error) { return error == kContextDestroyed ? kInvalidHandle : error; }
  // A number that the driver tells of a device; what an older one does not know is 0.
  int attribute(int which, int device) const {
    int value = 0;
    return api_.device_attribute(&value, which, device) == 0 ? value : 0;
  }

  Api api_;
  int version_;  // as the driver counts them
  int count_;
};

}  // namespace tokitai::gpu
