// Instructions by which a wave multiplies bytes by itself. Which element of A (i, k), B (k, j) and D (i, j) lies in
// which register of which lane is what NVIDIA's PTX ISA and AMD's instruction set documents say; nothing here asks how
// kernels use it. The last of a wave to come multiplies for all.
#include <cstring>

#include "compiler/fragment.h"
#include "machines/lockstep/pass.h"
#include "machines/lockstep/words.h"

namespace tokitai::lockstep {
namespace {

struct Spot {
  int lane, word, byte;
};
struct Instruction {
  int lanes, m, n, k;
  Spot (*a)(int i, int k);  // of B too, with its column for the row
  Spot (*d)(int i, int j);
  bool twice;  // the upper half of the lanes holds what the lower half does
};

constexpr Spot mma_factor(int line, int k) { return {line % 8 * 4 + k % 16 / 4, line / 8 + k / 16 * 2, k % 4}; }
constexpr Spot mma_right(int line, int k) { return {line * 4 + k % 16 / 4, k / 16, k % 4}; }
constexpr Spot mma_sum(int i, int j) { return {i % 8 * 4 + j / 2, i / 8 * 2 + j % 2, 0}; }
constexpr Spot four_bytes(int line, int k) { return {line + k / 4 * 16, 0, k % 4}; }
constexpr Spot eight_bytes(int line, int k) { return {line + k / 8 * 16, k % 8 / 4, k % 4}; }
constexpr Spot sixteen_bytes(int line, int k) { return {line, k / 4, k % 4}; }
constexpr Spot four_rows(int i, int j) { return {j + i / 4 * 16, i % 4, 0}; }
constexpr Spot eight_rows(int i, int j) { return {j + i / 8 * 16, i % 8, 0}; }
constexpr Spot every_second_row(int i, int j) { return {j + i % 2 * 16, i / 2, 0}; }

Instruction instruction_of(Fragment f) {
  switch (f) {
    case Fragment::mma: return {32, 16, 8, 32, mma_factor, mma_sum, false};
    case Fragment::mfma16: return {64, 16, 16, 16, four_bytes, four_rows, false};
    case Fragment::mfma32: return {64, 16, 16, 32, eight_bytes, four_rows, false};
    case Fragment::wmma11: return {32, 16, 16, 16, sixteen_bytes, every_second_row, true};
    case Fragment::wmma12: return {32, 16, 16, 16, eight_bytes, eight_rows, false};
    case Fragment::none:
    case Fragment::dot4: break;
  }
  return {};
}

int byte_of(const std::uint32_t* words, const Spot& at) {
  return static_cast<std::int8_t>(words[at.word] >> (8 * at.byte));
}

void run_fragments(Thread* first, int form) {
  const auto f = static_cast<Fragment>(form);
  const Instruction one = instruction_of(f);
  for (int lane = 0; lane < one.lanes; ++lane)
    if (first[lane].bytes.form != form) {
      found(Finding::divergent_barrier, "a product of bytes", "is not the same in all threads of a wave");
      return;
    }
  if (one.twice)
    for (int lane = 0; lane < one.lanes / 2; ++lane) {
      const Bytes &low = first[lane].bytes, &high = first[lane + one.lanes / 2].bytes;
      if (std::memcmp(low.a, high.a, 16) != 0 || std::memcmp(low.b, high.b, 16) != 0) {
        found(Finding::divergent_barrier, "a product of bytes", "takes other factors in the upper half of a wave");
        return;
      }
    }
  const auto right = f == Fragment::mma ? mma_right : one.a;
  for (int i = 0; i < one.m; ++i)
    for (int j = 0; j < one.n; ++j) {
      int total = 0;
      for (int k = 0; k < one.k; ++k) {
        const Spot a = one.a(i, k), b = right(j, k);
        total += byte_of(first[a.lane].bytes.a, a) * byte_of(first[b.lane].bytes.b, b);
      }
      const Spot d = one.d(i, j);
      first[d.lane].bytes.sums[d.word] += total;
    }
}

// Four matrices of eight lines of 16 bytes: lane l has brought line l % 8 of matrix l / 8, and gets word l % 4 of line
// l / 4 of each.
void run_matrices(Thread* first, int) {
  std::uint32_t brought[32][4];
  for (int lane = 0; lane < 32; ++lane) std::memcpy(brought[lane], first[lane].bytes.piece, 16);
  for (int lane = 0; lane < 32; ++lane)
    for (int matrix = 0; matrix < 4; ++matrix)
      first[lane].bytes.piece[matrix] = brought[matrix * 8 + lane / 4][lane % 4];
}

}  // namespace

void load_matrices(std::uint32_t (&piece)[4]) {
  state->thread->bytes.piece = piece;
  meet(At::load_matrices, run_matrices);
}

void multiply_bytes(int form, int* sums, const std::uint32_t* a, const std::uint32_t* b) {
  count_access();
  if (static_cast<Fragment>(form) == Fragment::dot4) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 4; ++k) sums[4 * i + j] += byte_of(a + i, {0, 0, k}) * byte_of(b + j, {0, 0, k});
    return;
  }
  state->thread->bytes = {form, sums, a, b, nullptr};
  meet(At::multiply_bytes, run_fragments, form, instruction_of(static_cast<Fragment>(form)).lanes);
}

}  // namespace tokitai::lockstep
