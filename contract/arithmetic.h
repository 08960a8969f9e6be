// How one output of a matrix product is added up. The names of an operator's option `arithmetic` stand in this order.
#pragma once
#include <cstdint>

namespace tokitai {

enum class Arithmetic : std::int8_t {
  chain,    // one fma chain from +0, the contracted index ascending
  block15,  // blocks of 128 as exact sums of integers, one fma each (numerics/block15.h)
  hopper,   // groups of 16 as Hopper's tensor cores add them (numerics/hopper.h)
};

}  // namespace tokitai
