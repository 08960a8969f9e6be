// Grouped matrix product and its gradients: one right factor per group of rows. See operators/grouped/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

// How one output is added up: one fma chain; exact integers in blocks of 128; as Hopper's tensor cores add.
enum class GroupedArithmetic : std::int64_t { chain, block15, hopper };

struct GroupedForward {
  ConstView a;        // [m, k], rows sorted by group
  ConstView b;        // [groups, k, n]
  ConstView offsets;  // [groups + 1], i32 or i64: group g has the rows from offsets[g] up to offsets[g + 1]
  View c;             // [m, n], the storage type or f32
  ConstView c0 = {};  // optional: [m, n] f32, what the sums start with; may be c
  GroupedArithmetic arithmetic = GroupedArithmetic::chain;
};
Status grouped_forward(Device& device, const GroupedForward& arguments);
Call bind(const GroupedForward& arguments);

struct GroupedGradA {
  ConstView dc;        // [m, n], rows sorted by group
  ConstView b;         // [groups, k, n]
  ConstView offsets;   // [groups + 1]
  View da;             // [m, k], the storage type or f32
  ConstView da0 = {};  // optional: [m, k] f32, what the sums start with; may be da
  GroupedArithmetic arithmetic = GroupedArithmetic::chain;
};
Status grouped_grad_a(Device& device, const GroupedGradA& arguments);
Call bind(const GroupedGradA& arguments);

struct GroupedGradB {
  ConstView dc;        // [m, n], rows sorted by group
  ConstView a;         // [m, k], rows sorted by group
  ConstView offsets;   // [groups + 1]
  View db;             // [groups, k, n], the storage type or f32
  ConstView db0 = {};  // optional: [groups, k, n] f32, what the sums start with; may be db
  GroupedArithmetic arithmetic = GroupedArithmetic::chain;
};
Status grouped_grad_b(Device& device, const GroupedGradB& arguments);
Call bind(const GroupedGradB& arguments);

}  // namespace tokitai
