// The caller's floating-point mode must not reach our bits: this sets the default one (round to nearest even,
// subnormals kept, exceptions masked) and puts the caller's back.
#pragma once
#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace tokitai {

class DefaultFloatMode {
 public:
#if defined(__x86_64__)
  DefaultFloatMode() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  ~DefaultFloatMode() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  DefaultFloatMode() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatMode() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;
};

}  // namespace tokitai
