# GPU kernels are compiled at run time from the text that is built into the library: the definitions, the patterns'
# device machines and what they include. Definitions come from the registry, with their families' other texts; this
# makes device_text of the rest.
function(tokitai_device)
  set(device_names bit cstdint
    contract/arithmetic.h numerics/base.h numerics/block15.h numerics/half.h numerics/hopper.h numerics/soft_fma.h numerics/elementary.h patterns/names.h patterns/reduction.h
    machines/device/access.h machines/device/alias.h machines/device/arguments.h machines/device/grid.h machines/device/kinds.h machines/device/memory.h
    machines/device/place.h machines/device/place_each.h machines/device/place_list_sum.h machines/device/place_row.h machines/device/place_segment.h
    machines/device/place_sort.h machines/device/place_tile.h
    machines/device/plans.h machines/device/row.h machines/device/row_exchange.h machines/device/row_kernels.h machines/device/row_shape.h
    machines/device/row_staging.h machines/device/row_values.h
    machines/device/each.h machines/device/each_tensor.h machines/device/exact.h machines/device/pack.h machines/device/list_sum.h machines/device/list_sum_shape.h
    machines/device/segment.h machines/device/segment_rows.h machines/device/segment_scatter.h machines/device/segment_shape.h machines/device/segment_sums.h machines/device/sort.h machines/device/tile.h machines/device/tile_groups.h machines/device/groups.h
    machines/device/tile_shape.h machines/device/alias_tensor.h machines/device/multiply.h machines/device/product.h machines/device/product_integers.h machines/device/product_pack.h machines/device/product_ring.h
    machines/device/product_shape.h machines/device/place_product.h
    compiler/fragment.h machines/device/alias_bytes.h machines/device/fragment_shape.h machines/device/place_fragments.h machines/device/product_fragments.h
    machines/lockstep/alias.h machines/lockstep/alias_bytes.h machines/lockstep/alias_tensor.h machines/lockstep/kernel_text.h machines/lockstep/makers.inc machines/lockstep/pointers.h machines/lockstep/strict.h
    machines/lockstep/words.h)

  set(device_depends "")
  foreach(name ${device_names})
    if(name MATCHES "/")
      list(APPEND device_depends ${PROJECT_SOURCE_DIR}/${name})
    else()
      list(APPEND device_depends ${PROJECT_SOURCE_DIR}/machines/device/freestanding/${name})
    endif()
  endforeach()
  string(REPLACE ";" "," device_list "${device_names}")
  add_custom_command(OUTPUT ${TOKITAI_GENERATED}/device_text.cpp
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUTPUT=${TOKITAI_GENERATED}/device_text.cpp
            -DNAMES=${device_list} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${device_depends} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding the device text" VERBATIM)
  add_library(device_text OBJECT ${TOKITAI_GENERATED}/device_text.cpp)
  target_link_libraries(device_text PRIVATE tokitai_flags)
  tokitai_sees(device_text machines/device)
  set(device_depends ${device_depends} PARENT_SCOPE)
endfunction()
