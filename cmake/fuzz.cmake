# libFuzzer targets for the parsers of server/ and requests/: the parsers are built again by clang, with coverage and sanitizers; the
# rest comes from the library. Where clang-19 or its libFuzzer is missing there is nothing to run.
find_program(TOKITAI_FUZZ_CLANG clang++-19)
set(fuzz_runtime "")
if(TOKITAI_FUZZ_CLANG)
  execute_process(COMMAND ${TOKITAI_FUZZ_CLANG} -print-resource-dir OUTPUT_VARIABLE fuzz_folder
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(GLOB fuzz_runtime ${fuzz_folder}/lib/*/libclang_rt.fuzzer*)
endif()
set(fuzz_flags -std=c++20 -O1 -g1 -ffp-contract=off -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
  -I${PROJECT_SOURCE_DIR} -I${TOKITAI_PUBLIC_INCLUDE})

function(tokitai_fuzz name layer)
  set(folder ${PROJECT_SOURCE_DIR}/${layer})
  list(TRANSFORM ARGN PREPEND ${folder}/)
  add_custom_command(OUTPUT fuzz_${name}
    COMMAND ${TOKITAI_FUZZ_CLANG} ${fuzz_flags} ${folder}/tests/fuzz/${name}.cpp ${ARGN}
      $<TARGET_FILE:tokitai> -lfmt -lsodium -lboost_context -ldl -lpthread -o fuzz_${name}
    DEPENDS ${folder}/tests/fuzz/${name}.cpp ${ARGN} tokitai VERBATIM)
  add_custom_target(fuzz_${name}_target ALL DEPENDS fuzz_${name})
  add_test(NAME fuzz_${name} COMMAND bash ${PROJECT_SOURCE_DIR}/server/tests/fuzz/run.sh
    ${PROJECT_BINARY_DIR}/fuzz_${name} ${folder}/tests/fuzz/${name} 200000)
  set_tests_properties(fuzz_${name} PROPERTIES LABELS full)
endfunction()

# The library of a sanitized build has another sanitizer's calls in it.
if(fuzz_runtime AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  tokitai_fuzz(messages server message.cpp)
  tokitai_fuzz(stream server inbox.cpp message.cpp)
  tokitai_fuzz(requests requests request_text.cpp request_binary.cpp)
endif()
