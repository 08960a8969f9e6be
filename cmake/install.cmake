# find_package(tokitai) for programs that use the library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS tokitai_core tokitai tokitai_analysis EXPORT tokitai)
install(FILES ${TOKITAI_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tokitai)
install(EXPORT tokitai NAMESPACE tokitai:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tokitai FILE tokitai-targets.cmake)
configure_package_config_file(cmake/tokitai-config.cmake.in ${PROJECT_BINARY_DIR}/tokitai-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tokitai PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tokitai-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tokitai-config.cmake ${PROJECT_BINARY_DIR}/tokitai-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tokitai)
install(TARGETS tokitai_command tokitai_worker)

# What headers and documents refer to, under the names they have in the tree.
file(GLOB_RECURSE documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS docs/*.md operators/*/README.md
  server/README.md machines/lockstep/README.md examples/*)
list(FILTER documents EXCLUDE REGEX "/skeleton/|/__pycache__/|/build/")
foreach(document README.md CHANGELOG.md LICENSE ${documents})
  get_filename_component(place ${document} DIRECTORY)
  install(FILES ${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${place})
endforeach()
