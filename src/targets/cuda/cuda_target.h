// NVIDIA GPUs as a target. Kernels are compiled on any machine, and launched where there is a driver.
#pragma once
#include <memory>
#include <string>

#include "compiler/target.h"
#include "targets/cuda/assembler.h"
#include "targets/cuda/driver.h"

namespace gemmsmith {

struct CudaTargetOptions {
  std::string arch = "sm_90a";
  AssemblerKind assembler = AssemblerKind::automatic;
  ToolkitPaths paths = toolkit_paths();
  std::shared_ptr<CudaDriver> driver = {};  // with a device, to launch on; null: kernels are only compiled
};

// Without a driver facts are nominal, and load() is an error that says why. With one, operands are in host memory: each
// launch copies them to the device and D back. Stages of its kernels:
// "mlir", "llvm", "ptx", "resources", "sass"; the object is a cubin, or PTX where only the driver can assemble it.
// Errors: an unknown architecture, an assembler that was asked for and is not there.
Result<std::unique_ptr<Target>> make_cuda_target(const CudaTargetOptions& = {});

// Whether the object of a kernel is a cubin, an ELF file; otherwise it is PTX.
bool is_cubin(const std::string& object);

}  // namespace gemmsmith
