# Families that are built and verified like real ones but are in nobody's list of operators: operators/skeleton, the one
# to copy, and operators/specimen, which has every verb of a pattern. For each a test of its own: the objects of the
# library's layers once more, and its own sources with that family as their only one. Variables of the function's own
# scope keep the generated files apart; the kernels are made by the same macro as everyone's.
function(tokitai_family_test family)
  set(TOKITAI_GENERATED ${PROJECT_BINARY_DIR}/${family})
  tokitai_operators(${family} ${family})
  file(CONFIGURE OUTPUT ${TOKITAI_GENERATED}/analysis_families.inc CONTENT "TK_FAMILY(${family})\n")
  configure_file(machines/analysis/family.cpp.in ${TOKITAI_GENERATED}/analysis_${family}.cpp @ONLY)
  set(test ${family}_test)
  set(mutant_check ${family}_mutant_check)
  tokitai_objects(objects problems accuracy)
  set(sources testing/${test}.cpp contract/tests/requirements_test.cpp evidence/verify.cpp
    machines/analysis/call_accuracy.cpp machines/analysis/interval.cpp
    machines/analysis/interval_words.cpp machines/analysis/machine.cpp machines/analysis/ulp.cpp
    ${TOKITAI_GENERATED}/analysis_${family}.cpp ${objects} ${core_objects} ${outer_objects} ${TOKITAI_OPERATOR_OBJECTS}
    $<TARGET_OBJECTS:device_text> $<TARGET_OBJECTS:all_devices>)
  add_executable(${test} ${sources} ${ARGN})
  add_executable(${mutant_check} EXCLUDE_FROM_ALL ${sources})  # what tools/mutants.py runs on a broken pattern
  foreach(target ${test} ${mutant_check})
    target_link_libraries(${target} PRIVATE tokitai_flags ${TOKITAI_LIBRARIES} GTest::gtest_main
      ${MPFI_LIBRARY} ${MPFR_LIBRARY} ${GMP_LIBRARY})
    target_compile_definitions(${target} PRIVATE TK_SOURCES="${PROJECT_SOURCE_DIR}")
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${TOKITAI_PUBLIC_INCLUDE} ${TOKITAI_GENERATED})
  endforeach()
  add_test(NAME ${test} COMMAND ${test})
  set_tests_properties(${test} PROPERTIES LABELS fast)
endfunction()

tokitai_family_test(skeleton contract/tests/promises_test.cpp operators/skeleton/edges_test.cpp
  operators/tests/golden_test.cpp)
tokitai_family_test(specimen testing/specimen_kernels_test.cpp)
