// The product on tensor cores: which tiles a block takes, and how both factors' boxes come into the ring of slots. That
// nothing is done twice is claimed by naming who does it.
#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

// Clusters' tiles, and so many rows of the band that is spoken about: fewer than `band` only where it is the last one.
struct Walk {
  Walk(Scope& s, int band, int height)
      : rows(s.any<int>("rows of tiles", 1, kMostTiles + 1)),
        cols(s.any<int>("columns of tiles", 1, kMostExtent / device::kTileRows + 1)),
        all(*rows * *cols),
        band(band),
        height(height) {
    s.assume(all <= s.number(kMostTiles));
  }
  void assume_height(Scope& s, const z3::expr& begin) const {
    s.assume(begin < *rows && (height < band ? *rows - begin == height : *rows - begin >= height));
    s.assume(in_order(begin + height, *rows, *cols, begin * *cols + height * *cols, all));
  }
  Int rows, cols;
  z3::expr all;
  int band, height;
};
// A tile's row and column lead back to its number.
void walked_once(const Walk& w, Scope& s, const Functions& f) {
  const Int tile = s.any<int>("tile", 0, kMostTiles);
  s.assume(*tile < w.all);
  const Int begin = f.band_begin(tile, w.cols, w.band);
  s.assume(in_order(*begin, *w.rows, *w.cols, *begin * *w.cols, w.all));
  s.lemma("a band begins at a row that exists, at a multiple of its rows",
          *begin >= 0 && *begin < *w.rows && z3::mod(*begin, w.band) == 0 && *begin * *w.cols <= *tile &&
              *tile < *begin * *w.cols + w.band * *w.cols);
  w.assume_height(s, *begin);
  const Int height = f.band_rows(begin, w.rows, w.band);
  s.lemma("a band has its rows, and the last one those that are left", *height == w.height);
  const Int row = f.walked_row(tile, w.rows, w.cols, w.band), col = f.walked_col(tile, w.rows, w.cols, w.band);
  s.assume(in_order(*height, s.number(w.height), *col, *height * *col, w.height * *col));
  s.claim("a cluster's tile lies in the output", *row >= 0 && *row < *w.rows && *col >= 0 && *col < *w.cols);
  s.claim("no tile is taken twice: its number follows from its row and column",
          *row / w.band * w.band == *begin && *begin * *w.cols + *col * w.height + z3::mod(*row, w.band) == *tile);
  s.claim_arithmetic("no number of a tile leaves its type");
}
void walked_everywhere(const Walk& w, Scope& s, const Functions& f) {
  const z3::expr row = *s.any<int>("row", 0, kMostExtent), col = *s.any<int>("column", 0, kMostExtent);
  s.assume(row < *w.rows && col < *w.cols);
  const z3::expr band = row / w.band, begin = band * w.band, before = begin * *w.cols;
  w.assume_height(s, begin);
  const z3::expr number = before + col * w.height + z3::mod(row, w.band);
  s.lemma("the number of a row and a column is a tile's", number >= 0 && number < w.all);
  const Int tile = s.symbol<int>(number), found = f.band_begin(tile, w.cols, w.band);
  const z3::expr other = *(tile / (w.cols * w.band));
  s.assume(in_order(other, band, *w.cols * w.band, other * *w.cols * w.band, band * *w.cols * w.band));
  s.lemma("a tile's band follows from its number", *found == begin);
  const Int height = f.band_rows(found, w.rows, w.band);
  s.lemma("so do the rows of its band", *height == w.height);
  const Int last = f.walked_col(tile, w.rows, w.cols, w.band);
  s.assume(in_order(*height, s.number(w.height), *last, *height * *last, w.height * *last) &&
           in_order(*found, begin, *w.cols, *found * *w.cols, before));
  s.claim("every tile is taken", *f.walked_row(tile, w.rows, w.cols, w.band) == row && *last == col);
}

class Tiles {
 public:
  Tiles(const ProductTiles& part, const Functions& functions, Report& to)
      : p(part), cluster(part.cluster_rows * part.cluster_cols), f(functions), report(to) {}

  void ranks() const {
    Scope s(report);
    const Int rank = s.any<int>("rank", 0, cluster);
    const z3::expr below = *f.rank_below(rank, p.cluster_rows), beside = *f.rank_beside(rank, p.cluster_rows);
    s.claim("the blocks of a cluster have a place of their own each", below >= 0 && below < p.cluster_rows &&
                                                                          beside >= 0 && beside < p.cluster_cols &&
                                                                          beside * p.cluster_rows + below == *rank);
  }
  // The persistent clusters take the tiles in turn.
  void turns() const {
    Scope s(report);
    const Int blocks = s.any<int>("blocks", 1, kMostResident), block = s.any<int>("block", 0, kMostResident);
    s.assume(*block < *blocks && z3::mod(*blocks, cluster) == 0);
    const Int first = f.first_cluster(block, cluster), step = f.clusters_of(blocks, cluster);
    s.lemma("a cluster begins with its own number, and steps by as many as there are",
            *first >= 0 && *first < *step && *first * cluster <= *block && *block < (*first + 1) * cluster &&
                *step * cluster == *blocks);
    const Int tile = s.any<int>("tile", 0, kMostTiles), turn = tile / step, its = tile % step;
    s.claim("every tile has a cluster", *its >= 0 && *its < *step && *its + *turn * *step == *tile);
    const z3::expr other = *s.any<int>("turn'", 0, kMostTiles), by = *s.any<i64>("turn' * step", 0, kMostElements);
    s.assume(in_order(*turn, other, *step, *turn * *step, by));
    s.claim("and no other one", z3::implies(*first + by == *tile, *first == *its && other == *turn));
    (void)(tile + step);
    s.claim_arithmetic("no tile's number leaves its type, nor one step behind the last");
  }
  // The corner of a tile, along the output's rows or columns.
  void corners(int extent, int sharing) const {
    Scope s(report);
    const Int size = s.any<int>("extent", 1, kMostExtent + 1), x = s.any<int>("row or column", 0, kMostExtent);
    const Int lines = device::pieces_of(size, extent * sharing);
    s.assume(*x < *size);
    const Int line = s.symbol<int>(*x / (extent * sharing)), rank = s.symbol<int>(z3::mod(*x / extent, sharing));
    const z3::expr corner = *f.tile_corner(line, rank, sharing, extent);
    s.claim("every output lies in the tile of a block", *line < *lines && corner <= *x && *x < corner + extent);
    Scope t(report);
    const Int all = t.any<int>("extent", 1, kMostExtent + 1), tile = t.any<int>("line of tiles", 0, kMostExtent);
    t.assume(*tile < *device::pieces_of(all, extent * sharing));
    const Int r = t.any<int>("rank", 0, sharing), at = f.tile_corner(tile, r, sharing, extent);
    t.claim("no two blocks have one tile: block and cluster follow from its corner",
            *at >= 0 && z3::mod(*at, extent) == 0 && z3::mod(*at / extent, sharing) == *r &&
                *at / (extent * sharing) == *tile);
    const Int rows = t.any<int>("rows of a group", 0, extent - 15), inside = t.any<int>("inside", 0, 16);
    const Int box = t.any<int>("box", 0, extent / 32), of = t.any<int>("line", 0, extent);
    t.claim("what lies in a tile lies behind its corner",
            *f.product_row(at, rows, inside) == *at + *rows + *inside && *f.product_col(at, of) == *at + *of &&
                *f.part_corner(at, of) == *at + *of && *f.box_corner(at, box, 32) == *at + 32 * *box);
    t.claim_arithmetic("no place in a matrix leaves its type");
  }
  void all() const {
    ranks();
    turns();
    corners(device::kTileRows, p.cluster_rows);
    corners(p.cols, p.cluster_cols);
  }

 private:
  const ProductTiles& p;
  const int cluster;
  const Functions& f;
  Report& report;
};

class Ring {
 public:
  Ring(const ProductRing& part, const Functions& functions, Report& to)
      : p(part.plan), part(part), f(functions), shape(f.product_shape(p)), report(to) {}

  // Slots, staged outputs, scales, gates.
  void regions() const {
    Scope s(report);
    const int boxes = 8 * p.boxes * device::kBoxBytes;
    s.claim("the regions of shared memory begin where the plan says",
            s.number(f.ring_byte()) == 0 && s.number(f.staging_byte(p)) == shape.staging &&
                s.number(f.staged_elements_byte(p)) == shape.staging && s.number(f.scales_byte(p)) == shape.scales &&
                s.number(f.gates_byte(p)) == shape.gates);
    s.claim("no two regions of shared memory overlap, and all lie in what is asked for",
            s.number(p.slots * shape.slot_bytes) <= shape.staging && s.number(shape.staging + boxes) <= shape.scales &&
                s.number(shape.scales + p.slots * shape.scale_bytes) <= shape.gates &&
                s.number(shape.gates + (2 * p.slots + (device::clears(p) ? 1 : 0)) * 8) <= shape.bytes &&
                s.number(shape.bytes) <= part.shared_bytes);
    s.claim("slots and boxes begin at multiples of 1024 bytes, scales of 128, gates of 8",
            s.number(shape.slot_bytes % 1024 + shape.left_bytes % 1024 + shape.staging % 1024 + shape.scales % 128 +
                     shape.scale_bytes % 128 + shape.gates % 8) == 0);
    const Int slot = s.any<int>("slot", 0, p.slots), other = s.any<int>("slot'", 0, p.slots);
    const z3::expr full = *slot, free = *f.free_gate(other, p.slots);
    s.claim("every slot has two gates of its own",
            free != full && free >= p.slots && free - p.slots == *other && shape.gates + 8 * (free + 1) <= shape.bytes);
    if (shape.scale_bytes > 0) {
      const z3::expr scales = *f.slot_scales(slot, shape.scale_bytes);
      s.claim("a slot's scales lie behind those of the slots before", 2 * scales == *slot * shape.scale_bytes);
    }
    const Int behind = s.any<int>("behind", 0, device::kTileRows + 1);
    s.claim("the right factor's scales lie behind the left one's, in the slot's",
            *f.first_scale(behind) == *behind &&
                s.number(shape.scale_bytes == 0 ? 0 : 2 * (device::kTileRows + p.cols)) == shape.scale_bytes);
    // Every group of 32 threads of the multipliers, in each block that a box goes to.
    s.claim("a slot is free when all that read it have said so",
            s.number(8 * p.cluster_rows * p.cluster_cols) == shape.releases &&
                s.number(p.cluster_rows == 1 || p.cluster_cols == 1 ? 1 : 0) == 1);
    s.claim_arithmetic("no place of a slot leaves its type");
  }
  // Fillings of slots come in turn; the gates' phase tells one filling of a slot from the next.
  void turns() const {
    Scope s(report);
    const Long turn = s.any<i64>("turn", 0, kMostElements), other = s.any<i64>("turn'", 0, kMostElements);
    const auto slot = [&](const z3::expr& t) { return z3::mod(t, p.slots); };
    const auto phase = [&](const z3::expr& t) { return z3::mod(t / p.slots, 2); };
    const Int after = f.next_slot(s.symbol<int>(slot(*turn)), p.slots);
    s.claim("slots are filled in turn", *after == slot(*turn + 1));
    s.claim("a slot is filled again only after all others have been",
            z3::implies(slot(*turn) == slot(*other) && *turn < *other, *turn + p.slots <= *other));
    s.claim("the phase of a gate changes each time around",
            *f.ring_phase(s.symbol<i64>(phase(*turn)), s.symbol<i64>(*after)) == phase(*turn + 1) &&
                phase(*turn) != phase(*turn + p.slots));
  }
  // A factor's lines in a slot, brought by the blocks that share them.
  void factor(int lines, int sharers, int behind, bool along) const {
    const int own = lines / sharers, boxes = along ? own / 64 : 1, box_lines = along ? 64 : own;
    Scope s(report);
    s.claim("the blocks that share a tile bring all of it, in whole boxes",
            s.number(own * sharers) == lines && s.number(boxes * box_lines) == own &&
                s.number(box_lines * device::kWideBytes % 1024) == 0);
    const Int slot = s.any<int>("slot", 0, p.slots), share = s.any<int>("share", 0, sharers);
    const Int box = s.any<int>("box", 0, boxes), line = f.part_line(share, box, own);
    s.claim("no line is brought twice: its block and box follow from it", *line >= 0 && *line / own == *share &&
                                                                              z3::mod(*line, own) / 64 == *box &&
                                                                              *line + box_lines <= (*share + 1) * own);
    const z3::expr byte = 2 * *f.slot_half(slot, shape.slot_bytes, behind, line);
    s.claim(
        "a box lies at its lines of its factor of its slot",
        byte == *slot * shape.slot_bytes + behind + *line * device::kWideBytes && z3::mod(byte, 1024) == 0 &&
            byte + box_lines * device::kWideBytes <= *slot * shape.slot_bytes + behind + lines * device::kWideBytes);
    s.claim("both factors lie in the slot, one behind the other",
            s.number(behind + lines * device::kWideBytes) <= (behind == 0 ? shape.left_bytes : shape.slot_bytes));
    const z3::expr wanted = *s.any<int>("line", 0, lines);
    const z3::expr first =
        *f.part_line(s.symbol<int>(wanted / own), s.symbol<int>(along ? z3::mod(wanted, own) / 64 : s.number(0)), own);
    s.claim("every line is brought", first <= wanted && wanted < first + box_lines);
    s.claim_arithmetic("no place of a line leaves its type");
  }
  // What a multiplication reads: 64 lines, and 32 bytes of the contracted index.
  void steps(bool along) const {
    Scope s(report);
    const int bytes = shape.planes == 2 ? 1 : 2, per_step = 32 / bytes;
    const Int group = s.any<int>("group", 4, 12), rows = f.group_rows(group);
    // 128 threads multiply 64 lines, 16 of them for each of their groups.
    s.claim("a group's lines begin at the 64 that its outputs are of",
            *rows >= 0 && *rows < device::kTileRows && z3::mod(*rows, 64) == z3::mod(*group, 4) * 16 &&
                2 * *f.rows_half(rows) == (*group / 4 - 1) * 64 * device::kWideBytes && *rows / 64 == *group / 4 - 1);
    const z3::expr k = *s.any<int>("index in its slot", 0, shape.deep);
    const Int step = s.symbol<int>(k / per_step);
    const z3::expr begin = 2 * *f.step_half(step, along);
    // Along the lines an index has a row of 128 bytes, else its bytes of every row.
    s.claim("every contracted index of a slot is multiplied once, in order",
            *step < 4 && s.number(4 * per_step) == shape.deep &&
                (along ? begin + z3::mod(k, per_step) * device::kWideBytes == k * device::kWideBytes
                       : begin + z3::mod(k, per_step) * bytes == k * bytes));
    s.claim_arithmetic("no place of a step leaves its type");
  }
  // Blocks of the contracted index, a slot for each of its planes.
  void blocks() const {
    Scope s(report);
    const Int inner = s.any<int>("inner", 1, kMostExtent + 1), x = s.any<int>("index", 0, kMostExtent);
    s.assume(*x < *inner);
    const Int block = s.any<int>("block", 0, kMostExtent), other = s.any<int>("block'", 0, kMostExtent);
    const Int count = device::pieces_of(inner, shape.deep);
    s.assume(*block < *count && *other < *count);
    // Of groups it is another: product_groups.cpp.
    const Int first = f.slot_corner(Int(s.ledger(), s.number(0)), shape.deep);
    const auto corner = [&](const Int& b) { return *f.corner_behind(first, b, shape.deep); };
    const Int its = s.symbol<int>(*x / shape.deep);
    s.claim("every contracted index lies in a slot",
            *its < *count && corner(its) <= *x && *x < corner(its) + shape.deep);
    s.claim("and in no other: slots come in ascending order",
            z3::implies(*block < *other, corner(block) + shape.deep <= corner(other)) && corner(block) < *inner);
    s.claim("a block's scales are a row of their own", *f.scale_behind(first, block, shape.deep) == *block);
    s.claim_arithmetic("no contracted index leaves its type");
  }
  void all() const {
    regions();
    turns();
    factor(device::kTileRows, p.cluster_cols, 0, part.along[0]);
    factor(p.cols, p.cluster_rows, shape.left_bytes, part.along[1]);
    steps(part.along[0]);
    steps(part.along[1]);
    blocks();
  }

 private:
  const device::ProductPlan& p;
  const ProductRing& part;
  const Functions& f;
  const device::ProductShape shape;
  Report& report;
};

}  // namespace

void claim(const ProductWalk& part, const Functions& f, Report& report) {
  products_in_order(report);
  for (int height = 1; height <= part.band; ++height) {
    Scope s(report), t(report);
    walked_once(Walk(s, part.band, height), s, f);
    walked_everywhere(Walk(t, part.band, height), t, f);
  }
}
void claim(const ProductTiles& part, const Functions& f, Report& report) { Tiles(part, f, report).all(); }
void claim(const ProductRing& part, const Functions& f, Report& report) { Ring(part, f, report).all(); }

}  // namespace tokitai::proofs
