// What is proved: the constants of a kernel, and what the planner promises with them.
#pragma once
#include <string>
#include <vector>

#include "machines/device/plans.h"

namespace tokitai::proofs {

// A factor of a product: which operand it is, and whether memory runs along the output or along the inner index.
struct Factor {
  int operand = 0;
  bool along_outer = false;
};

struct TileSubject {
  device::TilePlan plan{};
  Factor a, b;
  int out_vector = 1;    // elements of the output's widest access
  int shared_bytes = 0;  // asked for by the launch
};

struct RowSubject {
  device::RowPlan plan{};
  int shared_bytes = 0;  // asked for by the launch
};

// Every different one, by pattern. Fields that no claim speaks about are left out, so that few are many plans.
struct Subjects {
  std::vector<device::EachPlan> each;
  std::vector<RowSubject> row;
  std::vector<TileSubject> tile;
};

// The constants in words, as a table shows them.
std::string words_of(const device::EachPlan& plan);
std::string words_of(const RowSubject& subject);
std::string words_of(const TileSubject& subject);

}  // namespace tokitai::proofs
