# Writes what the registry knows of one family into a C++ file:
#   cmake -DFOLDER=.../operators/softmax -DFAMILY=softmax -DISAS=avx2,portable -DOUTPUT=... -P family.cmake
foreach(name definition.h problems.txt peer.py)
  set(text "")
  if(EXISTS ${FOLDER}/${name})
    file(READ ${FOLDER}/${name} text)
  endif()
  string(REGEX REPLACE "[.].*" "" key ${name})
  set(${key} "R\"folder(${text})folder\"")
endforeach()
set(declared "")
set(tables "")
string(REPLACE "," ";" isas "${ISAS}")
foreach(isa ${isas})
  string(APPEND declared "std::span<const NamedKernel<cpu::Kernel>> cpu_kernels_${isa}();\n")
  string(APPEND tables "{\"${isa}\", cpu_kernels_${isa}()}, ")
endforeach()
file(WRITE ${OUTPUT} "// operators/${FAMILY} for the registry, made by cmake/family.cmake.
#include \"operators/${FAMILY}/definition.h\"
#include \"machines/describe/built_in.h\"

namespace tokitai::${FAMILY} {
std::span<const Contract> contracts();
std::span<const NamedKernel<reference::Kernel>> reference_kernels();
${declared}
void add_to(std::vector<Operator>& all);
void add_to(std::vector<Operator>& all) {
  OperatorFolder folder;
  folder.origin = \"operators/${FAMILY}\";
  folder.header = \"operators/${FAMILY}/definition.h\";
  folder.definition = ${definition};
  folder.problems = ${problems};
  folder.peer = ${peer};
  built_in::add(all, std::move(folder), contracts(), Operators{}, reference_kernels(), {${tables}});
}
}  // namespace tokitai::${FAMILY}
")
