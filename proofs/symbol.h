// Integers that are formulas. A Symbol<int> or Symbol<i64> goes through the device's own index functions
// (machines/device/place_*.h) as an int or i64 does, with C++'s rules for the type of a result; what comes out is a
// formula over the integers. C++ and the integers agree as long as no result leaves its type and nothing negative is
// divided: every operation notes that, and the notes are a claim of their own.
#pragma once
#include <z3++.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tokitai::proofs {

using i64 = std::int64_t;

// What the operations on symbols left behind.
class Ledger {
 public:
  explicit Ledger(z3::context& c) : context(&c) {}
  z3::context* context;
  std::vector<z3::expr> notes;  // must hold, or C++ computes something else
  std::vector<z3::expr> facts;  // what a quotient and a remainder are, where the divisor is a symbol

  z3::expr number(i64 v) const { return context->int_val(v); }
  void note(const z3::expr& e) { notes.push_back(z3::implies(path(), e)); }
  template <class T> void note_range(const z3::expr& e) {
    note(e >= number(std::numeric_limits<T>::min()) && e <= number(std::numeric_limits<T>::max()));
  }
  // Quotient and remainder of non-negative n by positive d. By a constant the solver has words for them; by a symbol
  // they are two new numbers, the same ones whenever the same division is asked for.
  std::pair<z3::expr, z3::expr> divide(const z3::expr& n, const z3::expr& d);

  // What guards the text that runs now: notes need hold only there.
  z3::expr path() const {
    z3::expr all = context->bool_val(true);
    for (const z3::expr& guard : guards_) all = all && guard;
    return all;
  }
  template <class F> void under(const z3::expr& guard, F f) {
    guards_.push_back(guard);
    f();
    guards_.pop_back();
  }

 private:
  std::vector<z3::expr> guards_;
  std::map<std::pair<unsigned, unsigned>, std::pair<z3::expr, z3::expr>> divisions_;
};

// A comparison of symbols.
struct Truth {
  Ledger* ledger;
  z3::expr value;
  friend Truth operator&&(const Truth& a, const Truth& b) { return {a.ledger, a.value && b.value}; }
  friend Truth operator||(const Truth& a, const Truth& b) { return {a.ledger, a.value || b.value}; }
  friend Truth operator!(const Truth& a) { return {a.ledger, !a.value}; }
};

template <class T> class Symbol {
 public:
  using Type = T;
  Symbol(T literal) : literal_(literal) {}  // as a literal in the text: `I(0)`
  Symbol(Ledger& ledger, z3::expr value) : ledger_(&ledger), value_(std::move(value)) {}

  Ledger* ledger() const { return ledger_; }
  T literal() const { return literal_; }
  z3::expr value(Ledger& ledger) const { return value_ ? *value_ : ledger.number(literal_); }
  z3::expr operator*() const { return *value_; }

 private:
  T literal_ = 0;
  Ledger* ledger_ = nullptr;
  std::optional<z3::expr> value_;
};

template <class T> struct IsSymbol : std::false_type {};
template <class T> struct IsSymbol<Symbol<T>> : std::true_type {};
template <class A, class B>
concept Symbolic = (IsSymbol<A>::value && (IsSymbol<B>::value || std::is_integral_v<B>)) ||
                   (std::is_integral_v<A> && IsSymbol<B>::value);

template <class T> Symbol<T> symbol(const Symbol<T>& s) { return s; }
template <class T>
  requires std::is_integral_v<T>
Symbol<T> symbol(T literal) {
  return literal;
}
template <class T> using TypeOf = typename decltype(symbol(std::declval<T>()))::Type;
template <class A, class B> using Common = std::common_type_t<TypeOf<A>, TypeOf<B>>;

// Both operands as formulas, and what f makes of them.
template <class A, class B, class F> auto combine(const A& a, const B& b, F f) {
  const auto x = symbol(a);
  const auto y = symbol(b);
  Ledger& ledger = x.ledger() != nullptr ? *x.ledger() : *y.ledger();
  return f(ledger, x.value(ledger), y.value(ledger));
}
// Literals alone are computed with, as `literals` does.
template <class A, class B, class L, class F> Symbol<Common<A, B>> arithmetic(const A& a, const B& b, L literals, F f) {
  if (symbol(a).ledger() == nullptr && symbol(b).ledger() == nullptr)
    return literals(symbol(a).literal(), symbol(b).literal());
  return combine(a, b, [&](Ledger& ledger, const z3::expr& x, const z3::expr& y) {
    const z3::expr value = f(ledger, x, y);
    ledger.note_range<Common<A, B>>(value);
    return Symbol<Common<A, B>>(ledger, value);
  });
}

template <class A, class B>
  requires Symbolic<A, B>
auto operator+(const A& a, const B& b) {
  return arithmetic(a, b, std::plus<>(), [](Ledger&, const z3::expr& x, const z3::expr& y) { return x + y; });
}
template <class A, class B>
  requires Symbolic<A, B>
auto operator-(const A& a, const B& b) {
  return arithmetic(a, b, std::minus<>(), [](Ledger&, const z3::expr& x, const z3::expr& y) { return x - y; });
}
template <class A, class B>
  requires Symbolic<A, B>
auto operator*(const A& a, const B& b) {
  return arithmetic(a, b, std::multiplies<>(), [](Ledger&, const z3::expr& x, const z3::expr& y) { return x * y; });
}
template <class A, class B>
  requires Symbolic<A, B>
auto operator/(const A& a, const B& b) {
  return arithmetic(a, b, std::divides<>(),
                    [](Ledger& l, const z3::expr& x, const z3::expr& y) { return l.divide(x, y).first; });
}
template <class A, class B>
  requires Symbolic<A, B>
auto operator%(const A& a, const B& b) {
  return arithmetic(a, b, std::modulus<>(),
                    [](Ledger& l, const z3::expr& x, const z3::expr& y) { return l.divide(x, y).second; });
}
template <class A, class B, class F> Truth compare(const A& a, const B& b, F f) {
  return combine(a, b, [&](Ledger& l, const z3::expr& x, const z3::expr& y) { return Truth{&l, f(x, y)}; });
}
template <class A, class B>
  requires Symbolic<A, B>
Truth operator<(const A& a, const B& b) {
  return compare(a, b, [](const z3::expr& x, const z3::expr& y) { return x < y; });
}
template <class A, class B>
  requires Symbolic<A, B>
Truth operator<=(const A& a, const B& b) {
  return compare(a, b, [](const z3::expr& x, const z3::expr& y) { return x <= y; });
}
template <class A, class B>
  requires Symbolic<A, B>
Truth operator>(const A& a, const B& b) {
  return compare(a, b, [](const z3::expr& x, const z3::expr& y) { return x > y; });
}
template <class A, class B>
  requires Symbolic<A, B>
Truth operator>=(const A& a, const B& b) {
  return compare(a, b, [](const z3::expr& x, const z3::expr& y) { return x >= y; });
}
template <class A, class B>
  requires Symbolic<A, B>
Truth operator==(const A& a, const B& b) {
  return compare(a, b, [](const z3::expr& x, const z3::expr& y) { return x == y; });
}
template <class A, class B>
  requires Symbolic<A, B>
Truth operator!=(const A& a, const B& b) {
  return compare(a, b, [](const z3::expr& x, const z3::expr& y) { return x != y; });
}

// The words of machines/device/place.h.
template <class T> Symbol<T> choose(const Truth& condition, const Symbol<T>& yes, const Symbol<T>& no) {
  Ledger& ledger = *condition.ledger;
  return {ledger, z3::ite(condition.value, yes.value(ledger), no.value(ledger))};
}
// Of three bits each, bit by bit.
template <class T> Symbol<T> crossed(const Symbol<T>& a, const Symbol<T>& b) {
  return arithmetic(a, b, std::bit_xor<>(), [](Ledger& l, const z3::expr& x, const z3::expr& y) {
    l.note(x >= 0 && x < 8 && y >= 0 && y < 8);
    z3::expr all = l.number(0);
    for (const int bit : {1, 2, 4})
      all = all + z3::ite(z3::mod(x / bit, 2) == z3::mod(y / bit, 2), l.number(0), l.number(bit));
    return all;
  });
}
inline Symbol<int> as_int(const Symbol<i64>& v) {
  v.ledger()->note_range<int>(*v);
  return {*v.ledger(), *v};
}
inline Symbol<i64> as_long(const Symbol<int>& v) { return {*v.ledger(), *v}; }

}  // namespace tokitai::proofs
