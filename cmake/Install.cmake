# What other programs build on: libgemmsmith, a shared library of all layers (of the portable build a static one), which hides what it
# is made with. So they need none of
# the packages that it was built from, and find_package(gemmsmith) has no dependency to look for. examples/ uses all of it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(GLOB public_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/gemmsmith/*.h)
# The layers that implement public headers are in it whole, whether another layer calls all of their functions or not.
set(whole_layers "WHOLE_ARCHIVE,gs_support,gs_layout,gs_expr,gs_problem,gs_tuner,gs_api")
set(exports ${CMAKE_SOURCE_DIR}/cmake/exports.map)
if(GEMMSMITH_PORTABLE)
  include(StaticLibrary)
  set(pc_libs " -lstdc++ -lm")
  # -s: without symbols. The executable's own are for a debugger, which wants a build of another kind.
  target_link_options(gemmsmith PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections -s)
else()
  add_library(gs_library SHARED)
  target_link_libraries(gs_library PRIVATE gs_api)
  target_link_options(gs_library PRIVATE -Wl,--version-script=${exports})
  set_target_properties(gs_library PROPERTIES
    LINKER_LANGUAGE CXX LINK_DEPENDS ${exports} LINK_LIBRARY_OVERRIDE "${whole_layers}"
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  # LLVM's libraries are not where the loader looks.
  set_target_properties(gs_library gemmsmith PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
endif()
add_library(gemmsmith::gemmsmith ALIAS gs_library)
target_sources(gs_library PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/include FILES ${public_headers})
set_target_properties(gs_library PROPERTIES OUTPUT_NAME gemmsmith EXPORT_NAME gemmsmith)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gemmsmith)
install(TARGETS gemmsmith RUNTIME)
install(TARGETS gs_library EXPORT gemmsmith_targets LIBRARY ARCHIVE FILE_SET HEADERS)
install(EXPORT gemmsmith_targets NAMESPACE gemmsmith:: FILE gemmsmith-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/gemmsmith-config.cmake.in ${CMAKE_BINARY_DIR}/gemmsmith-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/gemmsmith-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/gemmsmith-config.cmake ${CMAKE_BINARY_DIR}/gemmsmith-config-version.cmake
  DESTINATION ${package_dir})
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_SOURCE_DIR}/cmake/gemmsmith.pc.in ${CMAKE_BINARY_DIR}/gemmsmith.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/gemmsmith.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
