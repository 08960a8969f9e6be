// Places and memory as kernels see them on the lockstep machine: an access takes a place of its own space and nothing
// else, and only the proved functions make places. The list of friends below is the list of all of them.
// A kernel's text is compiled for GPUs too, where none of these classes exists, so that it cannot name them either.
#pragma once
#include <cstdint>
#include <type_traits>

#include "compiler/fragment.h"
#include "machines/device/access.h"
#include "machines/lockstep/pointers.h"

namespace tokitai::device {

template <class Space, class I> class Place;
template <class P> inline constexpr bool is_place = false;
template <class Space, class I> inline constexpr bool is_place<Place<Space, I>> = true;
template <class P>
concept Made = is_place<P>;
template <class I> using CounterOf = Place<Counted, I>;
using Counter = CounterOf<int>;
template <class I> struct ColumnPlace;
template <class L> struct SortSpaceOf;
struct RowPlan;
struct ProductPlan;
struct FragmentPlan;
TK_FN constexpr i64 as_long(int v) { return v; }
TK_FN constexpr int as_int(i64 v) { return static_cast<int>(v); }

// Spaces whose places may also be constants of the text.
template <class Space> inline constexpr bool fixed = false;
template <> inline constexpr bool fixed<Counted> = true;
template <> inline constexpr bool fixed<Existing> = true;
template <> inline constexpr bool fixed<InList> = true;
template <> inline constexpr bool fixed<InTile> = true;
template <> inline constexpr bool fixed<Span> = true;
template <> inline constexpr bool fixed<Rank> = true;
template <class Space> inline constexpr bool fixed<Step<Space>> = true;

template <class Space, class Number> class Place {
 public:
  constexpr Place() = default;  // nowhere: an access there is out of bounds
  consteval Place(Number constant)
    requires(fixed<Space>)
      : value_(constant) {}
  constexpr Place(const Place<Given<Space>, Number>& other) : value_(other) {}
  template <class Other>
    requires(sizeof(Other) < sizeof(Number))
  constexpr Place(const Place<Space, Other>& other) : value_(other) {}

  // In arithmetic and comparisons it is its number. What comes out of arithmetic is no place.
  constexpr operator Number() const { return value_; }
  // What loops do: count, and step by what is proved.
  TK_FN constexpr Place& operator++()
    requires(std::is_same_v<Space, Counted> || std::is_same_v<Space, Row>)
  {
    ++value_;
    return *this;
  }
  TK_FN constexpr Place operator++(int)
    requires(std::is_same_v<Space, Counted>)
  {
    const Place before = *this;
    ++value_;
    return before;
  }
  TK_FN constexpr Place& operator--()
    requires(std::is_same_v<Space, Counted>)
  {
    --value_;
    return *this;
  }
  TK_FN constexpr Place& operator+=(const Place<Step<Space>, Number>& by) {
    value_ += by;
    return *this;
  }

 private:
  constexpr Place(Number value)
    requires(!fixed<Space>)
      : value_(value) {}
#include "machines/lockstep/makers.inc"

  Number value_ = Number{-1} << 30;
};

// Where a buffer begins, and what it may be indexed by; none: it holds one value.
template <class P, class... Spaces> class Address {
 public:
  Address() = default;
  TK_FN const void* pointer() const { return pointer_; }
  TK_FN std::uintptr_t number() const { return reinterpret_cast<std::uintptr_t>(pointer_); }

 private:
  P pointer_;
};

// Several addresses at once, of which only this can be asked.
class Multiples {
 public:
  TK_FN Multiples& operator|=(const Multiples& other) {
    bits_ |= other.bits_;
    return *this;
  }
  TK_FN friend u64 operator%(const Multiples& a, u64 of) { return a.bits_ % of; }

 private:
  u64 bits_ = 0;
};

// One place of memory, and the vector that begins there.
template <class Checked> class Spot {
 public:
  Spot() = default;
  TK_FN explicit Spot(Checked p) : p_(p) {}
  template <class Other>
    requires(std::is_convertible_v<Other, Checked>)
  TK_FN Spot(const Spot<Other>& other) : p_(other.checked()) {}
  TK_FN Slot<Checked> operator*() const { return *p_; }
  TK_FN Slot<Checked> operator[](Counter i) const { return p_[static_cast<int>(i)]; }
  TK_FN friend Spot operator+(const Spot& p, Counter i) { return Spot(p.p_ + static_cast<int>(i)); }
  TK_FN Spot& operator+=(const Place<Step<Row>, i64>& by) {
    p_ += by;
    return *this;
  }
  TK_FN const Checked& checked() const { return p_; }

 private:
  Checked p_;
};

// Memory that places of one space index.
template <class Checked, class Space> class Region {
 public:
  Region() = default;
  TK_FN explicit Region(Checked p) : p_(p) {}
  template <class Other>
    requires(std::is_convertible_v<Other, Checked>)
  TK_FN Region(const Region<Other, Space>& other) : p_(other.checked()) {}
  template <class I> TK_FN Slot<Checked> operator[](const Place<Space, I>& i) const { return p_[static_cast<I>(i)]; }
  template <class I> TK_FN Slot<Checked> operator[](const Place<Given<Space>, I>& i) const {
    return p_[static_cast<I>(i)];
  }
  TK_FN Slot<Checked> operator[](Counter i) const
    requires(std::is_same_v<Space, Counted>)
  {
    return p_[static_cast<int>(i)];
  }
  template <class I> TK_FN friend Spot<Checked> operator+(const Region& p, const Place<Space, I>& i) {
    return Spot<Checked>(p.p_ + static_cast<I>(i));
  }
  TK_FN friend Spot<Checked> operator+(const Region& p, Counter i)
    requires(std::is_same_v<Space, Counted>)
  {
    return Spot<Checked>(p.p_ + static_cast<int>(i));
  }
  template <class Part, class I>
  TK_FN friend Region<Checked, Part> operator+(const Region& p, const Place<Begin<Part>, I>& begin) {
    return Region<Checked, Part>(p.p_ + static_cast<I>(begin));
  }
  TK_FN const Checked& checked() const { return p_; }

 private:
  Checked p_;
};

template <class T, class Space> using Global = Region<CheckedGlobal<T>, Space>;
template <class T, class Space> using Shared = Region<CheckedShared<T>, Space>;
template <class T> using GlobalSpot = Spot<CheckedGlobal<T>>;
template <class T> using SharedSpot = Spot<CheckedShared<T>>;

}  // namespace tokitai::device
