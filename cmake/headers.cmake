# Public headers live beside their code; users see them as <tokitai/NAME.h>, and so does our code, each layer those of
# the layers it uses. Links, so that there is one text.
set(TOKITAI_PUBLIC_INCLUDE ${PROJECT_BINARY_DIR}/include)
set(TOKITAI_PUBLIC_HEADERS "")

function(tokitai_public_header layer path)
  get_filename_component(name ${path} NAME)
  string(REPLACE / _ layer ${layer})
  foreach(folder ${TOKITAI_PUBLIC_INCLUDE} ${TOKITAI_LAYER_FOLDERS}/${layer})
    file(MAKE_DIRECTORY ${folder}/tokitai)
    file(CREATE_LINK ${path} ${folder}/tokitai/${name} SYMBOLIC)
  endforeach()
  set(TOKITAI_PUBLIC_HEADERS ${TOKITAI_PUBLIC_HEADERS} ${path} PARENT_SCOPE)
endfunction()

foreach(header base/status.h contract/call.h contract/view.h library/tokitai.h loader/load_operators.h machines/analysis/true_error.h
    reports/report.h runtime/device.h runtime/tensor.h)
  get_filename_component(layer ${header} DIRECTORY)
  tokitai_public_header(${layer} ${PROJECT_SOURCE_DIR}/${header})
endforeach()
