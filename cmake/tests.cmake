# Tests by what they need and how long they take. Labels: fast (the quick ones), full, and long: whole where the others
# take a sample, for `make thorough`.
include(GoogleTest)

# Tests are no layer: they see everything.
function(tokitai_test_program name)
  target_link_libraries(${name} PRIVATE ${ARGN} tokitai_testing tokitai_evidence tokitai_flags fmt::fmt)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${TOKITAI_PUBLIC_INCLUDE})
endfunction()

function(tokitai_test name label)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;OPTIONS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  tokitai_test_program(${name} ${arg_LIBRARIES} GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${label})
endfunction()

# Exhaustive surveys run the scalar text in loops the compiler vectorises; without the flags, and under sanitizers, they
# sample.
set(survey_flags "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  execute_process(COMMAND grep -q -m1 "avx2.*" /proc/cpuinfo RESULT_VARIABLE no_avx2 OUTPUT_QUIET ERROR_QUIET)
  if(NOT no_avx2)
    set(survey_flags -mavx2 -mfma -O3 -fno-trapping-math)
  endif()
endif()

tokitai_test(half_test full SOURCES numerics/tests/half_test.cpp)
tokitai_test(soft_fma_test full SOURCES numerics/tests/soft_fma_test.cpp LIBRARIES ${MPFR_LIBRARY} ${GMP_LIBRARY})
tokitai_test(elementary_test full SOURCES numerics/tests/elementary_test.cpp LIBRARIES ${MPFR_LIBRARY} ${GMP_LIBRARY}
  OPTIONS ${survey_flags})
tokitai_test(philox_test full SOURCES numerics/tests/philox_test.cpp)

tokitai_test(contract_test fast SOURCES contract/tests/check_test.cpp contract/tests/check_cost_test.cpp
  contract/tests/parse_test.cpp contract/tests/requirements_test.cpp contract/tests/tables_test.cpp)
tokitai_test(promises_test fast SOURCES contract/tests/names_test.cpp contract/tests/promises_test.cpp)
target_compile_definitions(promises_test PRIVATE TK_SOURCES="${PROJECT_SOURCE_DIR}")
tokitai_test(machine_test fast SOURCES machines/tests/bounds_test.cpp machines/tests/cpu_test.cpp
  machines/tests/describe_test.cpp machines/tests/journal_test.cpp machines/tests/pool_test.cpp machines/tests/refusals_test.cpp
  machines/tests/refusals_lockstep_test.cpp)
add_dependencies(machine_test tokitai_worker)
tokitai_test(lists_test fast SOURCES machines/tests/lists_test.cpp problems/tests/instance_test.cpp)
tokitai_test(evidence_test fast SOURCES reports/tests/compare_test.cpp reports/tests/contract_json_test.cpp
  evidence/tests/verify_test.cpp
  evidence/tests/audit_test.cpp evidence/tests/bounded_json_test.cpp reports/tests/call_report_test.cpp evidence/tests/key_test.cpp
  evidence/tests/forged_test.cpp base/tests/printable_test.cpp evidence/tests/report_test.cpp)
# What tools/mutants.py runs on broken evidence/ and on a broken kernel cache: built on request, with few operators.
add_executable(evidence_mutant_check EXCLUDE_FROM_ALL evidence/tests/audit_test.cpp evidence/tests/bounded_json_test.cpp
  evidence/tests/forged_test.cpp base/tests/printable_test.cpp compiler/tests/cache_trust_test.cpp
  base/tests/files_test.cpp)
tokitai_test_program(evidence_mutant_check GTest::gtest_main)
tokitai_test(analysis_test fast SOURCES machines/analysis/tests/number_test.cpp LIBRARIES tokitai_analysis)
tokitai_test(true_error_test fast SOURCES machines/analysis/tests/true_error_test.cpp LIBRARIES tokitai_analysis)
tokitai_test(accuracy_test full SOURCES accuracy/tests/accuracy_test.cpp LIBRARIES tokitai_accuracy)
tokitai_test(error_bound_test fast SOURCES accuracy/tests/error_bound_test.cpp LIBRARIES tokitai_accuracy)
# What tools/mutants.py runs where a bound or a refusal was broken.
add_executable(promises_mutant_check EXCLUDE_FROM_ALL accuracy/tests/error_bound_test.cpp machines/tests/refusals_test.cpp)
tokitai_test_program(promises_mutant_check tokitai_accuracy GTest::gtest_main)
add_dependencies(promises_mutant_check tokitai_worker)
tokitai_test(gradients_test fast SOURCES accuracy/tests/gradients_test.cpp LIBRARIES tokitai_accuracy)
# What each family's folder has of these.
tokitai_family_files(mathematics_tests mathematics_test.cpp ${TOKITAI_FAMILIES})
tokitai_test(golden_test fast SOURCES operators/tests/golden_test.cpp ${mathematics_tests})
target_include_directories(golden_test PRIVATE ${TOKITAI_GENERATED})
tokitai_family_files(edges_tests edges_test.cpp ${TOKITAI_FAMILIES})
tokitai_test(edges_test fast SOURCES ${edges_tests})

if(rope IN_LIST TOKITAI_FAMILIES)
  tokitai_test(rope_table_test fast SOURCES operators/rope/table_test.cpp LIBRARIES ${MPFR_LIBRARY} ${GMP_LIBRARY})
endif()

tokitai_test(compiler_test fast SOURCES compiler/tests/audit_amd_test.cpp compiler/tests/audit_ptx_test.cpp
  compiler/tests/audit_test.cpp compiler/tests/cache_test.cpp compiler/tests/cache_trust_test.cpp compiler/tests/compile_test.cpp
  base/tests/files_test.cpp)
tokitai_test(lockstep_test fast SOURCES machines/lockstep/tests/engine_test.cpp machines/lockstep/tests/copy_test.cpp
  machines/lockstep/tests/gates_test.cpp machines/lockstep/tests/grid_test.cpp OPTIONS -DTK_LOCKSTEP)
tokitai_test(faults_test full SOURCES machines/lockstep/tests/faults_test.cpp)
target_compile_definitions(faults_test PRIVATE TK_FAULTS="${PROJECT_SOURCE_DIR}/machines/lockstep/tests/faults.txt"
  TK_INDEX_FAULTS="${PROJECT_SOURCE_DIR}/proofs/tests/faults.txt")
tokitai_test(ways_around_test fast SOURCES machines/lockstep/tests/ways_around_test.cpp)
target_compile_definitions(ways_around_test PRIVATE
  TK_WAYS_AROUND="${PROJECT_SOURCE_DIR}/machines/lockstep/tests/ways_around.txt"
  TK_STRICT_KERNELS="${PROJECT_SOURCE_DIR}/machines/lockstep/strict/kernels.cpp")

# The host side of GPUs, on a driver that only pretends.
add_library(fake_driver SHARED machines/gpu/tests/fake_driver.cpp)
target_link_libraries(fake_driver PRIVATE tokitai_flags)
target_include_directories(fake_driver PRIVATE ${PROJECT_SOURCE_DIR} ${TOKITAI_PUBLIC_INCLUDE})
tokitai_test(gpu_machine_test fast SOURCES machines/gpu/tests/machine_test.cpp machines/gpu/tests/streams_test.cpp
  LIBRARIES ${CMAKE_DL_LIBS})
# What tools/mutants.py runs where the machine mixes its streams up: built on request, with few operators.
add_executable(gpu_mutant_check EXCLUDE_FROM_ALL machines/gpu/tests/streams_test.cpp)
tokitai_test_program(gpu_mutant_check GTest::gtest_main ${CMAKE_DL_LIBS})
foreach(test gpu_machine_test gpu_mutant_check)
  target_compile_definitions(${test} PRIVATE TK_FAKE_DRIVER="$<TARGET_FILE:fake_driver>")
  add_dependencies(${test} fake_driver)
endforeach()
add_executable(driver_smoke machines/gpu/tests/driver_smoke.cpp)
target_link_libraries(driver_smoke PRIVATE tokitai tokitai_flags fmt::fmt)
target_include_directories(driver_smoke PRIVATE ${PROJECT_SOURCE_DIR})
# Needs a GPU, and is run by hand.
add_executable(gpu_streams_smoke machines/gpu/tests/gpu_streams_smoke.cpp)
tokitai_test_program(gpu_streams_smoke)
add_test(NAME driver_smoke COMMAND driver_smoke)
set_tests_properties(driver_smoke PROPERTIES LABELS fast ENVIRONMENT "TOKITAI_CUDA_DRIVER=$<TARGET_FILE:fake_driver>")

# Worker processes, good ones and ones that misbehave on purpose.
foreach(program bad_worker plain_server)
  add_executable(${program} server/tests/${program}.cpp)
  target_link_libraries(${program} PRIVATE tokitai tokitai_flags fmt::fmt)
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
endforeach()
tokitai_test(server_test fast SOURCES server/tests/message_test.cpp server/tests/inbox_test.cpp server/tests/arena_test.cpp
  server/tests/worker_test.cpp server/tests/failure_test.cpp requests/tests/request_test.cpp server/tests/stores_test.cpp
  LIBRARIES tokitai_requests)
tokitai_test(serve_test fast SOURCES server/tests/serve_test.cpp server/tests/bad_client_test.cpp
  server/tests/peer_test.cpp server/tests/socket_test.cpp)
# What devices hold, in forks too, sizes, views and tensors; tools/mutants.py runs the same on a broken runtime.
set(runtime_tests runtime/tests/fork_test.cpp runtime/tests/lifetime_test.cpp runtime/tests/size_test.cpp
  runtime/tests/rank_test.cpp contract/tests/registry_test.cpp base/tests/status_test.cpp runtime/tests/tensor_test.cpp)
tokitai_test(runtime_test fast SOURCES ${runtime_tests} LIBRARIES ${CMAKE_DL_LIBS})
add_executable(runtime_mutant_check EXCLUDE_FROM_ALL ${runtime_tests})
target_link_libraries(runtime_mutant_check PRIVATE tokitai tokitai_flags fmt::fmt GTest::gtest_main ${CMAKE_DL_LIBS})
target_include_directories(runtime_mutant_check PRIVATE ${PROJECT_SOURCE_DIR})
foreach(test runtime_test runtime_mutant_check)
  target_compile_definitions(${test} PRIVATE TK_FAKE_DRIVER="$<TARGET_FILE:fake_driver>")
  add_dependencies(${test} fake_driver)
endforeach()
add_test(NAME refused_by_the_compiler COMMAND bash ${PROJECT_SOURCE_DIR}/runtime/tests/refused_by_the_compiler.sh
  ${CMAKE_CXX_COMPILER} ${TOKITAI_PUBLIC_INCLUDE})
set_tests_properties(refused_by_the_compiler PROPERTIES LABELS fast)
# What tools/mutants.py runs on a broken server/: built on request, with few operators.
add_executable(server_mutant_check EXCLUDE_FROM_ALL server/tests/inbox_test.cpp server/tests/arena_test.cpp
  server/tests/failure_test.cpp server/tests/bad_client_test.cpp server/tests/peer_test.cpp
  server/tests/socket_test.cpp server/tests/stores_test.cpp)
tokitai_test_program(server_mutant_check GTest::gtest_main)
foreach(test server_test serve_test server_mutant_check runtime_test runtime_mutant_check)
  target_compile_definitions(${test} PRIVATE TK_WORKER="$<TARGET_FILE:tokitai_worker>"
    TK_BAD_WORKER="$<TARGET_FILE:bad_worker>" TK_PLAIN_SERVER="$<TARGET_FILE:plain_server>")
  add_dependencies(${test} tokitai_worker bad_worker plain_server)
endforeach()

# Operators of one's own: compiled by this machine's compiler, where there is one.
tokitai_test(loader_test fast SOURCES loader/tests/expression_test.cpp loader/tests/load_test.cpp)
target_compile_definitions(loader_test PRIVATE TK_SOURCES="${PROJECT_SOURCE_DIR}")
add_dependencies(loader_test tokitai_worker)

include(cmake/fuzz.cmake)

tokitai_test(output_files_test fast SOURCES cli/tests/output_files_test.cpp LIBRARIES tokitai_cli)
# Random command lines, and what tools/mutants.py runs on a broken cli/.
add_executable(command_lines_test cli/tests/command_lines_test.cpp cli/tests/random_lines.cpp)
add_executable(command_mutant_check EXCLUDE_FROM_ALL cli/tests/command_lines_test.cpp cli/tests/random_lines.cpp
  cli/tests/output_files_test.cpp)
foreach(test command_lines_test command_mutant_check)
  tokitai_test_program(${test} tokitai_cli GTest::gtest)
  add_dependencies(${test} tokitai_worker)
endforeach()
target_compile_definitions(command_lines_test PRIVATE TK_COMMAND_LINES=5000)
target_compile_definitions(command_mutant_check PRIVATE TK_COMMAND_LINES=1000)
add_test(NAME command_lines_test COMMAND command_lines_test)
set_tests_properties(command_lines_test PROPERTIES LABELS full)

# The command, from outside: an independent implementation of the specification in NumPy, and hostile input.
find_program(TOKITAI_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(TOKITAI_PYTHON)
  foreach(part oracle harness folders operators gradient bad_input command contracts help output_files evidence odd_files own_operators gpu_command worker serve streams)
    add_test(NAME acceptance_${part}
      COMMAND ${TOKITAI_PYTHON} -m unittest discover -s ${PROJECT_SOURCE_DIR}/testing/acceptance -p "test_${part}*.py")
    set_tests_properties(acceptance_${part} PROPERTIES LABELS full ENVIRONMENT "TOKITAI=$<TARGET_FILE:tokitai_command>")
  endforeach()
  add_test(NAME acceptance_bad_npy
    COMMAND ${TOKITAI_PYTHON} -m unittest discover -s ${PROJECT_SOURCE_DIR}/testing/acceptance -p "test_bad_npy*.py")
  set_tests_properties(acceptance_bad_npy PROPERTIES LABELS full ENVIRONMENT "TOKITAI=$<TARGET_FILE:tokitai_command>")
endif()

# Figures in the documents are what the command prints.
add_test(NAME docs COMMAND bash ${PROJECT_SOURCE_DIR}/tools/docs.sh --check $<TARGET_FILE:tokitai_command>)
set_tests_properties(docs PROPERTIES LABELS full)

add_test(NAME verify_cpu COMMAND tokitai_command verify --device cpu --quick --one-in 2)
set_tests_properties(verify_cpu PROPERTIES LABELS full)
add_test(NAME verify_cpu_whole COMMAND tokitai_command verify --device cpu)
set_tests_properties(verify_cpu_whole PROPERTIES LABELS long)
add_test(NAME verify_worker COMMAND tokitai_command verify --device worker:cpu --quick)
set_tests_properties(verify_worker PROPERTIES LABELS fast)
# The GPU's kernels without a GPU: run on checked fibers, and compiled and audited for a target of each kind: before and
# since clusters, waves of 64 and of 32. `make kernels` takes every target.
add_test(NAME verify_lockstep COMMAND tokitai_command verify --device lockstep --one-in 8)
set_tests_properties(verify_lockstep PROPERTIES LABELS full SKIP_RETURN_CODE 3)
add_test(NAME verify_lockstep_whole COMMAND tokitai_command verify --device lockstep)
set_tests_properties(verify_lockstep_whole PROPERTIES LABELS long SKIP_RETURN_CODE 3)
add_test(NAME compile_all COMMAND tokitai_command compile --all --audit --target sm_90a,gfx1101)
set_tests_properties(compile_all PROPERTIES LABELS full SKIP_RETURN_CODE 3)
add_test(NAME compile_all_whole COMMAND tokitai_command compile --all --audit --target sm_80,sm_90a,gfx942,gfx1101)
set_tests_properties(compile_all_whole PROPERTIES LABELS long SKIP_RETURN_CODE 3)

tokitai_test(planned_test full SOURCES proofs/tests/planned_test.cpp LIBRARIES tokitai_subjects)
# What is claimed about index arithmetic, and index arithmetic broken on purpose.
if(TARGET tokitai_claims)
  file(GLOB place_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/machines/device/place*.h
    ${PROJECT_SOURCE_DIR}/machines/device/*_shape.h)
  if(TOKITAI_PYTHON)
    set(made ${TOKITAI_GENERATED}/index_faults.cpp)
    add_custom_command(OUTPUT ${made}
      COMMAND ${TOKITAI_PYTHON} ${PROJECT_SOURCE_DIR}/proofs/tests/make_faults.py ${PROJECT_SOURCE_DIR} ${made}
      DEPENDS ${PROJECT_SOURCE_DIR}/proofs/tests/make_faults.py ${PROJECT_SOURCE_DIR}/proofs/tests/faults.txt
              ${PROJECT_SOURCE_DIR}/proofs/guards.h ${place_headers} VERBATIM)
    set_source_files_properties(${made} PROPERTIES COMPILE_OPTIONS -Wno-unused-parameter)
    tokitai_test(seeded_test full SOURCES proofs/tests/seeded_test.cpp ${made} LIBRARIES tokitai_claims)
  endif()
  # Proves it; then other solvers answer the same questions again, where there are any.
  set(prove tokitai_command prove)
  if(TOKITAI_PYTHON)
    set(prove ${TOKITAI_PYTHON} ${PROJECT_SOURCE_DIR}/proofs/tests/recheck.py $<TARGET_FILE:tokitai_command>)
  endif()
  add_test(NAME prove COMMAND ${prove} --one-in 50)
  add_test(NAME prove_whole COMMAND ${prove})
  set_tests_properties(prove PROPERTIES LABELS full SKIP_RETURN_CODE 3)
  set_tests_properties(prove_whole PROPERTIES LABELS long SKIP_RETURN_CODE 3)
endif()

# What others build on: install to a temporary prefix, build programs against find_package(tokitai), train with one.
add_test(NAME package COMMAND bash ${PROJECT_SOURCE_DIR}/testing/package/test.sh ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER})
set_tests_properties(package PROPERTIES LABELS full)
if(TOKITAI_PYTHON)
  add_test(NAME layers COMMAND ${TOKITAI_PYTHON} ${PROJECT_SOURCE_DIR}/testing/layers.py ${PROJECT_BINARY_DIR})
  set_tests_properties(layers PROPERTIES LABELS fast)
endif()
add_test(NAME kernel_symbols COMMAND bash ${PROJECT_SOURCE_DIR}/testing/kernel_symbols.sh ${PROJECT_BINARY_DIR})
set_tests_properties(kernel_symbols PROPERTIES LABELS fast)

add_test(NAME added_family COMMAND bash ${PROJECT_SOURCE_DIR}/testing/added_family.sh found ${CMAKE_CXX_COMPILER})
set_tests_properties(added_family PROPERTIES LABELS full)
add_test(NAME added_family_whole
  COMMAND bash ${PROJECT_SOURCE_DIR}/testing/added_family.sh built ${CMAKE_CXX_COMPILER} ${TOKITAI_PYTHON})
set_tests_properties(added_family_whole PROPERTIES LABELS long)

# The family to copy, built and verified like a real one.
include(cmake/skeleton.cmake)

# Kernels compiled by tests are kept with the build, not in the user's cache.
get_property(all_tests DIRECTORY PROPERTY TESTS)
set_property(TEST ${all_tests} APPEND PROPERTY ENVIRONMENT "TOKITAI_CACHE=${PROJECT_BINARY_DIR}/kernel_cache")
