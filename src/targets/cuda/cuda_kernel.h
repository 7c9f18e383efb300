// A kernel on a GPU.
#pragma once
#include <memory>

#include "compiler/target.h"
#include "targets/cuda/driver.h"

namespace gemmsmith {

// Loads a cubin, or PTX for the driver to assemble. With `stage_memory` operands are in host memory: each launch copies
// what it reads to the device and what it writes back, for checks; else addresses are those of the device, and launches
// are asynchronous on the default stream.
Result<std::unique_ptr<LoadedKernel>> load_cuda_kernel(std::shared_ptr<CudaDriver>, const CompiledKernel&,
                                                       bool stage_memory);

}  // namespace gemmsmith
