// How a definition names what it works on: each operand, scalar and option is a small type that carries its
// position in the contract. A machine turns the name into memory; the definition never sees a pointer.
#pragma once

namespace tokitai {

template <int I> struct Storage {
  static constexpr int index = I;
};  // f16, bf16 or f32
template <int I> struct Single {
  static constexpr int index = I;
};  // f32
template <int I> struct StorageOrSingle {
  static constexpr int index = I;
};
template <int I> struct Floating {
  static constexpr int index = I;
};  // f16, bf16 or f32, whatever the others are
template <int I> struct Integer {
  static constexpr int index = I;
};  // i32 or i64
template <int I> struct Once {
  static constexpr int index = I;
};  // of a call over a list: one value for all its tensors, f32 or i64
template <int I> struct Scalar {
  static constexpr int index = I;
};  // binary32, derived on the host
template <int I> struct IntegerOption {
  static constexpr int index = I;
};

// In an operand's or an option's place: the definition has none.
struct Nothing {
  static constexpr int index = -1;
};

template <class Operand> struct Transposed {
  Operand operand;
};
template <class Operand> constexpr Transposed<Operand> transposed(Operand operand) { return {operand}; }
// A factor of a product: an operand, or one transposed.
template <class Operand> struct FactorOf {
  static constexpr int index = Operand::index;
  static constexpr bool transposed = false;
};
template <class Operand> struct FactorOf<Transposed<Operand>> {
  static constexpr int index = Operand::index;
  static constexpr bool transposed = true;
};

// The operators of one folder, for the machines to instantiate.
template <class... Definition> struct Family {};

// Whether a definition of the each pattern takes a list of tensors (`list`); else it takes one.
template <class D> inline constexpr bool kOverList = requires { requires D::list; };

namespace patterns {
struct Each {};
struct ListSum {};
struct Row {};
struct Segment {};
struct Tile {};
}  // namespace patterns

}  // namespace tokitai
