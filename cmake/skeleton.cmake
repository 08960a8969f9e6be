# operators/skeleton, the family to copy, is built and verified like a real one but is in nobody's list of operators:
# the library's general objects once more, and its own sources with the skeleton as their only family. Variables of the
# function's own scope keep its generated files apart; the kernels are made by the same macro as everyone's.
function(tokitai_skeleton_test)
  set(TOKITAI_GENERATED ${PROJECT_BINARY_DIR}/skeleton)
  set(TOKITAI_OPERATOR_SOURCES "")
  set(TOKITAI_KERNEL_OBJECTS "")
  tokitai_operators(skeleton)
  tokitai_device()
  set(family skeleton)
  file(CONFIGURE OUTPUT ${TOKITAI_GENERATED}/analysis_families.inc CONTENT "TK_FAMILY(skeleton)\n")
  configure_file(machines/analysis/family.cpp.in ${TOKITAI_GENERATED}/analysis_skeleton.cpp @ONLY)
  add_executable(skeleton_test testing/skeleton_test.cpp contract/tests/promises_test.cpp
    contract/tests/requirements_test.cpp operators/skeleton/edges_test.cpp operators/tests/golden_test.cpp
    evidence/accuracy.cpp evidence/call_accuracy.cpp evidence/ulp.cpp evidence/verify.cpp
    machines/analysis/interval.cpp machines/analysis/machine.cpp ${TOKITAI_GENERATED}/analysis_skeleton.cpp
    testing/data.cpp testing/instance.cpp testing/problem.cpp
    $<TARGET_OBJECTS:tokitai_general> ${TOKITAI_DEVICE_SOURCES} ${TOKITAI_OPERATOR_SOURCES}
    ${TOKITAI_KERNEL_OBJECTS})
  target_link_libraries(skeleton_test PRIVATE tokitai_flags ${TOKITAI_LIBRARIES} GTest::gtest_main
    ${MPFI_LIBRARY} ${MPFR_LIBRARY} ${GMP_LIBRARY})
  target_compile_definitions(skeleton_test PRIVATE TK_SOURCES="${PROJECT_SOURCE_DIR}")
  target_include_directories(skeleton_test PRIVATE ${PROJECT_SOURCE_DIR} ${TOKITAI_PUBLIC_INCLUDE} ${TOKITAI_GENERATED})
  add_test(NAME skeleton_test COMMAND skeleton_test)
  set_tests_properties(skeleton_test PROPERTIES LABELS fast)
endfunction()

tokitai_skeleton_test()
