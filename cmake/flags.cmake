# Flags of all our code. No contraction: an fma is written where an fma is meant. No errno, so that sqrt is one
# instruction.
add_library(tokitai_flags INTERFACE)
target_compile_options(tokitai_flags INTERFACE -ffp-contract=off -fno-math-errno -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(tokitai_flags INTERFACE -Wno-pass-failed)
endif()
if(TOKITAI_WERROR)
  target_compile_options(tokitai_flags INTERFACE -Werror)
endif()
