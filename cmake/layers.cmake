# The layers of the house: a folder each, with the layers whose headers it may include, in an order in which nobody uses
# what comes later. ARCHITECTURE.md has the same table with what is in each (testing/layers.py holds them together).
#
# Code of a layer is compiled with a few folders on its include path, build/layers/NAME of itself and of each layer it
# uses, and there it finds LAYER/..., a link to the sources, and tokitai/..., that layer's public headers. The sources'
# root is on no layer's path, so a forbidden include does not compile.
set(TOKITAI_LAYER_FOLDERS ${PROJECT_BINARY_DIR}/layers)

# layer_NAME: the objects of a folder's own *.cpp (but main), or, with NO_SOURCES, only what its code sees. NEEDS: the
# libraries of others whose headers it includes.
function(tokitai_layer folder)
  cmake_parse_arguments(arg "NO_SOURCES" "" "USES;NEEDS" ${ARGN})
  string(REPLACE / _ name ${folder})
  get_filename_component(above ${TOKITAI_LAYER_FOLDERS}/${name}/${folder} DIRECTORY)
  file(MAKE_DIRECTORY ${above})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${TOKITAI_LAYER_FOLDERS}/${name}/${folder} SYMBOLIC)
  set(seen "")
  foreach(one ${folder} ${arg_USES})
    string(REPLACE / _ one ${one})
    if(NOT one STREQUAL name AND NOT TARGET layer_${one})
      message(FATAL_ERROR "${folder} uses ${one}, which is no layer above it in cmake/layers.cmake")
    endif()
    list(APPEND seen ${TOKITAI_LAYER_FOLDERS}/${one})
  endforeach()
  set(sources "")
  if(NOT arg_NO_SOURCES)
    file(GLOB sources RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${folder}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "/main[.]cpp$")
  endif()
  if(sources)
    add_library(layer_${name} OBJECT ${sources})
    set_target_properties(layer_${name} PROPERTIES POSITION_INDEPENDENT_CODE "${BUILD_SHARED_LIBS}")
    target_link_libraries(layer_${name} PRIVATE tokitai_flags ${arg_NEEDS})
    target_include_directories(layer_${name} PUBLIC ${seen})
  else()
    add_library(layer_${name} INTERFACE)
    target_include_directories(layer_${name} INTERFACE ${seen})
  endif()
endfunction()

tokitai_layer(base NEEDS fmt::fmt)
tokitai_layer(numerics)
tokitai_layer(contract USES base NEEDS fmt::fmt)
tokitai_layer(patterns USES base numerics contract)
tokitai_layer(runtime USES base numerics contract patterns NEEDS fmt::fmt)
tokitai_layer(operators NO_SOURCES USES base numerics contract patterns runtime)
tokitai_layer(machines/describe USES base numerics contract patterns)
tokitai_layer(machines/reference USES base numerics contract patterns runtime)
tokitai_layer(machines/cpu USES base numerics contract patterns runtime NEEDS fmt::fmt hwy::hwy)
tokitai_layer(compiler USES base NEEDS fmt::fmt)
tokitai_layer(machines/device USES base numerics contract patterns runtime compiler NEEDS fmt::fmt)
tokitai_layer(machines/gpu USES base numerics contract patterns runtime compiler machines/device NEEDS fmt::fmt)
tokitai_layer(machines/lockstep USES base numerics contract patterns runtime compiler machines/device NEEDS fmt::fmt)
tokitai_layer(loader USES base numerics contract patterns runtime compiler machines/cpu NEEDS fmt::fmt)
tokitai_layer(server USES base numerics contract patterns runtime loader NEEDS fmt::fmt)
tokitai_layer(reports USES base contract runtime compiler machines/device NEEDS fmt::fmt nlohmann_json::nlohmann_json)
tokitai_layer(library NO_SOURCES USES base contract runtime operators compiler machines/reference machines/cpu machines/device
  machines/gpu machines/lockstep server)
tokitai_layer(machines/analysis USES base numerics contract patterns runtime machines/reference reports NEEDS fmt::fmt)
tokitai_layer(problems USES base numerics contract NEEDS fmt::fmt)
tokitai_layer(evidence USES base contract runtime compiler machines/device machines/gpu reports problems
  NEEDS fmt::fmt nlohmann_json::nlohmann_json)
tokitai_layer(accuracy USES base numerics contract patterns runtime machines/reference machines/analysis problems NEEDS fmt::fmt)
tokitai_layer(requests USES base contract runtime operators NEEDS fmt::fmt)
tokitai_layer(proofs NO_SOURCES USES base numerics contract patterns runtime compiler machines/device problems)
tokitai_layer(bench USES base contract runtime operators compiler machines/device machines/gpu server reports library problems
  evidence requests NEEDS fmt::fmt nlohmann_json::nlohmann_json)
tokitai_layer(cli USES base numerics contract patterns runtime operators compiler machines/reference machines/device machines/gpu
  machines/analysis loader server reports library problems evidence accuracy requests proofs bench
  NEEDS fmt::fmt CLI11::CLI11 nlohmann_json::nlohmann_json)

# Has a target's code see what the code of those layers sees.
function(tokitai_sees target)
  foreach(folder ${ARGN})
    string(REPLACE / _ name ${folder})
    target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:layer_${name},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
endfunction()

# The objects of layers, to make libraries of.
function(tokitai_objects variable)
  set(all "")
  foreach(folder ${ARGN})
    string(REPLACE / _ name ${folder})
    list(APPEND all $<TARGET_OBJECTS:layer_${name}>)
  endforeach()
  set(${variable} ${all} PARENT_SCOPE)
endfunction()
