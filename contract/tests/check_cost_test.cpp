// What the check of a good call costs: nothing is formed for a message that nobody will read. Counted are allocations,
// by this program's own operator new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "contract/contract.h"
#include "problems/instance.h"

namespace {
thread_local std::int64_t allocations = 0;
}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tokitai {
namespace {

std::int64_t allocations_of_check(const std::string& line) {
  Call call = problems::call_without_memory(problems::parse_problems(line).value().front()).value();
  call.symbols = {};
  const std::int64_t before = allocations;
  const Status status = check(call);
  const std::int64_t made = allocations - before;
  EXPECT_TRUE(status.ok()) << status.message();
  return made;
}

TEST(CheckCost, AGoodCallFormsNothing) {
  for (const char* line :
       {"layernorm.forward rows=3 cols=5", "layernorm.backward rows=3 cols=5 single=yes",
        "softmax.forward rows=3 cols=5 in_place=yes",
        "cross_entropy.forward_backward rows=3 cols=5 reduction=sum master=yes",
        "embedding.forward queries=4 dim=5 vocab=9",
        "embedding.backward queries=4 dim=5 vocab=9 single=yes accumulate=1", "gemm.forward m=2 n=3 k=5"})
    EXPECT_EQ(allocations_of_check(line), 0) << line;
}

// Of a list, one table of its operands by address, whatever its length.
TEST(CheckCost, AGoodListFormsOneTable) {
  for (const char* line :
       {"adamw.step n=5 t=1", "adamw.step n=5+0+300 t=1 master=yes+no", "adamw.step n=1000*772 t=1 master=yes"})
    EXPECT_EQ(allocations_of_check(line), 1) << line;
}

// The control: a refusal is formed, and counted.
TEST(CheckCost, ARefusalIsCounted) {
  Call call =
      problems::call_without_memory(problems::parse_problems("softmax.forward rows=3 cols=5").value().front()).value();
  call.operands[0].shape[1] = -1;
  const std::int64_t before = allocations;
  EXPECT_FALSE(check(call).ok());
  EXPECT_GT(allocations, before);
}

}  // namespace
}  // namespace tokitai
