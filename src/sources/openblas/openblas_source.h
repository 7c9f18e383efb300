// OpenBLAS: sgemm, sgemv and, where a build has it, sbgemm. Found at run time; refuses with a reason where it is absent
// or runs with kernels that are too old for the CPU.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gemmsmith/device.h"
#include "sources/source.h"

namespace gemmsmith {

struct OpenBlasOptions {
  // "auto": OPENBLAS_CORETYPE of the environment, else the type that suits the CPU. Or a type's name: "SkylakeX".
  std::string core_type = "auto";
  // Use it even if its kernels are below the CPU's instruction set: for tests of correctness.
  bool allow_slow_core = false;
  std::vector<std::string> library_names = {"libopenblas.so.0", "libopenblas.so"};
};

// Opens the library; changes and restores environment variables meanwhile, so no other thread may read them then.
std::unique_ptr<Source> make_openblas_source(const DeviceFacts&, const OpenBlasOptions& = {});

}  // namespace gemmsmith
