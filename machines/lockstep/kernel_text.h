// What the text of a kernel may not say: casts that make pointers of other things, assembly, and questions about where
// it is compiled, whose answers could hide an access from this machine. memory.h ends with this; alias.h and the
// headers in front of it are what kernels are written in.
#pragma once
#pragma GCC system_header  // macros that are set may not be asked for any more

#pragma GCC poison reinterpret_cast const_cast bit_cast __builtin_bit_cast asm __asm __asm__ memcpy __builtin_memcpy
#pragma GCC poison TK_LOCKSTEP TK_LOCKSTEP_LIBRARY __CUDACC_RTC__ __CUDACC__ __CUDA_ARCH__ __HIP__ __AMDGCN__ __AMDGPU__
#pragma GCC poison __clang__ __GNUC__ __x86_64__ CheckedGlobal CheckedShared lockstep
