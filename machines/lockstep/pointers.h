// Pointers that check: what a kernel's accesses come down to on the lockstep machine.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "machines/lockstep/words.h"

#ifndef TK_FN
#define TK_FN inline __attribute__((always_inline))
#endif

namespace tokitai::device {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

// What p[i] is: a read where a value is wanted, a write where it is assigned to.
template <class Pointer> class Slot {
  using T = typename Pointer::Element;
  using Value = std::remove_const_t<T>;

 public:
  TK_FN explicit Slot(Pointer p) : p_(p) {}
  Slot(const Slot&) = default;
  TK_FN operator Value() const { return p_.load(); }
  TK_FN const Slot& operator=(const Value& v) const {
    p_.store(v);
    return *this;
  }
  TK_FN const Slot& operator=(const Slot& other) const { return *this = static_cast<Value>(other); }
  template <class Other> TK_FN const Slot& operator=(const Slot<Other>& other) const {
    return *this = static_cast<Value>(other);
  }
  TK_FN const Slot& operator+=(const Value& v) const { return *this = static_cast<Value>(p_.load() + v); }
  TK_FN const Slot& operator-=(const Value& v) const { return *this = static_cast<Value>(p_.load() - v); }
  TK_FN const Slot& operator|=(const Value& v) const { return *this = static_cast<Value>(p_.load() | v); }
#if defined(TK_LOCKSTEP_LIBRARY)
  void operator&() const = delete;  // a kernel has no pointer that it could count on from
#else
  TK_FN Pointer operator&() const { return p_; }
#endif

 private:
  Pointer p_;
};

// Pointer arithmetic, once for both memories. Self has `address_`, a number of bytes.
template <template <class> class Memory, class T, class Address> class Pointer {
  using Self = Memory<T>;
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(sizeof(T) % 2 == 0, "two bytes are the smallest access the shadow memory tells apart");

 public:
  using Element = T;
  TK_FN Slot<Self> operator*() const { return Slot<Self>(self()); }
  TK_FN Slot<Self> operator[](i64 i) const { return Slot<Self>(self() + i); }
  TK_FN Self& operator+=(i64 by) {
    address_ += static_cast<Address>(by * static_cast<i64>(sizeof(T)));
    return static_cast<Self&>(*this);
  }
  TK_FN Self& operator-=(i64 by) { return *this += -by; }
  TK_FN Self& operator++() { return *this += 1; }
  TK_FN friend Self operator+(Self p, i64 by) { return p += by; }
  TK_FN friend Self operator+(i64 by, Self p) { return p += by; }
  TK_FN friend Self operator-(Self p, i64 by) { return p -= by; }
  TK_FN friend i64 operator-(const Self& a, const Self& b) {
    return static_cast<i64>(a.address_ - b.address_) / static_cast<i64>(sizeof(T));
  }
  TK_FN friend bool operator==(const Self& a, const Self& b) { return a.address_ == b.address_; }
  TK_FN friend bool operator<(const Self& a, const Self& b) { return a.address_ < b.address_; }
  TK_FN Address address() const { return address_; }

 protected:
  TK_FN explicit Pointer(Address address) : address_(address) {}
  TK_FN static std::remove_const_t<T> read(const void* p) {
    std::remove_const_t<T> v{};
    if (p != nullptr) std::memcpy(&v, p, sizeof(T));
    return v;
  }
  TK_FN static void write(void* p, const T& v) {
    if (p != nullptr) std::memcpy(p, &v, sizeof(T));
  }
  Address address_;

 private:
  TK_FN const Self& self() const { return static_cast<const Self&>(*this); }
};

// CheckedGlobal memory: an address and the operand it was made from, which it may not leave.
template <class T> class CheckedGlobal : public Pointer<CheckedGlobal, T, std::uintptr_t> {
  using Base = Pointer<tokitai::device::CheckedGlobal, T, std::uintptr_t>;

 public:
  TK_FN CheckedGlobal() : Base(0) {}
  TK_FN CheckedGlobal(std::nullptr_t) : Base(0) {}
  TK_FN CheckedGlobal(std::uintptr_t address, lockstep::Allocation* range) : Base(address), range_(range) {}
  TK_FN operator CheckedGlobal<const T>() const
    requires(!std::is_const_v<T>)
  {
    return {this->address_, range_};
  }
  TK_FN explicit operator bool() const { return this->address_ != 0; }
  TK_FN friend bool operator==(const CheckedGlobal& p, std::nullptr_t) { return p.address_ == 0; }
  TK_FN std::remove_const_t<T> load() const {
    return Base::read(lockstep::read_global(range_, this->address_, sizeof(T), alignof(T)));
  }
  TK_FN std::remove_const_t<T> load_constant() const {
    return Base::read(lockstep::read_constant(range_, this->address_, sizeof(T), alignof(T)));
  }
  TK_FN void store(const T& v) const {
    Base::write(lockstep::write_global(range_, this->address_, sizeof(T), alignof(T)), v);
  }
  TK_FN lockstep::Allocation* range() const { return range_; }

 private:
  lockstep::Allocation* range_ = nullptr;
};

// CheckedShared memory: a byte of the block's own.
template <class T> class CheckedShared : public Pointer<CheckedShared, T, i64> {
  using Base = Pointer<tokitai::device::CheckedShared, T, i64>;

 public:
  TK_FN CheckedShared() : Base(kNull) {}
  TK_FN CheckedShared(std::nullptr_t) : Base(kNull) {}
  TK_FN explicit CheckedShared(i64 byte) : Base(byte) {}
  TK_FN operator CheckedShared<const T>() const
    requires(!std::is_const_v<T>)
  {
    return CheckedShared<const T>(this->address_);
  }
  TK_FN explicit operator bool() const { return this->address_ != kNull; }
  TK_FN friend bool operator==(const CheckedShared& p, std::nullptr_t) { return p.address_ == kNull; }
  TK_FN std::remove_const_t<T> load() const {
    return Base::read(lockstep::read_shared(this->address_, sizeof(T), alignof(T)));
  }
  TK_FN void store(const T& v) const { Base::write(lockstep::write_shared(this->address_, sizeof(T), alignof(T)), v); }

 private:
  static constexpr i64 kNull = i64{-1} << 40;
};

}  // namespace tokitai::device
