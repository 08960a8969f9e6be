// Plans of products of integers where waves multiply bytes by themselves: the widest tile that leaves no processor
// idle.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "machines/device/fragment_shape.h"
#include "machines/device/plan_parts.h"

namespace tokitai::device {
namespace {

using i64 = std::int64_t;

i64 pieces(i64 count, i64 size) { return (count + size - 1) / size; }
i64 tiles(const FragmentPlan& p, const View& out) { return pieces(out.rows(), kTileRows) * pieces(out.cols(), p.cols); }

// The first that fits the target's shared memory; a narrow one where a wide one leaves processors idle, or where
// another plan is asked for.
void choose(FragmentPlan& p, const View& out, const Machinery& machinery) {
  struct Choice {
    int cols, stages;
  };
  constexpr std::array kChoices{Choice{96, 2}, Choice{64, 2}, Choice{64, 1}};
  for (const Choice& choice : kChoices) {
    p.cols = choice.cols, p.stages = choice.stages;
    if (fragment_tile(p).bytes > machinery.target.shared_bytes) continue;
    const bool idle = tiles(p, out) < machinery.multiprocessors;
    if (choice.cols == 64 || idle == (machinery.variant == 2)) break;
  }
  if (machinery.variant == 1) p.cols = 64, p.stages = 1, p.band = 1;
}

// Bytes of an access to the output where each run of a lane's columns is whole.
int access_of(const View& out, Fragment fragment) {
  const int run = run_of(fragment), element = static_cast<int>(size_of(out.type));
  return out.cols() % run == 0 ? std::min(alignment_of(out), run * element) : 0;
}

std::string_view name_of(Fragment fragment) {
  switch (fragment) {
    case Fragment::none: break;
    case Fragment::mma: return "mma.sync";
    case Fragment::mfma16:
    case Fragment::mfma32: return "MFMA";
    case Fragment::wmma11:
    case Fragment::wmma12: return "WMMA";
    case Fragment::dot4: return "dot products of four";
  }
  return "";
}

}  // namespace

Launch fragment_launch(const Call& call, const Record& record, const Machinery& machinery) {
  const View& out = call.operand(record.out);
  FragmentPlan p{};
  p.kinds = kinds_of(call.operands);
  p.fragment = machinery.target.fragment;
  p.band = 8;
  choose(p, out, machinery);
  p.access = access_of(out, p.fragment);
  Launch launch;
  launch.block = kFragmentThreads;
  launch.kernel = kernel_name(*call.contract, "");
  launch.shared_bytes = fragment_tile(p).bytes;
  launch.work = tiles(p, out);
  launch.source =
      source_of(call, machinery, "product_fragments.h", text_of(p), launch, "fragment_kernel<Definition, plan>", 1);
  launch.plan = fmt::format(
      "{} of bytes: tiles of {} x {}, {} of 128 of the contracted index, bands of {}; {}", name_of(p.fragment),
      kTileRows, p.cols, p.stages == 2 ? "two stages" : "one stage, the next in registers,", p.band,
      p.access > 0 ? fmt::format("outputs written by {} bytes", p.access) : std::string("outputs written one by one"));
  launch.constants = p;
  return launch;
}

}  // namespace tokitai::device
