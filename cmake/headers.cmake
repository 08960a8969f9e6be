# Public headers live beside their code; users see them as <tokitai/NAME.h>. Links, so that there is one text.
set(TOKITAI_PUBLIC_INCLUDE ${PROJECT_BINARY_DIR}/include)
set(TOKITAI_PUBLIC_HEADERS "")

function(tokitai_public_header path)
  get_filename_component(name ${path} NAME)
  file(MAKE_DIRECTORY ${TOKITAI_PUBLIC_INCLUDE}/tokitai)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${path} ${TOKITAI_PUBLIC_INCLUDE}/tokitai/${name} SYMBOLIC)
  set(TOKITAI_PUBLIC_HEADERS ${TOKITAI_PUBLIC_HEADERS} ${PROJECT_SOURCE_DIR}/${path} PARENT_SCOPE)
endfunction()

foreach(header contract/call.h evidence/report.h evidence/true_error.h loader/load_operators.h runtime/device.h runtime/process.h runtime/status.h runtime/tensor.h runtime/tokitai.h runtime/view.h)
  tokitai_public_header(${header})
endforeach()
