// Tensor cores. A product reads shared memory, and its sums are there, at the wait that covers it; until then the
// thread sees other bits in their place. The last of a group of 32 threads to wait multiplies for all: 16 rows.
#include <algorithm>
#include <array>
#include <cstring>

#include "machines/lockstep/pass.h"
#include "machines/lockstep/words.h"
#include "numerics/half.h"
#include "numerics/hopper.h"

namespace tokitai::lockstep {
namespace {

constexpr std::uint32_t kOnItsWay = 0x7fa5a5a5;  // a NaN, and a large integer
constexpr int kRows = 16, kMostCols = 256;

// Where the copy engine put a byte of a line.
std::int64_t crossed(std::int64_t at) { return at ^ (at / 128 % 8) * 16; }

// A factor's lines, `first` to `first + lines` of them, 32 bytes each of the contracted index.
struct Lines {
  Block& block;
  std::int64_t at;
  bool along;  // boxes of 64 lines: 16 of the contracted index, 128 bytes each

  std::int64_t half(int line, int k) const {
    return crossed(along ? at + line / 64 * 8192 + k * 128 + line % 64 * 2 : at + line * 128 + k * 2);
  }
  // Checked as the current thread's reads; false: they may not be made.
  bool read(int first, int lines) const {
    if (!along) {
      for (int line = first; line < first + lines; ++line)
        if (!piece(half(line, 0) & ~std::int64_t{31}, 32)) return false;
      return true;
    }
    for (int line = first; line < first + lines; line += std::min(lines, 64))
      for (int k = 0; k < 16; ++k)
        if (const int bytes = 2 * std::min(lines, 64); !piece(half(line, k) & ~(std::int64_t{bytes} - 1), bytes))
          return false;
    return true;
  }

 private:
  bool piece(std::int64_t from, int bytes) const {
    if (locate_shared(block, from, bytes, kPieceAlignment) == nullptr) return false;
    Cell* cells = block.cells.get() + from / 2;
    if ((cells->write & kEngine) == 0) check_fenced(block, from, bytes);
    pass<Sort::read>(
        cells, bytes / 2, state->thread->block->settled_shared, block.start, [&] { return shared_place(from, block); },
        true);
    return true;
  }
  static constexpr int kPieceAlignment = 16;
};

// Which of a group's sums one is: a lane, and a number there.
int lane_of(int row, int col) { return row % 8 * 4 + col % 8 / 2; }
int number_of(int row, int col) { return col / 8 * 4 + row / 8 * 2 + col % 2; }

using Sums = std::array<std::uint32_t*, 32>;  // of each lane

struct Halves {
  float value[kMostCols][16];
  int exponent[kMostCols][16];
};
void widen(const Lines& from, int first, int lines, bool bf16, Halves& to) {
  const int smallest = bf16 ? hopper::kSmallestBf16 : hopper::kSmallestF16;
  for (int line = 0; line < lines; ++line)
    for (int k = 0; k < 16; ++k) {
      std::uint16_t raw;
      std::memcpy(&raw, from.block.shared.get() + from.half(first + line, k), 2);
      const float v = bf16 ? widen_bf16(raw) : widen_f16(raw);
      to.value[line][k] = v;
      to.exponent[line][k] = hopper::quick_exponent(v, smallest);
    }
}

float add_products(const Halves& left, int row, const Halves& right, int col, float c, int smallest) {
  const float *a = left.value[row], *b = right.value[col];
  int largest = hopper::quick_exponent(c, hopper::kSmallestF32);
  for (int k = 0; k < 16; ++k) largest = std::max(largest, left.exponent[row][k] + right.exponent[col][k]);
  if (!hopper::is_quick(largest)) return hopper::add_group(a, b, 16, c, smallest);
  int total = 0;
  for (int k = 0; k < 16; ++k) total += hopper::quick_term(a[k] * b[k], largest);
  return hopper::truncated(std::int64_t{total} + hopper::quick_term(c, largest), hopper::quick_largest(largest));
}

void multiply_halves(const Lines& a, const Lines& b, int first, int cols, bool bf16, bool accumulate,
                     const Sums& sums) {
  static thread_local Halves left, right;
  const int smallest = bf16 ? hopper::kSmallestBf16 : hopper::kSmallestF16;
  widen(a, first, kRows, bf16, left);
  widen(b, 0, cols, bf16, right);
  for (int col = 0; col < cols; ++col)
    for (int row = 0; row < kRows; ++row) {
      std::uint32_t& sum = sums[static_cast<std::size_t>(lane_of(row, col))][number_of(row, col)];
      sum = bits(add_products(left, row, right, col, accumulate ? from_bits(sum) : 0.0f, smallest));
    }
}

void multiply_bytes(const Lines& a, const Lines& b, int first, int cols, bool accumulate, const Sums& sums) {
  const auto line_of = [](const Lines& from, int line, std::int8_t(&to)[32]) {
    for (int k = 0; k < 16; k += 8) std::memcpy(to + 2 * k, from.block.shared.get() + from.half(line, k), 16);
  };
  std::int8_t left[kRows][32], right[32];
  for (int row = 0; row < kRows; ++row) line_of(a, first + row, left[row]);
  for (int col = 0; col < cols; ++col) {
    line_of(b, col, right);
    for (int row = 0; row < kRows; ++row) {
      std::uint32_t& sum = sums[static_cast<std::size_t>(lane_of(row, col))][number_of(row, col)];
      int total = 0;
      for (int k = 0; k < 32; ++k) total += left[row][k] * right[k];
      sum = (accumulate ? sum : 0u) + static_cast<std::uint32_t>(total);
    }
  }
}

HeldSums* held_by(Thread& thread, const void* sums) {
  const auto at =
      std::find_if(thread.held.begin(), thread.held.end(), [&](const HeldSums& h) { return h.sums == sums; });
  return at == thread.held.end() ? nullptr : &*at;
}

std::size_t covered(const Thread& thread, int pending) {
  return static_cast<std::size_t>(std::count_if(thread.products.begin(), thread.products.end(), [&](const Product& p) {
    return p.group < thread.multiply_commits - pending;
  }));
}

// What a product of a group of 32 multiplies: 16 rows of its left factor.
struct Factors {
  Lines a, b;
  int rows, cols;

  Factors(const Thread& first, const Product& p)
      : a{*first.block, static_cast<std::int64_t>(p.a), (p.form & kLeftAlong) != 0},
        b{*first.block, static_cast<std::int64_t>(p.b), (p.form & kRightAlong) != 0},
        rows(first.index / 32 % 4 * kRows),
        cols(2 * p.count) {}
  bool read() const { return a.read(rows, kRows) && b.read(0, cols); }
};

// One product of a group of 32, whose sums are `count` a thread.
void run_product(Thread* first, std::size_t number) {
  const Product p = first->products[number];
  const Factors f(*first, p);
  if (!f.read()) return;
  Sums sums;
  for (std::size_t lane = 0; lane < 32; ++lane)
    sums[lane] = held_by(first[lane], first[lane].products[number].sums)->words.data();
  if ((p.form & kByteProducts) != 0)
    multiply_bytes(f.a, f.b, f.rows, f.cols, p.accumulate, sums);
  else
    multiply_halves(f.a, f.b, f.rows, f.cols, (p.form & kBf16Products) != 0, p.accumulate, sums);
}

// All 32 wait: every product that the wait covers is made, the memory read by the first of them.
void run_products(Thread* first, int pending) {
  State& s = *state;
  Thread* const last = s.thread;
  s.thread = first;
  const std::size_t count = covered(*first, pending);
  bool alike = true;
  for (Thread* t = first; t != first + 32; ++t) {
    alike = alike && covered(*t, pending) == count;
    for (std::size_t i = 0; i < count && alike; ++i) {
      const Product &p = t->products[i], &q = first->products[i];
      alike = p.count == q.count && p.form == q.form && p.a == q.a && p.b == q.b && p.accumulate == q.accumulate;
    }
  }
  if (!alike) found(Finding::divergent_barrier, "a product", "is not the same in all threads of a group of 32");
  for (std::size_t i = 0; i < count && alike; ++i) run_product(first, i);
  for (Thread* t = first; t != first + 32; ++t) {
    t->products.erase(t->products.begin(), t->products.begin() + static_cast<std::ptrdiff_t>(covered(*t, pending)));
    std::erase_if(t->held, [&](const HeldSums& h) {
      if (std::any_of(t->products.begin(), t->products.end(), [&](const Product& p) { return p.sums == h.sums; }))
        return false;
      std::memcpy(h.sums, h.words.data(), h.words.size() * 4);
      return true;
    });
    t->multiply_fenced = false;
  }
  s.thread = last;
}

}  // namespace

void multiply(void* sums, int count, int form, std::uint64_t a, std::uint64_t b, bool accumulate) {
  count_access();
  Thread& me = *state->thread;
  if (held_by(me, sums) == nullptr) {
    if (!me.multiply_fenced)
      found(Finding::race, "a product", "takes sums that the thread changed: multiply_fence comes first");
    me.multiply_fenced = false;
    std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
    std::memcpy(words.data(), sums, words.size() * 4);
    me.held.push_back({sums, std::move(words)});
    for (int i = 0; i < count; ++i) std::memcpy(static_cast<std::byte*>(sums) + 4 * i, &kOnItsWay, 4);
  }
  me.products.push_back({sums, count, form, a, b, accumulate, me.multiply_commits});
  // On a GPU it may begin at once, and end as late as the wait: both must find the factors there.
  if (me.index % 32 == 0) static_cast<void>(Factors(me, me.products.back()).read());
}
void multiply_fence() { state->thread->multiply_fenced = true; }
void multiply_commit() { ++state->thread->multiply_commits; }
void multiply_wait(int pending) {
  ++state->progress;
  meet(At::multiply_wait, run_products, pending);
}

}  // namespace tokitai::lockstep
