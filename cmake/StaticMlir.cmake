# gs_mlir of LLVM's static archives, for the portable build: what it links is in the program, and nothing but glibc is needed.
# Debian's exported targets need corrections first: MLIR's archives ask for the shared libLLVM, which would be a second LLVM in the
# process, and LLVM's for shared libz, libzstd and libz3 (of a part that is not used here).
# MLIR's own CMake files make a target for each archive; those of what src/ uses:
set(mlir_archives
  MLIRArithDialect MLIRControlFlowDialect MLIRLLVMDialect MLIRMathDialect MLIRSCFDialect MLIRUBDialect MLIRVectorDialect
  MLIRArithToLLVM MLIRArithTransforms MLIRControlFlowToLLVM MLIRMathToLLVM MLIRNVVMToLLVM MLIRNVVMDialect MLIRNVVMToLLVMIRTranslation MLIRReconcileUnrealizedCasts MLIRSCFToControlFlow
  MLIRUBToLLVM MLIRVectorToLLVMPass MLIRTransforms
  MLIRBuiltinToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation MLIRTargetLLVMIRExport MLIRPass MLIRIR)
llvm_map_components_to_libnames(llvm_archives core passes orcjit object target support x86codegen x86desc x86info x86asmparser
                                nvptxcodegen nvptxdesc nvptxinfo)

find_library(ZLIB_ARCHIVE libz.a REQUIRED)
find_library(ZSTD_ARCHIVE libzstd.a REQUIRED)
find_library(SQLITE_ARCHIVE libsqlite3.a REQUIRED)
foreach(target IN LISTS MLIR_EXPORTED_TARGETS LLVM_AVAILABLE_LIBS)
  if(NOT TARGET ${target})
    continue()
  endif()
  get_target_property(kind ${target} TYPE)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  if(kind STREQUAL "STATIC_LIBRARY" AND links)
    list(FILTER links EXCLUDE REGEX "^(LLVM|m|dl|rt|pthread|.*/libz3\\.so)$")  # the system's: glibc 2.34 and later has them inside
    list(TRANSFORM links REPLACE "^ZLIB::ZLIB$" "${ZLIB_ARCHIVE}")
    list(TRANSFORM links REPLACE "^zstd::libzstd_shared$" "${ZSTD_ARCHIVE}")
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
  endif()
endforeach()
target_link_libraries(gs_mlir INTERFACE ${mlir_archives} ${llvm_archives})
set_target_properties(SQLite::SQLite3 PROPERTIES IMPORTED_LOCATION ${SQLITE_ARCHIVE})
