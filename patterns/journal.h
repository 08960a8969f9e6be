// A journal lets a call over a list be ended at any instant and taken on by another process, in place and with the same
// bits: before a few elements are updated, their old values are put where that process will find them.
//
// A unit of the list is worked on by one thread, in pieces of kPiece elements of a tensor. Its record in the journal
// has a mark and room for the old values of two pieces, in turns:
//   1. the piece's old values are copied to the record,
//   2. the mark says so: this piece is kept, all pieces before it are done,
//   3. the piece is updated.
// The next piece's old values go beside them, so that whatever the mark says is kept stays whole until the mark says
// otherwise. A process that is ended leaves what it stored up to an instant, in the order of its program: so whoever
// takes on puts back the piece that is kept, if any, and goes on from there. An element's new value depends on its old
// ones alone, so the bits are those of a call that nobody disturbed.
//
// Marks carry the number of their call: those of earlier calls count for nothing, and nothing has to be cleared.
#pragma once
#include <array>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "contract/roles.h"
#include "patterns/list.h"

namespace tokitai {

class Journal {
 public:
  // Small enough that a piece, the next one and their old values stay in the first cache: 256 took 30 % longer.
  static constexpr std::int64_t kPiece = 64;
  static constexpr std::int64_t kLine = 64;
  static constexpr int kMostUpdated = 4;  // operands of a set that are written
  static constexpr std::int64_t kMostElementBytes = 4;
  static constexpr std::int64_t kRecordBytes = kLine + 2 * kMostUpdated * kPiece * kMostElementBytes;
  // Of a journal for that many elements.
  static constexpr std::int64_t bytes(std::int64_t elements) {
    return kLine + (elements / kListUnit + 1) * kRecordBytes;
  }
  // Whether calls of that operator can keep one.
  static bool suits(const Contract& contract) {
    int updated = 0;
    for (const OperandSpec& spec : contract.operands)
      if (updates(contract, spec)) {
        if (spec.type == TypeRule::index || spec.type == TypeRule::i64) return false;
        ++updated;
      }
    return contract.list && updated > 0 && updated <= kMostUpdated;
  }

  explicit TK_FN Journal(std::byte* memory) : memory_(memory) {}

  // By who asks for the call, before it is first tried: a number that this memory has not seen, greater than 0.
  TK_FN void open(std::uint64_t number) const { head()[0] = number; }
  // Whether elements may have been written. Until then the call can be refused or called off.
  TK_FN bool begun() const { return head()[1] == head()[0]; }
  TK_FN void begin() const {
    head()[1] = head()[0];
    in_order();
  }

  // Where the old values of a piece are kept, for each operand that the call writes.
  using Kept = std::array<std::byte*, kMaxOperands>;

  // Updates what is not done of a unit: `update`(tensor, begin, end) for each piece. Where the next one is whole and in
  // the same tensor it is, if there is one, `update_and_keep`(tensor, begin, kept) instead, which copies that one's
  // values to `kept`, too.
  template <class Update, class UpdateAndKeep = std::nullptr_t>
  TK_FN void work(const Call& call, std::int64_t unit, Update update, UpdateAndKeep update_and_keep = {}) const {
    constexpr bool kKeepsAhead = !std::is_null_pointer_v<UpdateAndKeep>;
    const Record record(*this, call, unit);
    const std::int64_t done = record.done();
    std::int64_t piece = 0;
    for_each_run(call, unit, [&](std::int64_t, const Operands& tensor, std::int64_t begin, std::int64_t end) {
      bool kept = false;
      for (; begin < end; begin += kPiece, ++piece) {
        if (piece < done) continue;
        if (!kept) record.keep(tensor, piece, begin, std::min(end, begin + kPiece));
        record.mark(2 * piece + 1);
        kept = kKeepsAhead && end - begin >= 2 * kPiece;
        if constexpr (kKeepsAhead)
          if (kept) update_and_keep(tensor, begin, record.kept(piece + 1));
        if (!kept) update(tensor, begin, std::min(end, begin + kPiece));
      }
    });
    record.mark(2 * piece);
  }

  // Puts back what the call that was ended kept. Before anything is updated.
  TK_FN void put_back(const Call& call) const {
    const std::int64_t units = list_units(list_elements(call));
    for (std::int64_t unit = 0; unit < units; ++unit) {
      const Record record(*this, call, unit);
      if (!record.keeps()) continue;
      const std::int64_t kept = record.done();
      std::int64_t piece = 0;
      for_each_run(call, unit, [&](std::int64_t, const Operands& tensor, std::int64_t begin, std::int64_t end) {
        for (; begin < end; begin += kPiece)
          if (piece++ == kept) record.put_back(tensor, kept, begin, std::min(end, begin + kPiece));
      });
      record.mark(2 * kept);
    }
  }

 private:
  // What a call has once depends on no element that it updates: it is written as often as it is tried.
  static TK_FN bool updates(const Contract& contract, const OperandSpec& spec) {
    return writes(spec) && !contract.has_once(spec);
  }

  // A unit's record. Its mark is twice the number of pieces that are done, and one more where the next is kept.
  class Record {
   public:
    TK_FN Record(const Journal& journal, const Call& call, std::int64_t unit)
        : memory_(journal.memory_ + kLine + unit * kRecordBytes), number_(journal.head()[0] << kMarkBits) {
      std::byte* room = memory_ + kLine;
      for (Kept& kept : kept_) {
        std::size_t i = 0;
        for (const OperandSpec& spec : call.contract->operands) {
          const bool updated = updates(*call.contract, spec);
          kept[i++] = updated ? room : nullptr;
          if (updated) room += kPiece * kMostElementBytes;
        }
        operands_ = i;
      }
    }
    TK_FN std::int64_t done() const { return state() >> 1; }
    TK_FN bool keeps() const { return (state() & 1) != 0; }
    // Whatever was stored before is there when the mark is, and whatever is stored later comes later.
    TK_FN void mark(std::int64_t state) const {
      in_order();
      word() = number_ + static_cast<std::uint64_t>(state);
      in_order();
    }

    TK_FN const Kept& kept(std::int64_t piece) const { return kept_[static_cast<std::size_t>(piece & 1)]; }
    TK_FN void keep(const Operands& tensor, std::int64_t piece, std::int64_t begin, std::int64_t end) const {
      each_kept(tensor, piece, begin, end,
                [](std::byte* kept, std::byte* elements, std::size_t bytes) { std::memcpy(kept, elements, bytes); });
    }
    TK_FN void put_back(const Operands& tensor, std::int64_t piece, std::int64_t begin, std::int64_t end) const {
      each_kept(tensor, piece, begin, end,
                [](std::byte* kept, std::byte* elements, std::size_t bytes) { std::memcpy(elements, kept, bytes); });
    }

   private:
    static constexpr int kMarkBits = 20;  // twice the pieces of a unit, were they of one element each

    TK_FN std::uint64_t& word() const { return *reinterpret_cast<std::uint64_t*>(memory_); }
    TK_FN std::int64_t state() const {
      const std::uint64_t mark = word();
      return mark >> kMarkBits << kMarkBits == number_ ? static_cast<std::int64_t>(mark - number_) : 0;
    }
    template <class F>
    TK_FN void each_kept(const Operands& tensor, std::int64_t piece, std::int64_t begin, std::int64_t end,
                         F visit) const {
      for (std::size_t i = 0; i < operands_; ++i) {
        if (kept(piece)[i] == nullptr || !tensor[i].present()) continue;
        const auto size = static_cast<std::int64_t>(size_of(tensor[i].type));
        visit(kept(piece)[i], static_cast<std::byte*>(tensor[i].data) + begin * size,
              static_cast<std::size_t>((end - begin) * size));
      }
    }

    std::byte* memory_;
    std::uint64_t number_;
    std::array<Kept, 2> kept_;
    std::size_t operands_ = 0;
  };

  // Stores before it are made before stores after it, by the compiler and by processors that reorder them.
  static TK_FN void in_order() { std::atomic_thread_fence(std::memory_order_release); }
  TK_FN std::uint64_t* head() const { return reinterpret_cast<std::uint64_t*>(memory_); }

  std::byte* memory_;
};

}  // namespace tokitai
