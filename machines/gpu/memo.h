// Calls that were planned before: a call of the same operator, types, shapes, strides, alignments, flags, choices and
// zero pattern of its other options and its scalars takes the same launches; only pointers and numbers are put in anew.
// Planners may ask about no more than that.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "machines/device/plan.h"
#include "machines/gpu/queue.h"

namespace tokitai::gpu {

// A program whose kernels are loaded and whose grids are known.
struct Prepared {
  struct Step {
    Function* function;
    Grid grid;
    std::vector<device::MapPlan> maps;
    // What the driver made of them, and for which memory.
    device::Map made[device::kMaps] = {};
    const void* made_for[device::kMaps] = {};
  };
  std::vector<Step> steps;
  device::Pattern pattern = device::Pattern::row;
  bool refuses = false;
  device::Arguments arguments{};
  device::TensorTable tensors;
  std::int64_t workspace_bytes = 0;
  bool checked = false, counts = false;
  // The list's table on the device, and what was last put there.
  OwnedBlock table;
  device::TensorTable table_holds;

  // Puts this call's pointers, scalars and options in.
  void bind(const Call& call);
  // Whether `bind` gives what the planner gave, so that it serves for other calls too.
  bool bindable(const Call& call) const;
};

class Memo {
 public:
  // The key of a call, valid until the next.
  const std::string& key_of(const Call& call);
  Prepared* find(const std::string& key);
  Prepared* keep(const std::string& key, std::unique_ptr<Prepared> prepared);
  void clear() { known_.clear(); }

 private:
  static constexpr std::size_t kMost = 4096;
  std::string key_;
  std::unordered_map<std::string, std::unique_ptr<Prepared>> known_;
};

}  // namespace tokitai::gpu
