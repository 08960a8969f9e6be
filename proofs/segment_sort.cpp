// The sort of the segment pattern: which pairs a thread takes, where counts lie, and that a pair's new place follows
// from counts alone, in the order of positions.
#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

class Sort {
 public:
  Sort(const SegmentSort& part, const Functions& functions, Report& to)
      : threads(part.threads), groups(part.threads / 32), bits(part.digit_bits), f(functions), report(to) {}

  // The workspace's regions lie one behind the other, in what the planner asks for.
  void space() const {
    Scope s(report);
    const Long pairs = s.any<i64>("queries", 1, kMostSorted), vocab = s.any<i64>("vocab", 1, kMostSorted);
    const Long blocks = s.any<i64>("blocks", 1, kMostResident);
    const auto at = f.sort_space(pairs, vocab, blocks, digits());
    const z3::expr workers = *at.workers;
    s.claim("some blocks sort, and none without 512 pairs but the last",
            workers >= 1 && workers <= *blocks && (workers - 1) * s.number(device::kPairsPerWorker) < *pairs);
    s.claim("no two regions of the workspace overlap",
            at.keys.value(s.ledger()) >= 0 && *at.values >= at.keys.value(s.ledger()) + 2 * *pairs &&
                *at.counts >= *at.values + 2 * *pairs && *at.totals >= *at.counts + workers * digits() &&
                *at.begin >= *at.totals + digits() && *at.end >= *at.begin + *vocab && *at.levels >= *at.end + *vocab &&
                *at.words >= *at.levels + device::kSortLevels);
    s.claim("partial results are aligned, behind all of them", z3::mod(*at.words, 4) == 0);
    const Int side = s.any<int>("side", 0, 2);
    s.claim("a side's copy of the pairs lies in its region",
            *f.copy_begin(at.values, side, pairs) == *at.values + z3::ite(*side == 1, *pairs, s.number(0)));
    for (const i64 bytes : {4, 8})
      s.claim("partial results begin behind the words",
              *f.partials_begin(at.words, s.symbol<i64>(s.number(bytes))) * s.number(bytes) == *at.words * 4);
    const Long level = s.any<i64>("level", 0, device::kSortLevels);
    s.claim("a level has a word of its own", *f.level_of(level) == *level);
    s.claim("the regions lie in the workspace that is asked for",
            *at.words <= *device::sort_words(pairs, vocab, digits()));
    s.claim_arithmetic("no place in the workspace leaves its type");
  }
  // Blocks, groups, turns and lanes take the pairs in the order of their positions.
  void pairs() const {
    Scope s(report);
    const Long pairs = s.any<i64>("queries", 1, kMostSorted), workers = s.any<i64>("workers", 1, kMostResident);
    const Long each = f.pairs_of_group(pairs, workers, groups);
    const z3::expr all = *workers * groups;
    s.lemma("groups take whole turns of 32 pairs", z3::mod(*each, 32) == 0 && *each >= 32);
    const Long share = (pairs + workers * groups - 1) / (workers * groups);
    s.assume(in_order(*share, *each, all, *share * all, *each * all));
    s.lemma("a group has its share of the pairs", *each * all >= *pairs);
    const Int block = s.any<int>("block", 0, kMostResident), group = s.any<int>("group", 0, groups);
    s.assume(*block < *workers);
    s.claim("a group's pairs begin behind those of the groups before",
            *f.first_pair(block, group, each, groups) == (*block * groups + *group) * *each);
    s.claim_arithmetic("no index of a pair leaves its type");
  }
  // The same of two groups: `first` is a product of which nothing is known but its order.
  void order() const {
    Scope s(report);
    const Long pairs = s.any<i64>("queries", 1, kMostSorted), each = s.any<i64>("pairs of a group", 32, kMostElements);
    const z3::expr a = *s.any<i64>("group", 0, kMostSorted), b = *s.any<i64>("group'", 0, kMostSorted);
    const Long first = s.any<i64>("first pair", 0, kMostSorted), first2 = s.any<i64>("first pair'", 0, kMostSorted);
    s.assume(z3::mod(*each, 32) == 0 && in_order(a, b, *each, *first, *first2));
    const z3::expr end = *f.pairs_end(first, each, pairs);
    s.claim("a group ends where the next begins, or with the pairs",
            end <= *pairs && end <= *first + *each && (end == *pairs || end == *first + *each));
    const Long turn = s.any<i64>("turn", 0, kMostSorted), turn2 = s.any<i64>("turn'", 0, kMostSorted);
    const Int lane = s.any<int>("lane", 0, 32), lane2 = s.any<int>("lane'", 0, 32);
    const z3::expr i = *first + 32 * *turn + *lane, j = *first2 + 32 * *turn2 + *lane2;
    s.assume(i < end && j < *f.pairs_end(first2, each, pairs));
    s.claim("no pair is taken twice, and groups, turns and lanes take them in order",
            (i < j) == (a < b || (a == b && (*turn < *turn2 || (*turn == *turn2 && *lane < *lane2)))));
  }
  void every_pair() const {
    Scope s(report);
    const Long pairs = s.any<i64>("queries", 1, kMostSorted), each = s.any<i64>("pairs of a group", 32, kMostElements);
    const z3::expr workers = *s.any<i64>("workers", 1, kMostResident), all = workers * groups;
    const z3::expr i = *s.any<i64>("position", 0, kMostSorted), its = *s.any<i64>("its group", 0, kMostSorted);
    const z3::expr inside = *s.any<i64>("its place in it", 0, kMostSorted);
    const Long first = s.any<i64>("first pair", 0, kMostSorted);
    const z3::expr end = *s.any<i64>("groups * pairs of a group", 0, kMostElements);
    s.assume(in_order(its, all, *each, *first, end) && end >= *pairs);  // a group has its share, as proved above
    s.assume(i < *pairs && i == *first + inside && inside < *each);
    s.lemma("the group of a pair is one of the launch", its < all);
    s.claim("every pair is taken", its / groups < workers && its / groups * groups + z3::mod(its, groups) == its &&
                                       i < *f.pairs_end(first, each, pairs) &&
                                       *first + inside / 32 * 32 + z3::mod(inside, 32) == i);
  }
  // What counting means: before(d, x) pairs with digit d lie in front of position x; smaller(d) have a smaller digit.
  void destinations() const {
    Scope s(report);
    z3::context& c = report.context();
    const z3::func_decl before = c.function("before", c.int_sort(), c.int_sort(), c.int_sort());
    const z3::func_decl smaller = c.function("smaller", c.int_sort(), c.int_sort());
    const z3::expr n = *s.any<i64>("queries", 1, kMostSorted);
    const z3::expr d = *s.any<i64>("digit", 0, digits()), e = *s.any<i64>("digit'", 0, digits());
    const z3::expr i = *s.any<i64>("position", 0, kMostSorted), j = *s.any<i64>("position'", 0, kMostSorted);
    const z3::expr block = *s.any<i64>("its block's first", 0, kMostSorted);
    const z3::expr group = *s.any<i64>("its group's first", 0, kMostSorted);
    const z3::expr turn = *s.any<i64>("its turn's first", 0, kMostSorted);
    s.assume(i < n && j < n && block <= group && group <= turn && turn <= i);
    const auto counted = [&](const z3::expr& digit, const z3::expr& from, const z3::expr& to) {
      return before(digit, to) - before(digit, from);
    };
    // As the kernel adds it up: smaller digits, blocks before, groups before, turns before, lanes before.
    const z3::expr at =
        smaller(d) + before(d, block) + counted(d, block, group) + counted(d, group, turn) + counted(d, turn, i);
    s.claim("a pair's place is the number of smaller digits and of equal ones before it",
            at == smaller(d) + before(d, i));
    const auto follows = [&](const z3::expr& digit, const z3::expr& x, const z3::expr& y) {
      return z3::implies(x < y, before(digit, x) + 1 <= before(digit, y));  // a pair of this digit lies at x
    };
    s.assume(before(d, i) >= 0 && before(e, j) >= 0 && follows(d, i, j) && follows(e, j, i));
    s.assume(before(d, i) + 1 <= before(d, n) && before(e, j) + 1 <= before(e, n));
    s.assume(z3::implies(d < e, smaller(d) + before(d, n) <= smaller(e)));
    s.assume(z3::implies(e < d, smaller(e) + before(e, n) <= smaller(d)));
    s.assume(z3::implies(d == e, smaller(d) == smaller(e)));
    s.assume(smaller(d) >= 0 && smaller(d) + before(d, n) <= n);
    const z3::expr there = smaller(e) + before(e, j);
    s.claim("pairs go to places in the pairs", smaller(d) + before(d, i) >= 0 && smaller(d) + before(d, i) < n);
    s.claim("no two pairs go to one place, and a pass keeps the order of equal digits",
            (smaller(d) + before(d, i) < there) == (d < e || (d == e && i < j)));
  }
  // The scan of 32 lanes' values, a step for every power of two.
  void scan() const {
    Scope s(report);
    std::vector<z3::expr> value, sum;
    for (int lane = 0; lane < 32; ++lane) value.push_back(*s.any<i64>("value" + std::to_string(lane), 0, kMostSorted));
    sum = value;
    for (int by = 1; by < 32; by *= 2) {
      const std::vector<z3::expr> left = sum;
      for (int lane = 0; lane < 32; ++lane)
        if (f.scan_adds(lane, by))
          sum[static_cast<std::size_t>(lane)] =
              sum[static_cast<std::size_t>(lane)] + left[static_cast<std::size_t>(lane - by)];
    }
    z3::expr all = s.number(0), right = s.yes();
    for (std::size_t lane = 0; lane < 32; ++lane) {
      all = all + value[lane];
      right = right && sum[lane] == all;
    }
    s.claim("the scan gives every lane the sum up to its own value", right);
  }
  void digits_of_threads() const {
    Scope s(report);
    const int each = (digits() + threads - 1) / threads;
    const Int thread = s.any<int>("thread", 0, threads), k = s.any<int>("k", 0, each);
    const z3::expr d = *f.scanned_digit(thread, k, each);
    s.claim("no digit is scanned twice: its thread follows from it, and threads have them in order",
            d / each == *thread && z3::mod(d, each) == *k);
    const Int digit = s.any<int>("digit", 0, digits());
    const Int owner = s.symbol<int>(*digit / each), its = s.symbol<int>(z3::mod(*digit, each));
    s.claim("every digit is scanned", *owner < threads && *f.scanned_digit(owner, its, each) == *digit);
    // Shared memory: counts of groups, bases of digits, sums of groups.
    const Int group = s.any<int>("group", 0, groups);
    const z3::expr word = *f.group_counts_word(group, digits()) + *digit;
    const int bases = device::bases_word(groups, digits()), sums = device::sums_word(groups, digits());
    s.claim("regions of shared memory begin at their words",
            s.number(f.counts_byte()) == 0 && s.number(f.bases_byte(groups, digits())) == 4 * bases &&
                s.number(f.sums_byte(groups, digits())) == 4 * sums &&
                s.number(f.rows_byte(groups, digits())) == 4 * device::sort_shared_words(groups, digits()));
    const Int block = s.any<int>("block", 0, kMostResident / 1024),
              blocks = s.any<int>("blocks", 1, kMostResident / 1024);
    s.claim("digits are taken from their own number on, and by groups in turn",
            *f.own_digit(digit) == *digit && *f.digit_of_group(block, group, groups) == *block * groups + *group &&
                *f.digit_step(blocks, groups) == *blocks * groups);
    const Long value = s.any<i64>("value", 0, kMostSorted);
    const z3::expr given = *f.given_digit(value, digits());
    s.claim("what memory says is a digit",
            given >= 0 && given < digits() && z3::implies(*value < digits(), given == *value));
    s.claim("a count belongs to one group and digit: they follow from its word",
            *f.group_digit(group, digit, digits()) == word && word / digits() == *group &&
                z3::mod(word, digits()) == *digit);
    s.claim("counts, bases and sums lie one behind the other",
            word < bases && bases + *digit < sums && sums + *group < device::sort_shared_words(groups, digits()));
    s.claim_arithmetic("no index of a digit leaves its type");
  }
  void counts() const {
    Scope s(report);
    const Long workers = s.any<i64>("workers", 1, kMostResident), block = s.any<i64>("block", 0, kMostResident);
    const Int digit = s.any<int>("digit", 0, digits());
    s.assume(*block < *workers);
    const z3::expr at = *f.count_word(digit, workers);
    s.claim("the counts of a digit begin behind those of smaller ones", at == *digit * *workers);
    s.claim("a count lies at its block", *f.count_place(digit, workers, block) == at + *block);
    const Int lane = s.any<int>("lane", 0, 32);
    s.claim("counts are scanned in the order of their blocks", *f.scanned_worker(block, lane) == *block + *lane);
    s.claim("counts lie in their region", at >= 0 && at + *block < *workers * digits());
    s.claim_arithmetic("no index of a count leaves its type");
    matrix_places("counts of digits and blocks", report);
  }
  void passes() const {
    Scope s(report);
    const z3::expr vocab = *s.any<i64>("vocab", 1, kMostSorted), key = *s.any<i64>("key", 0, kMostSorted);
    s.assume(key <= vocab);  // the padding index is sorted as the vocabulary's size
    z3::expr right = s.yes();
    i64 unit = 1;
    for (int shift = 0; shift <= 40; shift += bits, unit *= digits()) {
      // The pass at `shift` is made where vocab >> shift is not zero.
      right = right && z3::implies(vocab / s.number(unit) == 0, key / s.number(unit) == 0);
      if (shift > 31) right = right && vocab / s.number(unit) == 0;
    }
    s.claim("the passes see every bit of a key, and shift by less than 32", right);
  }
  // Pairs are read from one copy and written to the other.
  void between_barriers() const {
    Scope s(report);
    const Long pass = s.any<i64>("pass", 0, 64), pairs = s.any<i64>("queries", 1, kMostSorted);
    const Long x = s.any<i64>("position", 0, kMostSorted), y = s.any<i64>("position'", 0, kMostSorted);
    s.assume(*x < *pairs && *y < *pairs);
    const PassSchedule now = f.pass_schedule(pass), next = f.pass_schedule(pass + 1);
    s.claim("counts are scanned and used behind grid barriers", *now.counts < *now.scans && *now.scans < *now.places);
    s.claim("a pass reads what the pass before wrote behind a grid barrier", *now.places < *next.counts);
    s.claim("no pair is written over while it is read",
            z3::mod(*pass, 2) * *pairs + *x != z3::mod(*pass + 1, 2) * *pairs + *y);
  }
  void all() const {
    space();
    pairs();
    order();
    every_pair();
    destinations();
    scan();
    digits_of_threads();
    counts();
    passes();
    between_barriers();
  }

 private:
  int digits() const { return 1 << bits; }

  const int threads, groups, bits;
  const Functions& f;
  Report& report;
};

}  // namespace

void claim(const SegmentSort& part, const Functions& f, Report& report) { Sort(part, f, report).all(); }

}  // namespace tokitai::proofs
