// The CPU as a target: kernels become x86-64 code in this process.
#pragma once
#include <memory>
#include <string>

#include "compiler/target.h"

namespace gemmsmith {

struct CpuTargetOptions {
  int threads = 0;             // that kernels use; 0: all cores that this process may run on
  bool measure_peaks = true;   // 0.1 to 0.3 s; without it the peaks of the facts are 0
  std::string features_limit;  // "avx2", "avx512": code and facts of a lesser CPU; empty: all that this one has
};

// Errors: a CPU that is not x86-64 with AVX2, FMA and F16C; threads out of range; an unknown limit.
// Kernels may outlive the target. A kernel may be launched by several threads at once.
Result<std::unique_ptr<Target>> make_cpu_target(const CpuTargetOptions& = {});

}  // namespace gemmsmith
