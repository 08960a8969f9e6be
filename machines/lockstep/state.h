// A launch in progress: its threads, groups of 32, blocks and clusters, and the one thread that runs now.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "machines/lockstep/box_map.h"
#include "machines/lockstep/engine.h"
#include "machines/lockstep/fibers.h"
#include "machines/lockstep/release.h"
#include "machines/lockstep/stamp.h"

namespace tokitai::lockstep {

// Where a thread is.
enum class At {
  running,
  barrier,
  cluster_barrier,
  mail,
  gate,
  warp_barrier,
  multiply_wait,
  load_matrices,
  multiply_bytes,
  shuffle,
  shuffle_xor,
  shuffle_up,
  ballot,
  ended
};
const char* name_of(At at);

struct Copy {  // asynchronous, on its way to shared memory
  std::int64_t to;
  Allocation* range;
  std::uintptr_t from;
  int bytes;
  int group;           // which copy_commit covers it
  std::uint32_t sent;  // time
};

// Of every thread of a cluster the time before which what it did lies before what the owner does, known by gates;
// behind them the same of every gate and the boxes that were brought to it.
using Clock = std::shared_ptr<const std::vector<std::uint32_t>>;
Clock join(const Clock& a, const Clock& b);

struct Box {  // of outputs, on its way from shared memory
  BoxMap map;
  int x, y, z;
  std::int64_t from;
  std::uint32_t sent;  // time
};

struct Product {  // on its way through the tensor cores
  void* sums;
  int count;
  int form;  // words.h
  std::uint64_t a, b;
  bool accumulate;
  int group;  // which multiply_commit covers it
};
// Sums that products are on their way to: what they are in truth. The thread sees other bits meanwhile.
struct HeldSums {
  void* sums;
  std::vector<std::uint32_t> words;
};

// What a thread brings to an instruction of its wave.
struct Bytes {
  int form = 0;
  int* sums = nullptr;
  const std::uint32_t *a = nullptr, *b = nullptr;
  std::uint32_t* piece = nullptr;
};

struct Block;
struct Group;

struct Thread {
  std::uint32_t id = 0;  // in the launch
  int index = 0;         // in the block
  At at = At::ended;
  Block* block = nullptr;
  Group* group = nullptr;
  Fiber fiber;
  std::vector<Copy> copies;
  int commits = 0;
  bool awaited = false;  // what earlier launches did lies before what this thread does
  // Its last fence: when, and what of the block and of the group of 32 a barrier had ordered before it.
  std::uint32_t fenced = 0, fenced_block = 0, fenced_group = 0;
  Known known, fenced_known;
  Known pending;  // seen by an addition; known after the next fence
  Clock clock;
  std::vector<Box> boxes;
  std::uint32_t boxes_fenced = 0, boxes_sealed = 0;  // its last boxes_fence; the last one that a barrier followed
  std::vector<Product> products;
  std::vector<HeldSums> held;
  int multiply_commits = 0;
  bool multiply_fenced = false;
  Bytes bytes;
};

struct Group {
  At at = At::running;  // what its waiting threads wait for
  int arrived = 0;
  std::uint32_t slot[2][32] = {};  // two turns: one may still be read while the next is filled
  std::uint32_t turn = 0;
  std::uint32_t barrier = 0;  // time of its last barrier
};

struct Cluster {
  int arrived = 0;            // at a barrier
  int awaiting = 0;           // mail
  std::uint32_t barrier = 0;  // time of its last barrier
  bool met = false;           // at one barrier at least: before it a block of the cluster may not have started
};

// Counts what is sent to a block, as the barrier object of a GPU does: a phase is complete when one thread has said
// how many bytes come and they have come.
struct Mailbox {
  bool expected = false;
  std::int64_t missing = 0;    // bytes; below zero where they came before they were expected
  std::uint32_t complete = 0;  // phases
};

// Lets a phase pass when so many have arrived and the bytes that were announced have come.
struct Gate {
  Stamp opened = 0;
  std::uint32_t number = 0;  // among those of all blocks
  bool told = false;         // by gates_opened
  int arrivals = 0, pending = 0;
  std::int64_t missing = 0;    // bytes; below zero where they came before they were expected
  std::uint32_t complete = 0;  // phases
  Clock gathered, released;    // what those that arrived knew, and what whoever passes learns
  Clock from, to;              // the last one that passed knew, and then knew
  std::vector<Thread*> waiting;
};

struct Warp {
  std::uint64_t ready = 0;
  std::uint64_t resting = 0;  // ready, but not before the next round
};

struct Block {
  int index = 0;
  std::uint32_t first_id = 0;  // of its threads
  Cluster* cluster = nullptr;
  std::vector<Thread> threads;
  std::vector<Group> groups;
  std::vector<Warp> warps;
  int arrived = 0, ended = 0;
  std::uint32_t start = 0;
  std::uint32_t barrier = 0;  // time of its last barrier
  // Any access before these times is ordered before any of this block's: the test that nearly all accesses pass.
  std::uint32_t settled_shared = 0, settled_global = 0;
  std::unique_ptr<unsigned char[]> shared;
  Cells cells;
  std::map<std::int64_t, Mailbox> mailboxes;        // by the byte of shared memory they lie at
  std::vector<bool> mailed;                         // cells that were sent to: mail orders these and no other memory
  std::uint32_t settled_mail = 0;                   // as settled_shared, for them
  std::map<std::int64_t, Gate> gates;               // by the byte of shared memory they lie at
  std::map<std::uint32_t, std::uint32_t> visitors;  // threads of other blocks: when each last came to its memory
  int awaited = 0;                                  // threads
  bool fenced = false, acquired = false;            // by a thread since the last barrier
  std::uint32_t everyone = 0;  // accesses before it were fenced by a thread that a barrier then joined
  std::shared_ptr<const Sealed> sealed;
  Known known, pending;
};

struct State {
  const Launch* launch = nullptr;
  Memory* memory = nullptr;
  Report* report = nullptr;
  Schedule schedule = Schedule::ascending;
  const std::function<void()>* kernel = nullptr;

  Thread* thread = nullptr;    // that runs now
  std::int64_t countdown = 0;  // accesses until the engine looks up
  std::int64_t countdown_from = 0;
  std::uint32_t now = 0;  // time
  std::uint32_t launch_start = 0;
  std::int64_t progress = 0;  // anything but waiting
  bool stop = false;

  std::vector<Block> live;
  std::vector<Cluster> clusters;
  Counters counters;
  // Of each cell that several threads changed atomically, in no order: when each block last did. Its stamp holds but
  // one time, and a block that never changed it need not be behind.
  std::unordered_map<const Cell*, std::map<int, std::uint32_t>> changed;
  std::uint64_t random = 0;
  bool gated = false;   // a gate was opened: readers of shared memory are listed
  bool fenced = false;  // for the copy engine, by some thread
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> readers;  // groups of 32, and times
  std::map<std::pair<Stamp, Stamp>, Stamp> listed;                            // readers_with, asked before
  mutable std::pair<Stamp, Stamp> asked{0, 0};                                // ordered, the last time
  mutable bool answered = false;

  std::uint64_t next_random();
  Stamp stamp() const { return make_stamp(now, thread->id); }
  std::uint32_t tick() { return ++now; }
  // Before what the current thread does now; `written`: the cell, where it is the stamp of its last change.
  bool ordered(Stamp earlier, const Cell* written) const;
  bool ordered_by_gates(Stamp earlier) const;
  bool ordered_readers(Stamp earlier) const;
  Circle circle_with(Stamp other) const;  // the smallest one that holds both
  void wait(At at);                       // the current thread suspends until woken
  void rest();                            // the current thread lets others run
  void look_up();                         // every `countdown` accesses
  void wake(Thread& thread);
  void rewind_countdown();
};

// The launch this OS thread is in. Fibers never move between OS threads.
extern thread_local State* state __attribute__((tls_model("initial-exec")));

// An addition of the current thread to a counter: what it tells, and what it learns (order.cpp).
void announce(std::uintptr_t counter);

// The readers of a cell of shared memory and the current thread (gates.cpp).
Stamp readers_with(Stamp touched, Stamp mine);
// All 32 threads of a group arrive, or all of a wave; the last one calls `last` with the first of them before they go
// on (order.cpp).
void meet(At at, void (*last)(Thread* first, int argument) = nullptr, int argument = 0, int size = 32);
// The stamp of what the copy engine brings to a gate now; bytes that come to it (gates.cpp).
Stamp brought_to(const Block& block, std::int64_t gate);
void bytes_arrive(Block& block, std::int64_t gate, std::int64_t bytes);
// Notes that the current thread comes to another block's memory, and whether it may (gates.cpp).
bool visit(Block& block, std::int64_t at, const char* does);
// At the end of a cluster: nobody came to a block that may have ended (gates.cpp).
void check_visitors();
// At the end of a thread: nothing is on its way (boxes.cpp).
void check_ended();
// What the copy engine and tensor cores read has been made visible to them (boxes.cpp).
void check_fenced(Block& block, std::int64_t at, int bytes);

// --- Findings (report.cpp). They name the current thread.
std::string place(const Allocation& range, std::int64_t offset);
void found(Finding::Kind kind, const std::string& where, const std::string& what);
void found_race(const std::string& where, const char* does, Stamp other, const char* did);
void found_stall(bool idle);  // nobody can go on

}  // namespace tokitai::lockstep
