// The numbers of the describe machine: no value, only how often they were worked on. They have the whole algebra of
// values and no way to a bool, so a definition that branches on what lies in memory does not compile.
#pragma once
#include <concepts>
#include <cstdint>

namespace tokitai::describing {

// Operations are counted while a definition speaks of one element: what it does once per row is not worth counting.
struct Tally {
  std::int64_t operations = 0;
  bool counts = false;
};

// What one of these is made of (numerics/elementary.h); a fused multiply-add is two.
inline constexpr int kFma = 2, kExp = 21, kLog = 28, kTanh = 40, kErf = 40;

class Answer;  // of a comparison

class Traced {
 public:
  Traced() = default;
  Traced(float) {}  // NOLINT(google-explicit-constructor): constants of a definition
  // On some machines a number is a float, which a double would widen: 0.1f, never 0.1.
  template <std::same_as<double> Double> Traced(Double) = delete;  // NOLINT(google-explicit-constructor)
  explicit Traced(Tally* tally) : tally_(tally) {}

  friend Traced operator-(Traced a) { return a; }
  friend Traced operator+(Traced a, Traced b) { return made(1, a, b); }
  friend Traced operator-(Traced a, Traced b) { return made(1, a, b); }
  friend Traced operator*(Traced a, Traced b) { return made(1, a, b); }
  friend Traced operator/(Traced a, Traced b) { return made(1, a, b); }
  friend Traced fma(Traced a, Traced b, Traced c) { return made(kFma, made(0, a, b), c); }
  friend Traced sqrt(Traced a) { return made(1, a, a); }
  friend Traced exp(Traced a) { return made(kExp, a, a); }
  friend Traced exp_nonpositive(Traced a) { return exp(a); }
  friend Traced log(Traced a) { return made(kLog, a, a); }
  friend Traced tanh(Traced a) { return made(kTanh, a, a); }
  friend Traced erf(Traced a) { return made(kErf, a, a); }
  friend Traced maximum(Traced a, Traced b) { return made(1, a, b); }
  friend Traced larger(Traced a, Traced b) { return made(1, a, b); }
  friend Answer operator<(Traced a, Traced b);
  friend Answer operator>(Traced a, Traced b);
  friend Answer operator<=(Traced a, Traced b);
  friend Answer operator>=(Traced a, Traced b);
  friend Answer operator==(Traced a, Traced b);
  friend Answer operator!=(Traced a, Traced b);

  // What comes of two numbers, with so many operations.
  static Traced made(int operations, Traced a, Traced b) {
    Tally* tally = a.tally_ != nullptr ? a.tally_ : b.tally_;
    if (tally != nullptr && tally->counts) tally->operations += operations;
    return Traced(tally);
  }

 private:
  Tally* tally_ = nullptr;
};

class Answer {
 public:
  Answer(Traced a, Traced b) : of_(Traced::made(1, a, b)) {}
  friend Answer operator!(Answer a) { return a; }
  friend Answer operator&(Answer a, Answer b) { return {a.of_, b.of_}; }
  friend Answer operator|(Answer a, Answer b) { return {a.of_, b.of_}; }
  friend Traced select(Answer condition, Traced yes, Traced no) {
    return Traced::made(1, Traced::made(0, condition.of_, yes), no);
  }

 private:
  Traced of_;
};

inline Traced select(bool, Traced yes, Traced no) { return yes + no; }
inline Answer operator&(bool, Answer a) { return a; }
inline Answer operator|(bool, Answer a) { return a; }
inline Answer operator<(Traced a, Traced b) { return {a, b}; }
inline Answer operator>(Traced a, Traced b) { return {a, b}; }
inline Answer operator<=(Traced a, Traced b) { return {a, b}; }
inline Answer operator>=(Traced a, Traced b) { return {a, b}; }
inline Answer operator==(Traced a, Traced b) { return {a, b}; }
inline Answer operator!=(Traced a, Traced b) { return {a, b}; }

// An integer that lies in memory: it may be compared and be an index, and has no value to branch on either.
class Whole {
 public:
  explicit Whole(Tally* tally) : of_(tally) {}
  friend Answer operator<(Whole a, std::int64_t) { return a.compared(); }
  friend Answer operator>(Whole a, std::int64_t) { return a.compared(); }
  friend Answer operator<=(Whole a, std::int64_t) { return a.compared(); }
  friend Answer operator>=(Whole a, std::int64_t) { return a.compared(); }
  friend Answer operator==(Whole a, std::int64_t) { return a.compared(); }
  friend Answer operator!=(Whole a, std::int64_t) { return a.compared(); }
  friend Whole operator%(Whole a, std::int64_t) { return a; }

 private:
  Answer compared() const { return {of_, of_}; }
  Traced of_;
};

}  // namespace tokitai::describing
