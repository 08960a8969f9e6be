// What this program was built with, and what it runs on.
#pragma once
#include <cstdint>
#include <string>

namespace tokitai::evidence {

struct BuildFacts {
  std::string compiler, flags;
  std::string binary_digest;  // SHA-256 of the running program
};
struct MachineFacts {
  std::string system, processor;
  std::int64_t cores = 0;
};

std::string library_version();
BuildFacts build_facts();
MachineFacts machine_facts();
std::string time_now();  // 2026-11-15T09:30:00Z

}  // namespace tokitai::evidence
