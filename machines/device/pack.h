// A few neighbouring values of a thread, worked on as one, with the words of a definition: + - * / fma sqrt exp log
// tanh erf, comparisons, select, mixed with plain floats. Each word is the scalar's, element by element.
#pragma once
#include "machines/device/alias.h"
// The alias header comes first: it says what TK_FN is.
#include "numerics/elementary.h"

namespace tokitai::device {

template <int wide> struct PackMask {
  bool v[wide];

#define TK_PACK_MASK(name, arguments, expression)         \
  friend TK_FN PackMask name arguments {                  \
    PackMask r;                                           \
    TK_UNROLL                                             \
    for (int e = 0; e < wide; ++e) r.v[e] = (expression); \
    return r;                                             \
  }
  TK_PACK_MASK(operator!, (const PackMask& a), !a.v[e])
  TK_PACK_MASK(operator&, (const PackMask& a, const PackMask& b), a.v[e] && b.v[e])
  TK_PACK_MASK(operator|, (const PackMask& a, const PackMask& b), a.v[e] || b.v[e])
#undef TK_PACK_MASK
};

template <int wide> struct Pack {
  float v[wide];

  Pack() = default;
  TK_FN Pack(float x) {  // NOLINT(google-explicit-constructor): constants and scalars of a definition
    TK_UNROLL
    for (int e = 0; e < wide; ++e) v[e] = x;
  }

#define TK_PACK(result, name, arguments, expression)      \
  friend TK_FN result name arguments {                    \
    result r;                                             \
    TK_UNROLL                                             \
    for (int e = 0; e < wide; ++e) r.v[e] = (expression); \
    return r;                                             \
  }
  TK_PACK(Pack, operator-, (const Pack& a), -a.v[e])
  TK_PACK(Pack, operator+, (const Pack& a, const Pack& b), a.v[e] + b.v[e])
  TK_PACK(Pack, operator-, (const Pack& a, const Pack& b), a.v[e] - b.v[e])
  TK_PACK(Pack, operator*, (const Pack& a, const Pack& b), a.v[e] * b.v[e])
  TK_PACK(Pack, operator/, (const Pack& a, const Pack& b), a.v[e] / b.v[e])
  TK_PACK(Pack, fma, (const Pack& a, const Pack& b, const Pack& c), tokitai::fma(a.v[e], b.v[e], c.v[e]))
  TK_PACK(Pack, sqrt, (const Pack& a), tokitai::sqrt(a.v[e]))
  TK_PACK(Pack, exp, (const Pack& a), tokitai::exp(a.v[e]))
  TK_PACK(Pack, exp_nonpositive, (const Pack& a), tokitai::exp_nonpositive(a.v[e]))
  TK_PACK(Pack, log, (const Pack& a), tokitai::log(a.v[e]))
  TK_PACK(Pack, tanh, (const Pack& a), tokitai::tanh(a.v[e]))
  TK_PACK(Pack, erf, (const Pack& a), tokitai::erf(a.v[e]))
  TK_PACK(Pack, maximum, (const Pack& a, const Pack& b), tokitai::maximum(a.v[e], b.v[e]))
  TK_PACK(Pack, larger, (const Pack& a, const Pack& b), tokitai::larger(a.v[e], b.v[e]))
  TK_PACK(PackMask<wide>, operator<, (const Pack& a, const Pack& b), a.v[e] < b.v[e])
  TK_PACK(PackMask<wide>, operator>, (const Pack& a, const Pack& b), a.v[e] > b.v[e])
  TK_PACK(PackMask<wide>, operator<=, (const Pack& a, const Pack& b), a.v[e] <= b.v[e])
  TK_PACK(PackMask<wide>, operator>=, (const Pack& a, const Pack& b), a.v[e] >= b.v[e])
  TK_PACK(PackMask<wide>, operator==, (const Pack& a, const Pack& b), a.v[e] == b.v[e])
  TK_PACK(PackMask<wide>, operator!=, (const Pack& a, const Pack& b), a.v[e] != b.v[e])
  TK_PACK(Pack, select, (const PackMask<wide>& m, const Pack& yes, const Pack& no), m.v[e] ? yes.v[e] : no.v[e])
  TK_PACK(Pack, select, (bool condition, const Pack& yes, const Pack& no), condition ? yes.v[e] : no.v[e])
#undef TK_PACK
};

}  // namespace tokitai::device
