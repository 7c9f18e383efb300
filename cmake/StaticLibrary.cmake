# libgemmsmith.a of the portable build: one object of all layers and what they use of MLIR, LLVM and SQLite, in which only the
# symbols of exports.map are global, so that a program may have another LLVM or SQLite beside it. It needs libstdc++ and glibc.
#
# First everything is linked into one relocatable object; then its symbols are made local. Groups of sections that several objects
# share have to be resolved for that (--force-group-allocation): their names would clash with those of other objects otherwise.
add_executable(gs_relocatable ${CMAKE_SOURCE_DIR}/cmake/empty.cpp)
target_link_libraries(gs_relocatable PRIVATE gs_api)
target_link_options(gs_relocatable PRIVATE -r -nostdlib -fuse-ld=bfd -Wl,--force-group-allocation)
set_target_properties(gs_relocatable PROPERTIES SUFFIX .o LINK_LIBRARY_OVERRIDE "${whole_layers}")

set(object ${CMAKE_BINARY_DIR}/gemmsmith.o)
add_custom_command(OUTPUT ${object} DEPENDS gs_relocatable ${exports} ${CMAKE_SOURCE_DIR}/cmake/HideSymbols.cmake
  COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DOBJCOPY=${CMAKE_OBJCOPY} -DEXPORTS=${exports} -DFROM=$<TARGET_FILE:gs_relocatable>
          -DTO=${object} -P ${CMAKE_SOURCE_DIR}/cmake/HideSymbols.cmake VERBATIM)
add_library(gs_library STATIC ${object})
set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
# Programs in C++ choose themselves between libstdc++.so and -static-libstdc++.
target_link_libraries(gs_library INTERFACE $<$<LINK_LANGUAGE:C>:stdc++> m)
set_target_properties(gs_library PROPERTIES LINKER_LANGUAGE C)  # projects in C link it too, by what it names itself
