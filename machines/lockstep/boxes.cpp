// The copy engine's boxes. One that is fetched is there at once and counted at its gate: whoever has not passed that
// gate finds it in no order. One that is stored is read from shared memory, and written, at the wait that covers it.
#include <algorithm>
#include <cstring>

#include "machines/lockstep/pass.h"
#include "machines/lockstep/words.h"

namespace tokitai::lockstep {
namespace {

constexpr int kPiece = 16, kLine = 128;

// Null where the launch has no such map.
const BoxMap* map_at(const void* map) {
  const auto* m = static_cast<const BoxMap*>(map);
  if (m->mark == BoxMap::kMark) return m;
  found(Finding::uninitialised, "a map", "is used that this launch has not");
  return nullptr;
}
int alignment_of(const BoxMap& map) { return map.swizzled != 0 ? 8 * kLine : kLine; }

// Calls row(at, in_box, bytes) for what lies inside the map of each row of a box: an address, and where in the box.
template <class Row> void for_rows(const BoxMap& map, int x, int y, int z, Row row) {
  const std::int64_t first = std::max<std::int64_t>(x, 0), end = std::min<std::int64_t>(x + map.box[0], map.size[0]);
  if (first >= end || z < 0 || z >= map.size[2]) return;
  for (int r = 0; r < map.box[1]; ++r)
    if (const std::int64_t line = std::int64_t{y} + r; line >= 0 && line < map.size[1])
      row(map.address() + static_cast<std::uintptr_t>(first * map.element + line * map.stride[0] + z * map.stride[1]),
          r * map.line_bytes() + static_cast<int>(first - x) * map.element,
          static_cast<int>(end - first) * map.element);
}

// Between a box's rows and the lines of shared memory, whose pieces lie crossed with their number.
template <class Move> void for_pieces(const BoxMap& map, Move move) {
  if (map.swizzled == 0) return move(0, 0, map.bytes());
  for (int at = 0; at < map.bytes(); at += kPiece) move(at, at ^ (at / kLine % 8) * kPiece, kPiece);
}

void write_out(const Box& box, const std::vector<unsigned char>& rows) {
  Allocation* range = find(box.map.data);
  for_rows(box.map, box.x, box.y, box.z, [&](std::uintptr_t at, int in_box, int bytes) {
    if (void* to = global<Sort::write>(range, at, bytes, 2); to != nullptr)
      std::memcpy(to, rows.data() + in_box, static_cast<std::size_t>(bytes));
  });
}

}  // namespace

void load_box(std::uint32_t ranks, std::int64_t to, const void* map, int x, int y, int z, std::int64_t gate) {
  State& s = *state;
  Block& mine = *s.thread->block;
  const BoxMap* m = map_at(map);
  if (m == nullptr) return;
  std::vector<unsigned char> rows(static_cast<std::size_t>(m->bytes()));
  Allocation* range = find(m->data);
  for_rows(*m, x, y, z, [&](std::uintptr_t at, int in_box, int bytes) {
    if (const void* from = global<Sort::read>(range, at, bytes, 2); from != nullptr)
      std::memcpy(rows.data() + in_box, from, static_cast<std::size_t>(bytes));
  });
  const int own = mine.index % s.launch->cluster;
  if (ranks == 0) ranks = 1u << own;
  if (ranks >> s.launch->cluster != 0) {
    found(Finding::out_of_bounds, "a box", "is brought to blocks outside the cluster");
    return;
  }
  for (int rank = 0; rank < s.launch->cluster; ++rank) {
    if ((ranks >> rank & 1) == 0) continue;
    Block& block = (&mine)[rank - own];
    if (locate_shared(block, to, m->bytes(), alignment_of(*m)) == nullptr) return;
    if (!visit(block, to, "is where a box is brought")) return;
    pass<Sort::write>(
        block.cells.get() + to / 2, m->bytes() / 2, mine.settled_shared, block.start,
        [&] { return shared_place(to, block); }, true, brought_to(block, gate));
    for_pieces(*m, [&](int in_box, int there, int bytes) {
      std::memcpy(block.shared.get() + to + there, rows.data() + in_box, static_cast<std::size_t>(bytes));
    });
    bytes_arrive(block, gate, m->bytes());
  }
}

void check_fenced(Block& block, std::int64_t at, int bytes) {
  const Cell* cells = block.cells.get() + at / 2;
  for (int i = 0; i < bytes / 2; ++i) {
    const Stamp write = cells[i].write;
    if ((i > 0 && write == cells[i - 1].write) || (write & kEngine) != 0 || time_of(write) < block.start) continue;
    const Thread& writer = block.threads[(thread_of(write) - block.first_id) % block.threads.size()];
    if (time_of(write) < (&writer == state->thread ? writer.boxes_fenced : writer.boxes_sealed)) continue;
    found(Finding::race, shared_place(at + 2 * i, block),
          "is read as thread " + std::to_string(writer.index) + " wrote it: boxes_fence and a barrier come first");
    return;
  }
}

void store_box(const void* map, int x, int y, int z, std::int64_t from) {
  State& s = *state;
  Block& mine = *s.thread->block;
  count_access();
  const BoxMap* m = map_at(map);
  if (m == nullptr || locate_shared(mine, from, m->bytes(), alignment_of(*m)) == nullptr) return;
  check_fenced(mine, from, m->bytes());
  pass<Sort::read>(
      mine.cells.get() + from / 2, m->bytes() / 2, mine.settled_shared, mine.start,
      [&] { return shared_place(from, mine); }, true);
  s.thread->boxes.push_back({*m, x, y, z, from, s.tick()});
}

void stored_boxes(int pending) {
  State& s = *state;
  Thread& me = *s.thread;
  Block& mine = *me.block;
  while (me.boxes.size() > static_cast<std::size_t>(pending)) {
    const Box box = me.boxes.front();
    me.boxes.erase(me.boxes.begin());
    Cell* cells = mine.cells.get() + box.from / 2;
    for (int i = 0; i < box.map.bytes() / 2; ++i)
      if (time_of(cells[i].write) >= box.sent) {
        found_race(shared_place(box.from + 2 * i, mine), "has the copy engine read", cells[i].write,
                   "wrote before the box was read");
        break;
      }
    pass<Sort::read>(
        cells, box.map.bytes() / 2, mine.settled_shared, mine.start, [&] { return shared_place(box.from, mine); },
        true);
    std::vector<unsigned char> rows(static_cast<std::size_t>(box.map.bytes()));
    for_pieces(box.map, [&](int in_box, int there, int bytes) {
      std::memcpy(rows.data() + in_box, mine.shared.get() + box.from + there, static_cast<std::size_t>(bytes));
    });
    write_out(box, rows);
  }
}

void boxes_fence() {
  state->fenced = true;
  state->thread->boxes_fenced = state->tick();
}

void check_ended() {
  const Thread& me = *state->thread;
  if (!me.boxes.empty())
    found(Finding::race, "the thread", "ends with " + std::to_string(me.boxes.size()) + " boxes nobody waited for");
  if (!me.products.empty()) found(Finding::race, "the thread", "ends with products nobody waited for");
}

}  // namespace tokitai::lockstep
