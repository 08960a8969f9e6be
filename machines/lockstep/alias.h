// The words of machines/device/alias.h for threads that are fibers on the CPU. Each stands for one operation of a
// GPU; that it behaves as said here is what every result of the lockstep machine assumes.
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
#ifndef TK_KERNEL  // a file that holds kernels of names that others hold too says `static void`
#define TK_KERNEL(threads, blocks) extern "C" __attribute__((visibility("default"))) void
#endif
#define TK_ARGUMENT const
#define TK_UNROLL

#include "numerics/half.h"

namespace tokitai::device {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

// What p[i] is: a read where a value is wanted, a write where it is assigned to.
template <class Pointer> class Place {
  using T = typename Pointer::Element;
  using Value = std::remove_const_t<T>;

 public:
  TK_FN explicit Place(Pointer p) : p_(p) {}
  Place(const Place&) = default;
  TK_FN operator Value() const { return p_.load(); }
  TK_FN const Place& operator=(const Value& v) const {
    p_.store(v);
    return *this;
  }
  TK_FN const Place& operator=(const Place& other) const { return *this = static_cast<Value>(other); }
  template <class Other> TK_FN const Place& operator=(const Place<Other>& other) const {
    return *this = static_cast<Value>(other);
  }
  TK_FN const Place& operator+=(const Value& v) const { return *this = static_cast<Value>(p_.load() + v); }
  TK_FN const Place& operator-=(const Value& v) const { return *this = static_cast<Value>(p_.load() - v); }
  TK_FN const Place& operator|=(const Value& v) const { return *this = static_cast<Value>(p_.load() | v); }
  TK_FN Pointer operator&() const { return p_; }

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
  TK_FN Place<Self> operator*() const { return Place<Self>(self()); }
  TK_FN Place<Self> operator[](i64 i) const { return Place<Self>(self() + i); }
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

// Global memory: an address and the operand it was made from, which it may not leave.
template <class T> class Global : public Pointer<Global, T, std::uintptr_t> {
  using Base = Pointer<tokitai::device::Global, T, std::uintptr_t>;

 public:
  TK_FN Global() : Base(0) {}
  TK_FN Global(std::nullptr_t) : Base(0) {}
  TK_FN Global(std::uintptr_t address, lockstep::Allocation* range) : Base(address), range_(range) {}
  TK_FN operator Global<const T>() const
    requires(!std::is_const_v<T>)
  {
    return {this->address_, range_};
  }
  TK_FN explicit operator bool() const { return this->address_ != 0; }
  TK_FN friend bool operator==(const Global& p, std::nullptr_t) { return p.address_ == 0; }
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

// Shared memory: a byte of the block's own.
template <class T> class Shared : public Pointer<Shared, T, i64> {
  using Base = Pointer<tokitai::device::Shared, T, i64>;

 public:
  TK_FN Shared() : Base(kNull) {}
  TK_FN Shared(std::nullptr_t) : Base(kNull) {}
  TK_FN explicit Shared(i64 byte) : Base(byte) {}
  TK_FN operator Shared<const T>() const
    requires(!std::is_const_v<T>)
  {
    return Shared<const T>(this->address_);
  }
  TK_FN explicit operator bool() const { return this->address_ != kNull; }
  TK_FN friend bool operator==(const Shared& p, std::nullptr_t) { return p.address_ == kNull; }
  TK_FN std::remove_const_t<T> load() const {
    return Base::read(lockstep::read_shared(this->address_, sizeof(T), alignof(T)));
  }
  TK_FN void store(const T& v) const { Base::write(lockstep::write_shared(this->address_, sizeof(T), alignof(T)), v); }

 private:
  static constexpr i64 kNull = i64{-1} << 40;
};

template <class T> TK_FN Global<T> global(const void* p) {
  return {reinterpret_cast<std::uintptr_t>(p), lockstep::find(p)};
}
template <class T> TK_FN Shared<T> shared(int byte) { return Shared<T>(byte); }
template <class To, class From> TK_FN Global<To> cast(Global<From> p) { return {p.address(), p.range()}; }
template <class To, class From> TK_FN Shared<To> cast(Shared<From> p) { return Shared<To>(p.address()); }

TK_FN int thread_index() { return lockstep::thread_index(); }
TK_FN int block_index() { return lockstep::block_index(); }
TK_FN int grid_size() { return lockstep::grid_size(); }
TK_FN int cluster_rank() { return lockstep::cluster_rank(); }
TK_FN void barrier() { lockstep::barrier(); }
TK_FN void warp_barrier() { lockstep::warp_barrier(); }
TK_FN void cluster_barrier() { lockstep::cluster_barrier(); }
TK_FN void fence() { lockstep::fence(); }
TK_FN void wait_a_little() { lockstep::wait_a_little(); }
// Launches run one after the other here; that one which may overlap waits before it touches memory is checked.
TK_FN void await_earlier() { lockstep::await_earlier(); }
TK_FN void let_next_begin() {}
// An index that is written out, beside what the proved function says.
template <class T, class U> TK_FN T as_proved(const T& written, const U& proved) {
  lockstep::as_proved(written == proved);
  return written;
}

TK_FN u32 shuffle_xor(u32 v, int mask) { return lockstep::exchange(lockstep::Exchange::shuffle_xor, v, mask); }
TK_FN u32 shuffle(u32 v, int lane) { return lockstep::exchange(lockstep::Exchange::shuffle, v, lane); }
TK_FN u32 shuffle_up(u32 v, int by) { return lockstep::exchange(lockstep::Exchange::shuffle_up, v, by); }
TK_FN float shuffle_xor(float v, int mask) { return std::bit_cast<float>(shuffle_xor(std::bit_cast<u32>(v), mask)); }
TK_FN float shuffle(float v, int lane) { return std::bit_cast<float>(shuffle(std::bit_cast<u32>(v), lane)); }
TK_FN u32 ballot(bool yes) { return lockstep::ballot(yes); }
TK_FN int count_bits(u32 v) { return std::popcount(v); }

TK_FN float widen_half(u16 h) { return widen_f16(h); }
TK_FN u32 narrow_halves(float low, float high) {
  return static_cast<u32>(narrow_f16(low)) | static_cast<u32>(narrow_f16(high)) << 16;
}
TK_FN u32 narrow_bfloats(float low, float high) {
  return static_cast<u32>(narrow_bf16(low)) | static_cast<u32>(narrow_bf16(high)) << 16;
}

// The source may be const or not, so it takes no part in deduction.
template <int bytes, class T> TK_FN void copy_async(Shared<T> to, std::type_identity_t<Global<const T>> from) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what the copy engine can do");
  static_assert(bytes == sizeof(T), "one element, so that every target copies the same");
  lockstep::copy_async(to.address(), from.range(), from.address(), bytes);
}
TK_FN void copy_commit() { lockstep::copy_commit(); }
template <int pending> TK_FN void copy_wait() { lockstep::copy_wait(pending); }

template <class T> TK_FN T load_constant(Global<const T> p, i64 i) { return (p + i).load_constant(); }
template <class T>
  requires(!std::is_const_v<T>)
TK_FN T load_constant(Global<T> p, i64 i) {
  return (p + i).load_constant();
}

TK_FN void atomic_min(Global<u64> p, u64 v) { lockstep::atomic_min(p.range(), p.address(), v); }
TK_FN u32 atomic_add(Global<u32> p, u32 v) { return lockstep::atomic_add(p.range(), p.address(), v); }
TK_FN u32 load_fresh(Global<u32> p) { return lockstep::load_fresh(p.range(), p.address()); }

TK_FN void cluster_store(Shared<float> p, int rank, float v) {
  void* there = lockstep::write_cluster(p.address(), rank, sizeof(v), alignof(float));
  if (there != nullptr) std::memcpy(there, &v, sizeof(v));
}
// A mailbox orders what was sent to it before what is read after the wait: here a cluster barrier does, at which
// every thread of the cluster waits once per exchange. Its bytes and phases are counted as the hardware counts them.
using Mailbox = Shared<u64>;
TK_FN void mailbox_open(Mailbox m) { lockstep::mailbox_open(m.address()); }
TK_FN void mailbox_expect(Mailbox m, int bytes) { lockstep::mailbox_expect(m.address(), bytes); }
TK_FN void mailbox_send(Mailbox m, Shared<float> place, int rank, float v) {
  cluster_store(place, rank, v);
  lockstep::mailbox_arrive(m.address(), rank, sizeof(v));
}
TK_FN void mailbox_await(Mailbox m, u32 parity) { lockstep::mailbox_await(m.address(), parity); }

}  // namespace tokitai::device
