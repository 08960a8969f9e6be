# What folders of operators are compiled from on the user's machine travels in the binary, as the device text does: our
# headers and Highway's, those that the parts of loader/ reach for any instruction set. The compiler says which.
set(loader_flags "")
foreach(isa ${TOKITAI_ISAS})
  string(JOIN "\", \"" flags ${TOKITAI_FLAGS_${isa}})
  if(flags)
    string(APPEND loader_flags "    {\"${isa}\", {\"${flags}\"}},\n")
  else()
    string(APPEND loader_flags "    {\"${isa}\", {}},\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${TOKITAI_GENERATED}/loader/loader_flags.inc CONTENT "${loader_flags}" @ONLY)

get_target_property(hwy_include hwy::hwy INTERFACE_INCLUDE_DIRECTORIES)
set(loader_isas "")
foreach(isa ${TOKITAI_ISAS})
  string(REPLACE ";" "," flags "${TOKITAI_FLAGS_${isa}}")
  list(APPEND loader_isas "${isa},${flags}")
endforeach()
string(REPLACE ";" "|" loader_isas "${loader_isas}")
file(GLOB_RECURSE loader_depends CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/base/*.h ${PROJECT_SOURCE_DIR}/contract/*.h ${PROJECT_SOURCE_DIR}/loader/*.h
  ${PROJECT_SOURCE_DIR}/machines/analysis/*.h ${PROJECT_SOURCE_DIR}/machines/cpu/*.h
  ${PROJECT_SOURCE_DIR}/machines/describe/*.h ${PROJECT_SOURCE_DIR}/machines/reference/*.h
  ${PROJECT_SOURCE_DIR}/numerics/*.h ${PROJECT_SOURCE_DIR}/patterns/*.h ${PROJECT_SOURCE_DIR}/runtime/*.h)
set(TOKITAI_LOADER_TEXT ${TOKITAI_GENERATED}/loader_text.cpp)
file(GLOB loader_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/operators/*/*)
add_custom_command(OUTPUT ${TOKITAI_LOADER_TEXT}
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DPUBLIC=${TOKITAI_PUBLIC_INCLUDE} -DHIGHWAY=${hwy_include}
          -DCOMPILER=${CMAKE_CXX_COMPILER} "-DISAS=${loader_isas}" -DOUTPUT=${TOKITAI_LOADER_TEXT}
          -P ${PROJECT_SOURCE_DIR}/cmake/loader_text.cmake
  DEPENDS ${loader_depends} ${loader_examples} ${PROJECT_SOURCE_DIR}/cmake/loader_text.cmake
  COMMENT "Embedding what operators of one's own are compiled from" VERBATIM)
target_sources(layer_loader PRIVATE ${TOKITAI_LOADER_TEXT})
target_include_directories(layer_loader PRIVATE ${TOKITAI_GENERATED}/loader)
