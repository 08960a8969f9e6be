# A folder under operators/ with a definition is a family. From it come its contracts, its reference kernels, its cpu
# kernels for every instruction set and its entries in the registry. Kernels are built per instruction set with that
# set's flags; everything in them lives in a namespace of that set's name.
file(GLOB families RELATIVE ${PROJECT_SOURCE_DIR}/operators CONFIGURE_DEPENDS operators/*/definition.h)
list(TRANSFORM families REPLACE "/definition.h$" "")
list(REMOVE_ITEM families skeleton specimen)  # to copy, and to try every verb with (cmake/skeleton.cmake)
# What a build folder remembers is what somebody asked for, not which families there were: a new one is built there too.
set(TOKITAI_FAMILIES "" CACHE STRING "Operator families to build; empty: all")
if(NOT TOKITAI_FAMILIES)
  set(TOKITAI_FAMILIES ${families})
endif()
set(TOKITAI_GENERATED ${PROJECT_BINARY_DIR}/generated)

set(TOKITAI_ISAS portable)
set(TOKITAI_FLAGS_portable "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(TOKITAI_ISAS avx512 avx2 portable)
  set(TOKITAI_FLAGS_avx512 -march=skylake-avx512 -maes -mprefer-vector-width=512 -DTK_WIDTH=16)
  set(TOKITAI_FLAGS_avx2 -march=haswell -maes -DTK_WIDTH=8)
endif()
set(TOKITAI_ONLY_ISAS "" CACHE STRING "Instruction sets to build the cpu kernels for; empty: all")
if(TOKITAI_ONLY_ISAS)
  set(TOKITAI_ISAS ${TOKITAI_ONLY_ISAS})
endif()

# Highway wants AES before it calls a target AVX2, which -march=haswell leaves out.
function(tokitai_kernel_objects target source isa machine)
  add_library(${target} OBJECT ${source})
  target_link_libraries(${target} PRIVATE tokitai_flags hwy::hwy)
  tokitai_sees(${target} ${machine} operators)
  # -O3: at -O2 GCC 12 keeps the small constant loops over registers as loops, and the registers in memory.
  target_compile_options(${target} PRIVATE ${TOKITAI_FLAGS_${isa}} $<$<CONFIG:Release>:-O3>)
endfunction()

# Makes operators_NAME, the code in the families' folders, families_NAME, what the registry knows of them, and
# TOKITAI_OPERATOR_OBJECTS of both and the kernels.
macro(tokitai_operators all_name)
  set(operator_sources "")
  set(family_sources "")
  set(TOKITAI_OPERATOR_OBJECTS "")
  set(declared "")
  set(added "")
  set(golden "")
  string(REPLACE ";" "," isa_list "${TOKITAI_ISAS}")
  foreach(family ${ARGN})
    set(folder ${PROJECT_SOURCE_DIR}/operators/${family})
    tokitai_public_header(operators ${folder}/${family}.h)
    file(GLOB sources RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS operators/${family}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "_test[.]cpp$")
    list(APPEND operator_sources ${sources})
    configure_file(machines/reference/family.cpp.in ${TOKITAI_GENERATED}/reference_${family}.cpp @ONLY)
    tokitai_kernel_objects(reference_${family} ${TOKITAI_GENERATED}/reference_${family}.cpp baseline machines/reference)
    list(APPEND TOKITAI_OPERATOR_OBJECTS $<TARGET_OBJECTS:reference_${family}>)
    foreach(isa ${TOKITAI_ISAS})
      configure_file(machines/cpu/family.cpp.in ${TOKITAI_GENERATED}/cpu_${family}_${isa}.cpp @ONLY)
      tokitai_kernel_objects(cpu_${family}_${isa} ${TOKITAI_GENERATED}/cpu_${family}_${isa}.cpp ${isa} machines/cpu)
      list(APPEND TOKITAI_OPERATOR_OBJECTS $<TARGET_OBJECTS:cpu_${family}_${isa}>)
    endforeach()
    # The folder's texts become part of the binary.
    file(GLOB texts CONFIGURE_DEPENDS ${folder}/definition.h ${folder}/problems.txt ${folder}/peer.py)
    add_custom_command(OUTPUT ${TOKITAI_GENERATED}/family_${family}.cpp
      COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DFAMILY=${family} -DISAS=${isa_list}
              -DOUTPUT=${TOKITAI_GENERATED}/family_${family}.cpp -P ${PROJECT_SOURCE_DIR}/cmake/family.cmake
      DEPENDS ${texts} ${PROJECT_SOURCE_DIR}/cmake/family.cmake COMMENT "Registering operators/${family}" VERBATIM)
    list(APPEND family_sources ${TOKITAI_GENERATED}/family_${family}.cpp)
    string(APPEND declared "namespace ${family} {\nvoid add_to(std::vector<Operator>& all);\n}\n")
    string(APPEND added "  ${family}::add_to(all);\n")
    if(EXISTS ${folder}/golden.inc)
      string(APPEND golden "#include \"operators/${family}/golden.inc\"\n")
    endif()
  endforeach()
  # One table, so that no linker can leave a family out.
  file(CONFIGURE OUTPUT ${TOKITAI_GENERATED}/families.cpp CONTENT "// The built-in families, made by cmake/operators.cmake.
#include \"contract/registry.h\"
namespace tokitai {
${declared}std::vector<Operator> built_in_operators();
std::vector<Operator> built_in_operators() {
  std::vector<Operator> all;
${added}  return all;
}
}  // namespace tokitai
" @ONLY)
  list(APPEND family_sources ${TOKITAI_GENERATED}/families.cpp)
  file(CONFIGURE OUTPUT ${TOKITAI_GENERATED}/golden_lines.inc CONTENT "${golden}" @ONLY)
  add_library(operators_${all_name} OBJECT ${operator_sources})
  tokitai_sees(operators_${all_name} operators)
  add_library(families_${all_name} OBJECT ${family_sources})
  tokitai_sees(families_${all_name} operators machines/describe)
  foreach(part operators families)
    target_link_libraries(${part}_${all_name} PRIVATE tokitai_flags fmt::fmt)
    list(APPEND TOKITAI_OPERATOR_OBJECTS $<TARGET_OBJECTS:${part}_${all_name}>)
  endforeach()
endmacro()

# The files of that name in the folders of these families, as far as they have one.
function(tokitai_family_files variable name)
  set(found "")
  foreach(family ${ARGN})
    file(GLOB file RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/operators/${family}/${name})
    list(APPEND found ${file})
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()
