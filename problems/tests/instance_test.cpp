// A problem's memory: what an output lies over is data as any other's.
#include <gtest/gtest.h>

#include <cstring>

#include "contract/roles.h"
#include "problems/instance.h"

namespace tokitai::problems {
namespace {

TEST(Instance, AnOutputOverAnInputLeavesTheInputsData) {
  for (const std::string line :
       {"gelu.forward rows=3 cols=5", "add.forward rows=4 cols=7", "rope.forward tokens=4 positions=9 half=2 width=4",
        "gemm.forward m=3 n=4 k=5 master=c0 type=f32", "grouped.forward m=3 groups=2 n=4 k=5 master=yes type=f32"}) {
    SCOPED_TRACE(line);
    const auto apart = parse_problems(line);
    ASSERT_TRUE(apart.ok()) << apart.status().message();
    const auto over = parse_problems(line + " in_place=yes");
    ASSERT_TRUE(over.ok()) << over.status().message();
    const Instance a = Instance::make(apart->front()).value(), b = Instance::make(over->front()).value();
    int shared = 0;
    const auto& operands = a.call().contract->operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const View &x = a.sets()[0][i], &y = b.sets()[0][i];
      if (a.written(i)) {
        for (std::size_t j = 0; j < operands.size(); ++j) shared += j != i && b.sets()[0][j].data == y.data;
      } else if (x.present()) {
        EXPECT_EQ(std::memcmp(x.data, y.data, static_cast<std::size_t>(extent_of(x))), 0) << operands[i].name;
      }
    }
    EXPECT_GE(shared, 1);
  }
}

}  // namespace
}  // namespace tokitai::problems
