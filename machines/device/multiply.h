// One instruction of Hopper's tensor cores: sums = (accumulate ? sums : 0) + A B, 64 rows by `cols` columns over a
// group of 128 threads, with every register named, as the assembler wants it.
#pragma once
#include "machines/device/alias.h"
#include "machines/device/kinds.h"

#define TK_PAIR(c, d, i) c(d[i]), c(d[i + 1])
#define TK_EIGHT(c, d, i) TK_PAIR(c, d, i), TK_PAIR(c, d, i + 2), TK_PAIR(c, d, i + 4), TK_PAIR(c, d, i + 6)
#define TK_32(c, d, i) TK_EIGHT(c, d, i), TK_EIGHT(c, d, i + 8), TK_EIGHT(c, d, i + 16), TK_EIGHT(c, d, i + 24)
#define TK_64(c, d) TK_32(c, d, 0), TK_32(c, d, 32)
#define TK_96(c, d) TK_64(c, d), TK_32(c, d, 64)
#define TK_128(c, d) TK_64(c, d), TK_32(c, d, 64), TK_32(c, d, 96)
// %0 to %127, in pieces.
#define TK_NAMES_64                                                                                                \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, " \
  "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TK_NAMES_96                                                                                                  \
  TK_NAMES_64                                                                                                        \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, " \
  "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define TK_NAMES_128                                                                                                 \
  TK_NAMES_96                                                                                                        \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, " \
  "%115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define TK_FLOAT(x) "+f"(x)
#define TK_INT(x) "+r"(x)
// a, b, whether to accumulate, and of halves whether each factor lies along its lines.
#define TK_MULTIPLY_HALVES(count, shape, a_name, b_name, on, a_along, b_along)                          \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " on ", 0;\nwgmma.mma_async.sync.aligned." shape       \
               " {" TK_NAMES_##count "}, " a_name ", " b_name ", p, 1, 1, " a_along ", " b_along ";\n}" \
               : TK_##count(TK_FLOAT, sums)                                                             \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(a_along_lines), "n"(b_along_lines))
#define TK_MULTIPLY_BYTES(count, shape, a_name, b_name, on)                                       \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " on ", 0;\nwgmma.mma_async.sync.aligned." shape \
               " {" TK_NAMES_##count "}, " a_name ", " b_name ", p;\n}"                           \
               : TK_##count(TK_INT, sums)                                                         \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))

namespace tokitai::device {

// 16 of the contracted index.
template <Kind K, int a_along_lines, int b_along_lines>
TK_FN void multiply(float (&sums)[64], u64 a, u64 b, bool accumulate) {
  if constexpr (K == Kind::f16)
    TK_MULTIPLY_HALVES(64, "m64n128k16.f32.f16.f16", "%64", "%65", "%66", "%67", "%68");
  else
    TK_MULTIPLY_HALVES(64, "m64n128k16.f32.bf16.bf16", "%64", "%65", "%66", "%67", "%68");
}
template <Kind K, int a_along_lines, int b_along_lines>
TK_FN void multiply(float (&sums)[96], u64 a, u64 b, bool accumulate) {
  if constexpr (K == Kind::f16)
    TK_MULTIPLY_HALVES(96, "m64n192k16.f32.f16.f16", "%96", "%97", "%98", "%99", "%100");
  else
    TK_MULTIPLY_HALVES(96, "m64n192k16.f32.bf16.bf16", "%96", "%97", "%98", "%99", "%100");
}
template <Kind K, int a_along_lines, int b_along_lines>
TK_FN void multiply(float (&sums)[128], u64 a, u64 b, bool accumulate) {
  if constexpr (K == Kind::f16)
    TK_MULTIPLY_HALVES(128, "m64n256k16.f32.f16.f16", "%128", "%129", "%130", "%131", "%132");
  else
    TK_MULTIPLY_HALVES(128, "m64n256k16.f32.bf16.bf16", "%128", "%129", "%130", "%131", "%132");
}
// 32 of it, as bytes.
TK_FN void multiply(int (&sums)[64], u64 a, u64 b, bool accumulate) {
  TK_MULTIPLY_BYTES(64, "m64n128k32.s32.s8.s8", "%64", "%65", "%66");
}
TK_FN void multiply(int (&sums)[96], u64 a, u64 b, bool accumulate) {
  TK_MULTIPLY_BYTES(96, "m64n192k32.s32.s8.s8", "%96", "%97", "%98");
}

}  // namespace tokitai::device
