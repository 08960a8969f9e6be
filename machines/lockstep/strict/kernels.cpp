// Every kernel over plans that together take every path of the device text, compiled as kernels are for the lockstep
// machine: memory is indexed by places only. A tree with an access that goes around the proved functions does not
// build. Nothing is linked with it. The plans are such as the planner makes (`tokitai compile --emit plan`).
#include "machines/device/alias_tensor.h"
// All words come first: behind memory.h no kernel may say what they are made of.
#include "machines/device/each.h"
#include "machines/device/each_tensor.h"
#include "machines/device/list_sum.h"
#include "machines/device/product.h"
#include "machines/device/product_fragments.h"
#include "machines/device/product_pack.h"
#include "machines/device/row_kernels.h"
#include "machines/device/segment.h"
#include "machines/device/tile.h"
#include "operators/adamw/definition.h"
#include "operators/cast/definition.h"
#include "operators/cross_entropy/definition.h"
#include "operators/embedding/definition.h"
#include "operators/gemm/definition.h"
#include "operators/gradient/definition.h"
#include "operators/layernorm/definition.h"
#include "operators/rmsnorm/definition.h"
#include "operators/rope/definition.h"
#include "operators/softmax/definition.h"
#include "operators/specimen/definition.h"
#include "operators/swiglu/definition.h"

namespace tokitai::device {

// clang-format off: a plan is a line
constexpr EachPlan kPlan0{.kinds = 0x31331, .operands = 5, .mixed = 0x0, .zeros = 0xc00, .wide = 4, .turns = 1, .threads = 256, .checked = false, .checked_once = false};
template void each_kernel<adamw::Step, kPlan0>(const Arguments&);
constexpr EachPlan kPlan1{.kinds = 0x53333333, .operands = 5, .mixed = 0x10, .zeros = 0xc00, .wide = 4, .turns = 3, .threads = 256, .checked = true, .checked_once = true};
template void each_check_kernel<adamw::Step, kPlan1>(const Arguments&);
template void each_kernel<adamw::Step, kPlan1>(const Arguments&);
constexpr EachPlan kPlan2{.kinds = 0x2332, .operands = 5, .mixed = 0x0, .zeros = 0xc00, .wide = 4, .turns = 1, .threads = 256, .checked = false, .checked_once = false};
template void each_kernel<adamw::Step, kPlan2>(const Arguments&);
constexpr EachPlan kPlan3{.kinds = 0x1331, .operands = 5, .mixed = 0x0, .zeros = 0xc00, .wide = 8, .turns = 1, .threads = 256, .checked = false, .checked_once = false};
template void each_kernel<adamw::Step, kPlan3>(const Arguments&);
constexpr RowPlan kPlan4{.kinds = 0x1351, .staged = 0x1, .ahead = 0x2, .sums = 0x0, .made = 0x8, .zeros = 0xfed, .cols = 0, .wide = 8, .chunks = 1, .threads = 256, .teams = 8, .cluster = 1, .stages = 2, .access = 4, .guard = Guard::elements, .on_chip = true, .blind = false, .held = false, .checked = true, .finishes = false};
template void row_kernel<cross_entropy::ForwardBackward, kPlan4>(const Arguments&);
constexpr RowPlan kPlan5{.kinds = 0x532352, .staged = 0x1, .ahead = 0x2, .sums = 0x0, .made = 0x8, .zeros = 0xfe0, .cols = 0, .wide = 4, .chunks = 8, .threads = 256, .teams = 8, .cluster = 4, .stages = 2, .access = 2, .guard = Guard::elements, .on_chip = true, .blind = false, .held = false, .checked = true, .finishes = true};
template void row_check_kernel<cross_entropy::ForwardBackward, kPlan5, true>(const Arguments&);
constexpr RowPlan kPlan6{.kinds = 0x1351, .staged = 0x1, .ahead = 0x2, .sums = 0x0, .made = 0x8, .zeros = 0xfed, .cols = 262144, .wide = 8, .chunks = 8, .threads = 256, .teams = 1, .cluster = 1, .stages = 1, .access = 16, .guard = Guard::vectors, .on_chip = false, .blind = false, .held = false, .checked = true, .finishes = false};
template void row_kernel<cross_entropy::ForwardBackward, kPlan6>(const Arguments&);
constexpr RowPlan kPlan7{.kinds = 0x1351, .staged = 0x1, .ahead = 0x2, .sums = 0x0, .made = 0x8, .zeros = 0xfed, .cols = 32768, .wide = 4, .chunks = 8, .threads = 512, .teams = 1, .cluster = 2, .stages = 2, .access = 8, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = true, .finishes = false};
template void row_kernel<cross_entropy::ForwardBackward, kPlan7>(const Arguments&);
constexpr RowPlan kPlan8{.kinds = 0x1351, .staged = 0x1, .ahead = 0x2, .sums = 0x0, .made = 0x8, .zeros = 0xfed, .cols = 40000, .wide = 8, .chunks = 8, .threads = 256, .teams = 8, .cluster = 2, .stages = 2, .access = 16, .guard = Guard::vectors, .on_chip = true, .blind = true, .held = false, .checked = true, .finishes = false};
template void row_check_kernel<cross_entropy::ForwardBackward, kPlan8, false>(const Arguments&);
constexpr RowPlan kPlan9{.kinds = 0x1351, .staged = 0x1, .ahead = 0x2, .sums = 0x0, .made = 0x8, .zeros = 0xfed, .cols = 32768, .wide = 8, .chunks = 8, .threads = 256, .teams = 8, .cluster = 1, .stages = 2, .access = 16, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = true, .finishes = false};
template void row_check_kernel<cross_entropy::ForwardBackward, kPlan9, true>(const Arguments&);
constexpr RowPlan kPlan10{.kinds = 0x533343, .staged = 0x1, .ahead = 0x2, .sums = 0x0, .made = 0x8, .zeros = 0xfed, .cols = 0, .wide = 8, .chunks = 1, .threads = 256, .teams = 8, .cluster = 1, .stages = 2, .access = 16, .guard = Guard::elements, .on_chip = true, .blind = false, .held = false, .checked = true, .finishes = true};
template void row_kernel<cross_entropy::ForwardBackward, kPlan10>(const Arguments&);
constexpr RowPlan kPlan11{.kinds = 0x1351, .staged = 0x1, .ahead = 0x2, .sums = 0x0, .made = 0x8, .zeros = 0xfed, .cols = 40000, .wide = 8, .chunks = 8, .threads = 320, .teams = 1, .cluster = 2, .stages = 2, .access = 16, .guard = Guard::vectors, .on_chip = true, .blind = true, .held = false, .checked = true, .finishes = false};
template void row_kernel<cross_entropy::ForwardBackward, kPlan11>(const Arguments&);
constexpr RowPlan kPlan12{.kinds = 0x1351, .staged = 0x1, .ahead = 0x2, .sums = 0x0, .made = 0x8, .zeros = 0xfed, .cols = 32768, .wide = 8, .chunks = 8, .threads = 256, .teams = 8, .cluster = 1, .stages = 1, .access = 16, .guard = Guard::vectors, .on_chip = false, .blind = false, .held = false, .checked = true, .finishes = false};
template void row_check_kernel<cross_entropy::ForwardBackward, kPlan12, false>(const Arguments&);
constexpr RowPlan kPlan13{.kinds = 0x22233222, .staged = 0x3, .ahead = 0x18, .sums = 0xc0, .made = 0x20, .zeros = 0xfff, .cols = 512, .wide = 4, .chunks = 2, .threads = 64, .teams = 1, .cluster = 1, .stages = 2, .access = 8, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<layernorm::Backward, kPlan13>(const Arguments&);
constexpr RowPlan kPlan14{.kinds = 0x22233222, .staged = 0x3, .ahead = 0x18, .sums = 0xc0, .made = 0x20, .zeros = 0xfff, .cols = 0, .wide = 8, .chunks = 8, .threads = 32, .teams = 1, .cluster = 1, .stages = 1, .access = 2, .guard = Guard::elements, .on_chip = false, .blind = false, .held = false, .checked = false, .finishes = false};
template void column_kernel<kPlan14>(const Arguments&);
constexpr RowPlan kPlan15{.kinds = 0x33133111, .staged = 0x3, .ahead = 0x18, .sums = 0xc0, .made = 0x20, .zeros = 0xfff, .cols = 4096, .wide = 8, .chunks = 8, .threads = 64, .teams = 1, .cluster = 1, .stages = 1, .access = 16, .guard = Guard::vectors, .on_chip = false, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<layernorm::Backward, kPlan15>(const Arguments&);
constexpr RowPlan kPlan16{.kinds = 0x33133111, .staged = 0x3, .ahead = 0x18, .sums = 0xc0, .made = 0x20, .zeros = 0xfff, .cols = 20000, .wide = 4, .chunks = 8, .threads = 32, .teams = 1, .cluster = 4, .stages = 2, .access = 8, .guard = Guard::vectors, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void column_kernel<kPlan16>(const Arguments&);
constexpr RowPlan kPlan17{.kinds = 0x33333333, .staged = 0x3, .ahead = 0x18, .sums = 0xc0, .made = 0x20, .zeros = 0xfff, .cols = 0, .wide = 4, .chunks = 1, .threads = 64, .teams = 1, .cluster = 1, .stages = 2, .access = 16, .guard = Guard::elements, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<layernorm::Backward, kPlan17>(const Arguments&);
constexpr RowPlan kPlan18{.kinds = 0x22233222, .staged = 0x3, .ahead = 0x18, .sums = 0xc0, .made = 0x20, .zeros = 0xfff, .cols = 512, .wide = 4, .chunks = 2, .threads = 32, .teams = 1, .cluster = 1, .stages = 2, .access = 8, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void column_kernel<kPlan18>(const Arguments&);
constexpr RowPlan kPlan19{.kinds = 0x331111, .staged = 0x1, .ahead = 0x0, .sums = 0x0, .made = 0x8, .zeros = 0xffe, .cols = 4096, .wide = 8, .chunks = 8, .threads = 64, .teams = 1, .cluster = 1, .stages = 1, .access = 16, .guard = Guard::vectors, .on_chip = false, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<layernorm::Forward, kPlan19>(const Arguments&);
constexpr RowPlan kPlan20{.kinds = 0x333333, .staged = 0x1, .ahead = 0x0, .sums = 0x0, .made = 0x8, .zeros = 0xffe, .cols = 0, .wide = 8, .chunks = 4, .threads = 256, .teams = 8, .cluster = 1, .stages = 1, .access = 4, .guard = Guard::elements, .on_chip = true, .blind = false, .held = true, .checked = false, .finishes = false};
template void row_kernel<layernorm::Forward, kPlan20>(const Arguments&);
constexpr RowPlan kPlan21{.kinds = 0x331111, .staged = 0x1, .ahead = 0x0, .sums = 0x0, .made = 0x8, .zeros = 0xffe, .cols = 2048, .wide = 8, .chunks = 8, .threads = 256, .teams = 8, .cluster = 1, .stages = 2, .access = 16, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<layernorm::Forward, kPlan21>(const Arguments&);
constexpr RowPlan kPlan22{.kinds = 0x331111, .staged = 0x1, .ahead = 0x0, .sums = 0x0, .made = 0x8, .zeros = 0xffe, .cols = 40000, .wide = 4, .chunks = 8, .threads = 320, .teams = 1, .cluster = 4, .stages = 2, .access = 8, .guard = Guard::vectors, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<layernorm::Forward, kPlan22>(const Arguments&);
constexpr RowPlan kPlan23{.kinds = 0x333, .staged = 0x3, .ahead = 0x0, .sums = 0x0, .made = 0x4, .zeros = 0xfff, .cols = 0, .wide = 8, .chunks = 4, .threads = 256, .teams = 8, .cluster = 1, .stages = 1, .access = 4, .guard = Guard::elements, .on_chip = true, .blind = false, .held = true, .checked = false, .finishes = false};
template void row_kernel<softmax::Backward, kPlan23>(const Arguments&);
constexpr RowPlan kPlan24{.kinds = 0x222, .staged = 0x3, .ahead = 0x0, .sums = 0x0, .made = 0x4, .zeros = 0xfff, .cols = 4104, .wide = 8, .chunks = 8, .threads = 96, .teams = 1, .cluster = 1, .stages = 2, .access = 16, .guard = Guard::vectors, .on_chip = true, .blind = true, .held = false, .checked = false, .finishes = false};
template void row_kernel<softmax::Backward, kPlan24>(const Arguments&);
constexpr RowPlan kPlan25{.kinds = 0x111, .staged = 0x3, .ahead = 0x0, .sums = 0x0, .made = 0x4, .zeros = 0xfff, .cols = 32768, .wide = 4, .chunks = 8, .threads = 512, .teams = 1, .cluster = 2, .stages = 2, .access = 8, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<softmax::Backward, kPlan25>(const Arguments&);
constexpr RowPlan kPlan26{.kinds = 0x111, .staged = 0x3, .ahead = 0x0, .sums = 0x0, .made = 0x4, .zeros = 0xfff, .cols = 32768, .wide = 8, .chunks = 8, .threads = 512, .teams = 1, .cluster = 1, .stages = 1, .access = 16, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<softmax::Backward, kPlan26>(const Arguments&);
constexpr RowPlan kPlan27{.kinds = 0x111, .staged = 0x3, .ahead = 0x0, .sums = 0x0, .made = 0x4, .zeros = 0xfff, .cols = 32768, .wide = 8, .chunks = 8, .threads = 256, .teams = 1, .cluster = 1, .stages = 1, .access = 16, .guard = Guard::vectors, .on_chip = false, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<softmax::Backward, kPlan27>(const Arguments&);
constexpr RowPlan kPlan28{.kinds = 0x333, .staged = 0x3, .ahead = 0x0, .sums = 0x0, .made = 0x4, .zeros = 0xfff, .cols = 0, .wide = 8, .chunks = 8, .threads = 288, .teams = 1, .cluster = 2, .stages = 1, .access = 4, .guard = Guard::elements, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<softmax::Backward, kPlan28>(const Arguments&);
constexpr RowPlan kPlan29{.kinds = 0x11, .staged = 0x1, .ahead = 0x0, .sums = 0x0, .made = 0x2, .zeros = 0xfff, .cols = 33000, .wide = 8, .chunks = 8, .threads = 288, .teams = 1, .cluster = 2, .stages = 2, .access = 16, .guard = Guard::vectors, .on_chip = true, .blind = true, .held = false, .checked = false, .finishes = false};
template void row_kernel<softmax::Forward, kPlan29>(const Arguments&);
constexpr RowPlan kPlan30{.kinds = 0x22, .staged = 0x1, .ahead = 0x0, .sums = 0x0, .made = 0x2, .zeros = 0xfff, .cols = 1024, .wide = 8, .chunks = 4, .threads = 256, .teams = 8, .cluster = 1, .stages = 2, .access = 2, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<softmax::Forward, kPlan30>(const Arguments&);
constexpr RowPlan kPlan31{.kinds = 0x33, .staged = 0x1, .ahead = 0x0, .sums = 0x0, .made = 0x2, .zeros = 0xfff, .cols = 0, .wide = 8, .chunks = 8, .threads = 64, .teams = 1, .cluster = 1, .stages = 2, .access = 4, .guard = Guard::elements, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<softmax::Forward, kPlan31>(const Arguments&);
constexpr RowPlan kPlan32{.kinds = 0x11, .staged = 0x1, .ahead = 0x0, .sums = 0x0, .made = 0x2, .zeros = 0xfff, .cols = 262144, .wide = 8, .chunks = 8, .threads = 256, .teams = 1, .cluster = 1, .stages = 1, .access = 16, .guard = Guard::vectors, .on_chip = false, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<softmax::Forward, kPlan32>(const Arguments&);
constexpr RowPlan kPlan33{.kinds = 0x11, .staged = 0x1, .ahead = 0x0, .sums = 0x0, .made = 0x2, .zeros = 0xfff, .cols = 262144, .wide = 8, .chunks = 8, .threads = 512, .teams = 1, .cluster = 8, .stages = 1, .access = 16, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<softmax::Forward, kPlan33>(const Arguments&);
constexpr SegmentPlan kPlan34{.kinds = 0x343, .wide = 4, .access = 4, .whole = false, .threads = 256, .ahead = 8, .digit_bits = 5, .index = 1, .padding_option = 1, .padding = false, .accumulate = false, .gathers = false};
template void segment_kernel<embedding::Backward, kPlan34>(const Arguments&);
constexpr SegmentPlan kPlan35{.kinds = 0x352, .wide = 8, .access = 2, .whole = false, .threads = 256, .ahead = 8, .digit_bits = 9, .index = 1, .padding_option = 1, .padding = true, .accumulate = true, .gathers = false};
template void segment_kernel<embedding::Backward, kPlan35>(const Arguments&);
constexpr SegmentPlan kPlan36{.kinds = 0x151, .wide = 8, .access = 16, .whole = true, .threads = 256, .ahead = 8, .digit_bits = 5, .index = 1, .padding_option = 1, .padding = false, .accumulate = false, .gathers = false};
template void segment_kernel<embedding::Backward, kPlan36>(const Arguments&);
constexpr SegmentPlan kPlan37{.kinds = 0x351, .wide = 8, .access = 2, .whole = false, .threads = 256, .ahead = 8, .digit_bits = 5, .index = 1, .padding_option = 1, .padding = false, .accumulate = true, .gathers = false};
template void segment_kernel<embedding::Backward, kPlan37>(const Arguments&);
constexpr SegmentPlan kPlan38{.kinds = 0x151, .wide = 4, .access = 8, .whole = true, .threads = 256, .ahead = 8, .digit_bits = 9, .index = 1, .padding_option = 1, .padding = false, .accumulate = false, .gathers = false};
template void segment_kernel<embedding::Backward, kPlan38>(const Arguments&);
constexpr SegmentPlan kPlan39{.kinds = 0x141, .wide = 8, .access = 4, .whole = false, .threads = 256, .ahead = 8, .digit_bits = 5, .index = 1, .padding_option = 0, .padding = true, .accumulate = false, .gathers = true};
template void segment_kernel<embedding::Forward, kPlan39>(const Arguments&);
constexpr SegmentPlan kPlan40{.kinds = 0x353, .wide = 4, .access = 16, .whole = true, .threads = 256, .ahead = 8, .digit_bits = 9, .index = 1, .padding_option = 0, .padding = false, .accumulate = false, .gathers = true};
template void segment_kernel<embedding::Forward, kPlan40>(const Arguments&);
constexpr SegmentPlan kPlan41{.kinds = 0x252, .wide = 8, .access = 2, .whole = false, .threads = 256, .ahead = 8, .digit_bits = 5, .index = 1, .padding_option = 0, .padding = false, .accumulate = false, .gathers = true};
template void segment_kernel<embedding::Forward, kPlan41>(const Arguments&);
constexpr SegmentPlan kPlan42{.kinds = 0x353, .wide = 2, .access = 4, .whole = false, .threads = 256, .ahead = 8, .digit_bits = 9, .index = 1, .padding_option = 0, .padding = true, .accumulate = false, .gathers = true};
template void segment_kernel<embedding::Forward, kPlan42>(const Arguments&);
constexpr SegmentPlan kPlan43{.kinds = 0x151, .wide = 4, .access = 8, .whole = true, .threads = 256, .ahead = 8, .digit_bits = 9, .index = 1, .padding_option = 0, .padding = false, .accumulate = false, .gathers = true};
template void segment_kernel<embedding::Forward, kPlan43>(const Arguments&);
constexpr TilePlan kPlan44{.kinds = 0x111, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {16, 16, 16}};
template void tile_kernel<gemm::Forward, kPlan44>(const Arguments&);
constexpr TilePlan kPlan45{.kinds = 0x222, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {2, 2, 2}};
template void tile_kernel<gemm::Forward, kPlan45>(const Arguments&);
constexpr TilePlan kPlan46{.kinds = 0x333, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {4, 16, 16}};
template void tile_kernel<gemm::Forward, kPlan46>(const Arguments&);
constexpr TilePlan kPlan47{.kinds = 0x322, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {8, 8, 16}};
template void tile_kernel<gemm::Forward, kPlan47>(const Arguments&);
constexpr TilePlan kPlan48{.kinds = 0x333, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {16, 16, 16}};
template void tile_kernel<gemm::GradA, kPlan48>(const Arguments&);
constexpr TilePlan kPlan49{.kinds = 0x111, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {2, 2, 2}};
template void tile_kernel<gemm::GradA, kPlan49>(const Arguments&);
constexpr TilePlan kPlan50{.kinds = 0x222, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {16, 8, 16}};
template void tile_kernel<gemm::GradB, kPlan50>(const Arguments&);
constexpr TilePlan kPlan51{.kinds = 0x111, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {2, 4, 2}};
template void tile_kernel<gemm::GradB, kPlan51>(const Arguments&);
constexpr TilePlan kPlan52{.kinds = 0x333, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {4, 4, 4}};
template void tile_kernel<gemm::GradB, kPlan52>(const Arguments&);
constexpr TilePlan kPlan53{.kinds = 0x111, .rows = 256, .cols = 128, .inner = 16, .thread_rows = 16, .thread_cols = 8, .access = {16, 16, 16}};
template void tile_kernel<gemm::GradB, kPlan53>(const Arguments&);
constexpr TilePlan kPlan53a{.kinds = 0x13111, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {16, 16, 16}, .arithmetic = Arithmetic::block15};
template void tile_kernel<gemm::Forward, kPlan53a>(const Arguments&);
constexpr TilePlan kPlan53b{.kinds = 0x3222, .rows = 64, .cols = 64, .inner = 16, .thread_rows = 4, .thread_cols = 4, .access = {2, 4, 2}, .arithmetic = Arithmetic::hopper};
template void tile_kernel<gemm::GradA, kPlan53b>(const Arguments&);
constexpr RowPlan kPlan54{.kinds = 0x1351, .staged = 0x1, .ahead = 0x2, .sums = 0x0, .made = 0x8, .zeros = 0xfcd, .cols = 0, .wide = 8, .chunks = 1, .threads = 256, .teams = 8, .cluster = 1, .stages = 2, .access = 4, .guard = Guard::elements, .on_chip = true, .blind = false, .held = false, .checked = true, .finishes = false};
template void row_kernel<cross_entropy::ForwardBackward, kPlan54>(const Arguments&);
constexpr RowPlan kPlan55{.kinds = 0x3111, .staged = 0x1, .ahead = 0x0, .sums = 0x0, .made = 0x4, .zeros = 0xffe, .cols = 1024, .wide = 8, .chunks = 4, .threads = 256, .teams = 8, .cluster = 1, .stages = 2, .access = 16, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<rmsnorm::Forward, kPlan55>(const Arguments&);
constexpr RowPlan kPlan56{.kinds = 0x333111, .staged = 0x11, .ahead = 0x0, .sums = 0x0, .made = 0x24, .zeros = 0xffe, .cols = 4096, .wide = 4, .chunks = 8, .threads = 128, .teams = 1, .cluster = 1, .stages = 2, .access = 16, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<rmsnorm::Forward, kPlan56>(const Arguments&);
constexpr RowPlan kPlan57{.kinds = 0x333111, .staged = 0x11, .ahead = 0x0, .sums = 0x0, .made = 0x24, .zeros = 0xffe, .cols = 1024, .wide = 8, .chunks = 4, .threads = 256, .teams = 8, .cluster = 1, .stages = 1, .access = 16, .guard = Guard::none, .on_chip = true, .blind = false, .held = true, .checked = false, .finishes = false};
template void row_kernel<rmsnorm::Forward, kPlan57>(const Arguments&);
constexpr RowPlan kPlan58{.kinds = 0x223222, .staged = 0x11, .ahead = 0x0, .sums = 0x0, .made = 0x24, .zeros = 0xffe, .cols = 0, .wide = 8, .chunks = 8, .threads = 256, .teams = 1, .cluster = 1, .stages = 1, .access = 2, .guard = Guard::elements, .on_chip = false, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<rmsnorm::Forward, kPlan58>(const Arguments&);
constexpr RowPlan kPlan59{.kinds = 0x313111, .staged = 0x3, .ahead = 0x8, .sums = 0x20, .made = 0x10, .zeros = 0xfff, .cols = 1024, .wide = 4, .chunks = 4, .threads = 64, .teams = 1, .cluster = 1, .stages = 2, .access = 8, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<rmsnorm::Backward, kPlan59>(const Arguments&);
template void column_kernel<kPlan59>(const Arguments&);
constexpr RowPlan kPlan60{.kinds = 0x3333131, .staged = 0x43, .ahead = 0x8, .sums = 0x20, .made = 0x10, .zeros = 0xfff, .cols = 0, .wide = 4, .chunks = 8, .threads = 64, .teams = 1, .cluster = 1, .stages = 2, .access = 4, .guard = Guard::elements, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<rmsnorm::Backward, kPlan60>(const Arguments&);
template void column_kernel<kPlan60>(const Arguments&);
constexpr RowPlan kPlan61{.kinds = 0x2223222, .staged = 0x43, .ahead = 0x8, .sums = 0x20, .made = 0x10, .zeros = 0xfff, .cols = 0, .wide = 8, .chunks = 8, .threads = 256, .teams = 1, .cluster = 1, .stages = 1, .access = 16, .guard = Guard::vectors, .on_chip = false, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<rmsnorm::Backward, kPlan61>(const Arguments&);
constexpr RowPlan kPlan62{.kinds = 0x33133331, .staged = 0x5, .ahead = 0x0, .sums = 0x92, .made = 0x60, .zeros = 0xfff, .cols = 512, .wide = 4, .chunks = 2, .threads = 64, .teams = 1, .cluster = 1, .stages = 2, .access = 16, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<specimen::Rows, kPlan62>(const Arguments&);
template void column_kernel<kPlan62>(const Arguments&);
constexpr RowPlan kPlan63{.kinds = 0x10103011, .staged = 0x1, .ahead = 0x0, .sums = 0x82, .made = 0x20, .zeros = 0xfff, .cols = 0, .wide = 8, .chunks = 8, .threads = 32, .teams = 1, .cluster = 1, .stages = 1, .access = 2, .guard = Guard::elements, .on_chip = false, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<specimen::Rows, kPlan63>(const Arguments&);
template void column_kernel<kPlan63>(const Arguments&);
constexpr RowPlan kPlan64{.kinds = 0x33331111, .staged = 0x41, .ahead = 0x0, .sums = 0x0, .made = 0x88, .zeros = 0xffe, .cols = 4096, .wide = 4, .chunks = 8, .threads = 128, .teams = 1, .cluster = 1, .stages = 2, .access = 16, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<layernorm::Forward, kPlan64>(const Arguments&);
constexpr RowPlan kPlan65{.kinds = 0x333133131, .staged = 0x103, .ahead = 0x18, .sums = 0xc0, .made = 0x20, .zeros = 0xffe, .cols = 4096, .wide = 4, .chunks = 8, .threads = 128, .teams = 1, .cluster = 1, .stages = 2, .access = 16, .guard = Guard::none, .on_chip = true, .blind = false, .held = false, .checked = false, .finishes = false};
template void row_kernel<layernorm::Backward, kPlan65>(const Arguments&);
constexpr EachPlan kPlan155{.kinds = 0x1111, .operands = 0, .mixed = 0x0, .zeros = 0xffe, .wide = 8, .turns = 2, .threads = 256, .checked = false, .access = 16, .lanes = 0, .period = 0, .choices = 0x110};
template void each_tensor_kernel<specimen::Elements, kPlan155>(const Arguments&);
constexpr EachPlan kPlan156{.kinds = 0x2303, .operands = 0, .mixed = 0x0, .zeros = 0xffe, .wide = 8, .turns = 1, .threads = 128, .checked = true, .access = 4, .lanes = 16, .period = 0, .choices = 0x220};
template void each_tensor_kernel<specimen::Elements, kPlan156>(const Arguments&);
template void each_tensor_check_kernel<specimen::Elements, kPlan156>(const Arguments&);
constexpr EachPlan kPlan157{.kinds = 0x11111, .operands = 0, .mixed = 0x0, .zeros = 0xfff, .wide = 8, .turns = 2, .threads = 256, .checked = false, .access = 2, .lanes = 64, .period = 0, .choices = 0x0};
template void each_tensor_kernel<swiglu::Backward, kPlan157>(const Arguments&);
constexpr EachPlan kPlan158{.kinds = 0x22, .operands = 0, .mixed = 0x0, .zeros = 0xfff, .wide = 8, .turns = 2, .threads = 256, .checked = false, .access = 8, .lanes = 0, .period = 0, .choices = 0x0};
template void each_tensor_kernel<cast::Forward, kPlan158>(const Arguments&);
constexpr EachPlan kPlan159{.kinds = 0x14331, .operands = 0, .mixed = 0x0, .zeros = 0xfff, .wide = 8, .turns = 2, .threads = 256, .checked = true, .access = 16, .lanes = 32, .period = 32, .choices = 0x10};
template void each_rows_check_kernel<rope::Forward, kPlan159>(const Arguments&);
template void each_tensor_kernel<rope::Forward, kPlan159>(const Arguments&);
constexpr EachPlan kPlan160{.kinds = 0x10331, .operands = 0, .mixed = 0x0, .zeros = 0xfff, .wide = 1, .turns = 1, .threads = 128, .checked = false, .access = 2, .lanes = 16, .period = 9, .choices = 0x20};
template void each_tensor_kernel<rope::Backward, kPlan160>(const Arguments&);
constexpr ListSumPlan kPlan161{.kinds = {0x3, 0x0, 0x0}, .operands = 1, .bytes = 16, .threads = 256};
template void list_sum_kernel<gradient::Norm, kPlan161>(const Arguments&);
constexpr ListSumPlan kPlan162{.kinds = {0x1, 0x2, 0x3}, .operands = 1, .bytes = 8, .threads = 128};
template void list_sum_kernel<gradient::Norm, kPlan162>(const Arguments&);
constexpr ProductPlan kPlan163{.kinds = 0x13111, .arithmetic = Arithmetic::hopper, .cols = 256, .slots = 4, .cluster_rows = 2, .cluster_cols = 1, .band = 8, .boxes = 2, .boxed = true, .result = 2, .two_sums = false};
template void product_kernel<gemm::Forward, kPlan163>(const MappedArguments&);
constexpr ProductPlan kPlan164{.kinds = 0x3322, .arithmetic = Arithmetic::hopper, .cols = 128, .slots = 2, .cluster_rows = 1, .cluster_cols = 1, .band = 1, .boxes = 1, .boxed = false, .result = 4, .two_sums = false};
template void product_kernel<gemm::GradA, kPlan164>(const MappedArguments&);
constexpr ProductPlan kPlan165{.kinds = 0x222, .arithmetic = Arithmetic::hopper, .cols = 128, .slots = 6, .cluster_rows = 1, .cluster_cols = 2, .band = 16, .boxes = 1, .boxed = false, .result = 2, .two_sums = false};
template void product_kernel<gemm::GradB, kPlan165>(const MappedArguments&);
constexpr ProductPlan kPlan166{.kinds = 0x33333, .arithmetic = Arithmetic::block15, .cols = 128, .slots = 6, .cluster_rows = 2, .cluster_cols = 1, .band = 8, .boxes = 1, .boxed = true, .result = 4, .two_sums = true};
template void product_kernel<gemm::Forward, kPlan166>(const MappedArguments&);
constexpr ProductPlan kPlan167{.kinds = 0x111, .arithmetic = Arithmetic::block15, .cols = 192, .slots = 5, .cluster_rows = 1, .cluster_cols = 2, .band = 3, .boxes = 1, .boxed = true, .result = 2, .two_sums = false};
template void product_kernel<gemm::GradB, kPlan167>(const MappedArguments&);
constexpr PackPlan kPlan168{.kinds = 0x13111, .arithmetic = Arithmetic::hopper, .packed = {true, true}, .aligned = {false, false}};
template void pack_kernel<gemm::Forward, kPlan168>(const Arguments&);
constexpr PackPlan kPlan169{.kinds = 0x33333, .arithmetic = Arithmetic::block15, .packed = {true, true}, .aligned = {true, false}};
template void pack_kernel<gemm::Forward, kPlan169>(const Arguments&);
constexpr PackPlan kPlan170{.kinds = 0x222, .arithmetic = Arithmetic::block15, .packed = {true, true}, .aligned = {false, true}};
template void pack_kernel<gemm::GradA, kPlan170>(const Arguments&);
constexpr PackPlan kPlan171{.kinds = 0x111, .arithmetic = Arithmetic::block15, .packed = {true, true}, .aligned = {true, false}};
template void pack_kernel<gemm::GradB, kPlan171>(const Arguments&);
constexpr FragmentPlan kPlan172{.kinds = 0x33333, .fragment = Fragment::mma, .cols = 96, .stages = 2, .band = 8, .access = 8};
template void fragment_kernel<gemm::Forward, kPlan172>(const Arguments&);
constexpr FragmentPlan kPlan173{.kinds = 0x111, .fragment = Fragment::mfma32, .cols = 64, .stages = 1, .band = 8, .access = 0};
template void fragment_kernel<gemm::GradA, kPlan173>(const Arguments&);
constexpr FragmentPlan kPlan174{.kinds = 0x222, .fragment = Fragment::dot4, .cols = 64, .stages = 1, .band = 1, .access = 2};
template void fragment_kernel<gemm::GradB, kPlan174>(const Arguments&);
// clang-format on

}  // namespace tokitai::device
