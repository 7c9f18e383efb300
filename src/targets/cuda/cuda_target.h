// NVIDIA GPUs as a target. Kernels are compiled on any machine; nothing is launched yet.
#pragma once
#include <memory>
#include <string>

#include "compiler/target.h"
#include "targets/cuda/assembler.h"

namespace gemmsmith {

struct CudaTargetOptions {
  std::string arch = "sm_90a";
  AssemblerKind assembler = AssemblerKind::automatic;
  ToolkitPaths paths = toolkit_paths();
};

// A target for an architecture without a GPU: facts are nominal, load() is an error that says why. Stages of its kernels:
// "mlir", "llvm", "ptx", "resources", "sass"; the object is a cubin, or PTX where only the driver can assemble it.
// Errors: an unknown architecture, an assembler that was asked for and is not there.
Result<std::unique_ptr<Target>> make_cuda_target(const CudaTargetOptions& = {});

// Whether the object of a kernel is a cubin, an ELF file; otherwise it is PTX.
bool is_cubin(const std::string& object);

}  // namespace gemmsmith
