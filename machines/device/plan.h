// From a checked call to launches: which kernels, specialised how, in what shape. Pure: no device and no compiler
// is asked, so every plan can be printed, compiled and audited anywhere.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "compiler/target.h"
#include "contract/contract.h"
#include "contract/record.h"
#include "contract/registry.h"
#include "machines/device/arguments.h"
#include "machines/device/plans.h"
#include "machines/device/tensor_table.h"

namespace tokitai::device {

using tokitai::Pattern;

struct Machinery {
  compiler::Target target;
  int multiprocessors = 1;
  // Another plan for the same call: 0 the best known, above it others that must give the same bits.
  int variant = 0;
};
inline constexpr int kVariants = 5;
// Those of a product that leave matrix instructions alone, and that take a wave's own where there are warpgroups too:
// of integers alone.
inline constexpr int kOrdinary = 3, kWaves = 4;

// The constants a kernel was made with; none where it has no place of its own to speak of (a check).
using Constants = std::variant<std::monostate, EachPlan, ListSumPlan, RowPlan, SegmentPlan, TilePlan, ProductPlan,
                               PackPlan, SlotPlan, FragmentPlan>;

// A matrix for the copy engine: an operand, or from a byte of the workspace on; sizes and boxes in elements, the row
// first; strides in bytes.
struct MapPlan {
  int operand = -1;
  std::int64_t offset = 0;
  Kind kind = Kind::absent;          // absent: bytes
  std::int64_t size[3] = {0, 0, 0};  // none: there is no such map
  std::int64_t stride[2] = {0, 0};
  int box[2] = {0, 0};
  bool swizzled = false;  // a box's pieces of 16 bytes lie crossed with its rows, in shared memory
};

struct Launch {
  std::string source;  // the main text
  std::string kernel;  // its extern "C" name
  std::string plan;    // in words
  int block = 0;
  int shared_bytes = 0;
  int cluster = 1;
  bool cooperative = false;
  bool integer_atomics = false;  // the audit lets these pass: their outcome does not depend on their order
  std::int64_t work = 0;         // blocks wanted
  bool follows = false;          // may be set up while the launch before it runs: it waits for it itself
  Constants constants{};         // as in the text: what the prover speaks about
  bool hopper_sums = false;      // the audit lets tensor cores pass: their sums are the arithmetic that was asked for
  std::vector<MapPlan> maps;     // kMaps of them, or none: then the kernel takes Arguments alone
  bool persistent = false;       // at most as many blocks as the device holds at once, a multiple of `cluster`
};

struct Program {
  Pattern pattern = Pattern::row;
  std::vector<Launch> launches;
  Arguments arguments{};  // tensors, workspace, flag and counter are still null
  TensorTable tensors;
  std::int64_t workspace_bytes = 0;
  bool checked = false;  // the flag is used
  bool refuses = false;  // and says what is refused, not only that nothing is done
  bool counts = false;   // the counter is used
};

// The call has passed its contract's check; its operands' pointers are the device's.
Result<Program> plan(const Call& call, const Machinery& machinery);

// Where device text comes from: every header a kernel can include, by its include name.
struct Text {
  std::string_view name, text;
};
std::vector<Text> device_headers();
// The same for the lockstep machine, which has the host's standard headers and its own alias header.
std::vector<Text> lockstep_headers();

// What a check's flag says after the launches of such a pattern.
Answer answer_of(Pattern pattern, std::uint64_t flag);

}  // namespace tokitai::device
