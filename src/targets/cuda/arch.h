// The GPU architectures that this target knows, as data.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/device.h"
#include "gemmsmith/result.h"

namespace gemmsmith {

struct GpuArch {
  const char* name;      // what LLVM and assemblers call it: "sm_90a"
  int ptx_version;       // the lowest that has all instructions of its kernels: 81 is PTX ISA 8.1
  int64_t shared_bytes;  // that a CTA may have
  const char* missing;   // how the GEMM that nobody has written for it yet would work; null: there is one
  DeviceFacts nominal;   // of a GPU of this architecture, from its data sheet
};

std::vector<std::string> gpu_arch_names();
// Errors: a name that is not in the table.
Result<const GpuArch*> gpu_arch(std::string_view name);

// The facts of a GPU that is not there, so that templates' models work: peaks are those of the data sheet, and the model
// says "nominal".
Result<DeviceFacts> describe_arch(std::string_view name);

}  // namespace gemmsmith
