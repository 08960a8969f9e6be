// The elements of a sum over a list: each is a term of the chain of its canonical lane, in the block that begins with
// its tensor, and each block has its place in a chain.
#include "patterns/reduction.h"

#include "proofs/claims.h"
#include "proofs/limits.h"

namespace tokitai::proofs {
namespace {

// A term of a block: the thread of its group, a chunk, a part of the lanes, an element of the vector.
struct Term {
  Long block;
  Int chunk, part, thread, element;
};

class Sums {
 public:
  Sums(const ListSums& part, const Functions& functions, Report& to)
      : p(part), parts(kLanes / (32 * part.wide)), f(functions), report(to) {}

  // As the kernel finds the first element of a block, and a vector in it.
  Long begin(const Long& block, const Long& first) const {
    return f.piece_begin(block, first, kChunks, kLanes / p.wide, p.wide);
  }
  Long vector(const Long& begin, const Term& t) const {
    return f.summed_vector(begin, t.chunk, t.part, t.thread, p.wide);
  }
  Term any(Scope& s) const {
    return {s.any<i64>("block", 0, kMostElements), s.any<int>("chunk", 0, kChunks), s.any<int>("part", 0, parts),
            s.any<int>("thread", 0, p.threads), s.any<int>("element", 0, p.wide)};
  }

  void order() const {
    Scope s(report);
    const Long length = s.any<i64>("length", 1, kMostElements), first = s.any<i64>("first_block", 0, kMostElements);
    const Term t = any(s);
    s.assume(*t.block >= *first && *t.block < *first + *device::pieces_of(length, kBlock));
    const Long from = begin(t.block, first);
    const z3::expr x = *vector(from, t) + *t.element;
    s.claim("a block begins a multiple of 2048 behind its tensor's begin", *from == (*t.block - *first) * kBlock);
    s.claim("no element is summed twice: block, chunk and lane follow from it",
            x / kBlock == *t.block - *first && z3::mod(x, kBlock) / kLanes == *t.chunk &&
                z3::mod(x, kLanes) / (32 * p.wide) == *t.part &&
                z3::mod(x, 32 * p.wide) / p.wide == z3::mod(*t.thread, 32) && z3::mod(x, p.wide) == *t.element);
    s.claim("accesses of a whole vector are multiples of it", z3::mod(*vector(from, t), p.wide) == 0);
    const Long left = f.left_of(length, vector(from, t));
    s.claim("guarded terms lie in the tensor",
            z3::implies(*left > 0 && *t.element < *f.at_most(left, p.wide), x >= 0 && x < *length));
    s.claim("a block that is whole has every term", z3::implies(*length - *from >= kBlock, x < *length));
    s.claim_arithmetic("no index of a term leaves its type");
  }
  void every() const {
    Scope s(report);
    const Long length = s.any<i64>("length", 1, kMostElements), first = s.any<i64>("first_block", 0, kMostElements);
    const Long x = s.any<i64>("position", 0, kMostElements);
    const Int group = s.any<int>("group", 0, p.threads / 32);
    s.assume(*x < *length);
    const Term t{s.symbol<i64>(*first + *x / kBlock), s.symbol<int>(z3::mod(*x, kBlock) / kLanes),
                 s.symbol<int>(z3::mod(*x, kLanes) / (32 * p.wide)),
                 s.symbol<int>(*group * 32 + z3::mod(*x, 32 * p.wide) / p.wide), s.symbol<int>(z3::mod(*x, p.wide))};
    const Long at = vector(begin(t.block, first), t);
    const Long left = f.left_of(length, at);
    s.claim("every element is summed, whichever group has its block",
            *t.block < *first + *device::pieces_of(length, kBlock) && *at + *t.element == *x && *left > 0 &&
                *t.element < *f.at_most(left, p.wide));
  }
  void chains() const {
    Scope s(report);
    const int groups = p.threads / 32;
    const Int turn = s.any<int>("turn", 0, kChain / groups), group = s.any<int>("group", 0, groups);
    const z3::expr r = *f.block_in_chain(turn, group, groups);
    s.claim("a chain's blocks are each taken by one group, in one turn",
            r >= 0 && r < kChain && r / groups == *turn && z3::mod(r, groups) == *group);
    s.claim_arithmetic("no place in a chain leaves its type");
    Scope t(report);
    const z3::expr values = t.number(f.chain_byte()), word = t.number(f.last_byte());
    t.claim("the values of a chain and the word behind them lie in shared memory, apart",
            values == 0 && word >= values + kChain * 4 && z3::mod(word, t.number(4)) == 0 &&
                word + 4 <= t.number(p.shared_bytes));
  }

 private:
  const ListSums& p;
  const int parts;
  const Functions& f;
  Report& report;
};

}  // namespace

void claim(const ListSums& part, const Functions& f, Report& report) {
  const Sums sums(part, f, report);
  sums.order();
  sums.every();
  sums.chains();
}

}  // namespace tokitai::proofs
