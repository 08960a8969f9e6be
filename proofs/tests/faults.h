// The index functions of faults.txt, each with the claim that it breaks.
#pragma once
#include <string>
#include <vector>

#include "proofs/functions.h"

namespace tokitai::proofs {

struct Fault {
  std::string name, claim;  // " | " stands between claims of which one breaks
  void (*seed)(Functions& functions);
};
const std::vector<Fault>& faults();

}  // namespace tokitai::proofs
