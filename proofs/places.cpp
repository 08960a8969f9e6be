// The words that every pattern's places are made of (machines/device/place.h).
#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

void threads(const Functions& f, Report& report) {
  Scope s(report);
  const Int thread = s.any<int>("thread", 0, 1024), lane = f.lane_in_group(thread), group = f.group_of_thread(thread);
  s.claim("a thread's lane and group lead back to it", *lane >= 0 && *lane < 32 && *group * 32 + *lane == *thread);
  s.claim("groups take rows from their own number on", *f.row_of_group(group) == *group);
  s.claim_arithmetic("no number of a thread leaves its type");
}
void workers(const Functions& f, Report& report) {
  for (const int cluster : {1, 2, 4, 8, 16}) {
    Scope s(report);
    const Int blocks = s.any<int>("blocks", 1, kMostBlocks), block = s.any<int>("block", 0, kMostBlocks);
    s.assume(*block < *blocks && z3::mod(*blocks, cluster) == 0);
    const z3::expr worker = *f.worker_of(block, cluster), all = *f.workers_of(blocks, cluster);
    s.claim("the blocks of a cluster are one worker of all",
            worker >= 0 && worker < all && worker * cluster <= *block && *block < (worker + 1) * cluster &&
                all * cluster == *blocks);
    s.claim("a turn of the check asks a row per thread", *f.asked_step(blocks, 128) == *blocks * 128);
  }
}
void rows(const Functions& f, Report& report) {
  Scope s(report);
  const Long row = s.any<i64>("row", 0, kMostElements), step = s.any<i64>("step", 1, kMostElements);
  const Long end = s.any<i64>("end", 0, kMostElements), none = s.any<i64>("rows", 0, kMostElements);
  for (const int turns : {0, 1, 2, 3, 4}) {
    const z3::expr on = *row + turns * *step, ahead = *f.row_ahead(row, turns, step, end, none);
    s.claim("a row ahead lies its turns on, or there is none", ahead == z3::ite(on < *end, on, *none));
  }
  const Int by = s.any<int>("by", 0, 1024);
  const Long position = f.position_of(row, by);
  s.claim("positions follow each other", *position == *row + *by);
  s.claim("a position's offset leads back to it", *f.offset_of(position, row) == *by);
  s.claim("what is left of an extent lies behind the place", *f.left_of(end, row) + *row == *end);
  const Long value = s.any<i64>("value", -kMostElements, kMostElements), count = s.any<i64>("count", 1, kMostElements);
  for (const z3::expr& given :
       {*f.given_row(value, count), *f.given_column(value, count), *f.clamped_row(value, count)}) {
    s.claim("what memory says is one of those that exist", given >= 0 && given < *count);
    s.claim("and is taken as it is where it does", z3::implies(*value >= 0 && *value < *count, given == *value));
  }
}
void turns(const Functions& f, Report& report) {
  Scope s(report);
  const z3::expr turn = *s.any<i64>("turn", 0, kMostElements);
  s.claim("two sides take turns", *f.other_side(s.symbol<int>(z3::mod(turn, 2))) == z3::mod(turn + 1, 2));
  for (const int count : {1, 2, 3, 4, 8})
    s.claim("slots take turns", *f.next_slot(s.symbol<int>(z3::mod(turn, count)), count) == z3::mod(turn + 1, count));
}
void matrices(const Functions& f, Report& report) {
  Scope s(report);
  const Long row = s.any<i64>("row", 0, kMostCols), cols = s.any<i64>("cols", 1, kMostCols);
  const Long col = s.any<i64>("column", 0, kMostCols);
  s.claim("a row begins behind the rows before it", *f.row_begin(row, cols) == *row * *cols);
  s.claim("a place in a matrix is its row's begin and its column",
          *f.matrix_place(row, cols, col) == *row * *cols + *col && *f.place_in_row(row, col) == *row + *col);
  s.claim("the first row begins at the start", *f.in_first_row(col) == *col);
  matrix_places("elements of a matrix", report);
}

}  // namespace

void claim_places(const Functions& f, Report& report) {
  threads(f, report);
  workers(f, report);
  rows(f, report);
  turns(f, report);
  matrices(f, report);
}

}  // namespace tokitai::proofs
