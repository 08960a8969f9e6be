// Mailboxes: what the blocks of a cluster send each other is awaited by counting its bytes. Here every thread of the
// cluster meets at the wait, so that each exchange has been made in full when the counts are looked at. The wait orders
// the cells that are sent to and nothing else: no release or acquire of PTX's memory model stands for other memory.
#include "machines/lockstep/state.h"
#include "machines/lockstep/words.h"

namespace tokitai::lockstep {
namespace {

std::string place(std::int64_t at) { return "the mailbox at shared memory byte " + std::to_string(at); }

Mailbox* find_mailbox(Block& block, std::int64_t at, const char* does) {
  const auto found_at = block.mailboxes.find(at);
  if (found_at != block.mailboxes.end()) return &found_at->second;
  found(Finding::uninitialised, place(at), std::string("is not open where a thread ") + does);
  return nullptr;
}

void settle(Mailbox& box) {
  if (!box.expected || box.missing != 0) return;
  box.expected = false;
  ++box.complete;
}

}  // namespace

void mailbox_open(std::int64_t at) {
  if (at % 8 != 0 || at < 0 || at + 8 > state->launch->shared_bytes) {
    found(Finding::out_of_bounds, place(at), "lies outside, or is no multiple of 8");
    return;
  }
  state->thread->block->mailboxes[at] = {};
}

void mailbox_expect(std::int64_t at, int bytes) {
  Mailbox* box = find_mailbox(*state->thread->block, at, "says what will come");
  if (box == nullptr) return;
  if (box->expected) found(Finding::race, place(at), "is told twice in one phase what will come");
  box->expected = true;
  box->missing += bytes;
  settle(*box);
}

void mailbox_arrive(std::int64_t at, int rank, int bytes) {
  Block& mine = *state->thread->block;
  if (rank < 0 || rank >= state->launch->cluster) return;  // found where the value was stored
  Mailbox* box = find_mailbox((&mine)[rank - mine.index % state->launch->cluster], at, "sends");
  if (box == nullptr) return;
  box->missing -= bytes;
  settle(*box);
}

// Every thread of the cluster waits once per exchange.
static void meet() {
  State& s = *state;
  Block& mine = *s.thread->block;
  Cluster& cluster = *mine.cluster;
  if (++cluster.awaiting < s.launch->block * s.launch->cluster) {
    s.wait(At::mail);
    return;
  }
  cluster.awaiting = 0;
  const std::uint32_t time = s.tick();
  Block* first = &mine - mine.index % s.launch->cluster;
  for (Block* block = first; block != first + s.launch->cluster; ++block) {
    block->settled_mail = time;
    for (Thread& thread : block->threads) s.wake(thread);
  }
  s.rest();
}

void mailbox_await(std::int64_t at, std::uint32_t parity) {
  meet();
  const Mailbox* box = find_mailbox(*state->thread->block, at, "waits");
  if (box == nullptr) return;
  if (box->expected || box->missing != 0)
    found(Finding::deadlock, place(at),
          box->expected ? "waits for " + std::to_string(box->missing) + " bytes that nobody sends"
                        : "gets " + std::to_string(-box->missing) + " bytes that nobody expects");
  else if (box->complete % 2 == parity)
    found(Finding::deadlock, place(at), "is awaited for the wrong phase");
}

}  // namespace tokitai::lockstep
