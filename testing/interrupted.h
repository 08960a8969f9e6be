// A call over a list, behind a journal, ended at every instant and taken on from there: it must come to the bits of a
// call that nobody disturbed.
#pragma once
#include <string>
#include <vector>

#include "problems/instance.h"
#include "testing/single_step.h"
#include "tokitai/device.h"

namespace tokitai::testing {

class Interrupted {
 public:
  static Result<Interrupted> make(const problems::Problem& problem);

  struct Found {
    std::int64_t instants = 0;                   // at which something had changed
    std::string first_failure;                   // empty: none
    bool traced = false;                         // false: the system does not let us look
    std::vector<std::vector<std::byte>> states;  // what was there at each of them
  };
  // Runs the call on `ended`, from a state that an earlier run was ended in or from its begin, and at each instant
  // takes it on in a copy on `other`.
  Found at_every_instant(Device& ended, Device& other, const std::vector<std::byte>* state = nullptr) const;

 private:
  Call over(std::byte* memory) const;
  std::span<const std::byte> operands_of(const std::vector<std::byte>& memory) const;
  std::string taken_on(std::vector<std::byte> memory, Device& other) const;

  Call call_;
  std::vector<std::array<std::int64_t, kMaxOperands>> offsets_;
  std::int64_t operands_ = 0;      // where they begin: behind the journal
  std::vector<std::byte> before_;  // journal and operands
  std::vector<std::byte> after_;
};

}  // namespace tokitai::testing
