// Compiling without running: kernels for problems and a device, in a folder. The device need not be there:
//
//   auto device = gemmsmith::Device::open("sm_90a").value();
//   auto report = gemmsmith::compile_folder(device, problems, "kernels").value();
#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "gemmsmith/gemm.h"

namespace gemmsmith {

// What is known of a kernel once it has been compiled or refused.
struct FolderKernel {
  std::string config;
  std::vector<std::string> problems;  // of those given, that it was chosen for
  std::string file;                   // in the folder: "3f2a....cubin"; empty if it was refused
  std::string refused;                // why; empty: it is there
  bool kept = false;                  // from an earlier run: equal code, not compiled again
  double ms = 0;                      // of compiling
};

struct CompileFolderOptions {
  int top = 1;                                // configurations for each problem, the best of the model first
  int threads = 0;                            // 0: one for each core that this process may run on
  const std::atomic<bool>* cancel = nullptr;  // stops after the kernels at hand; those that are done are kept
  // After each kernel, by one thread at a time.
  std::function<void(size_t done, size_t total, const FolderKernel&)> progress;
};

struct CompileFolderReport {
  std::vector<FolderKernel> kernels;                          // each once, though problems share it
  std::vector<std::pair<std::string, std::string>> unserved;  // problems without any candidate, with the reason
  std::string index;                                          // path of the index
  double seconds = 0;
  bool cancelled = false;
};

// Writes one file a kernel, named by what its code depends on, and index.json with what is needed to call them: keys,
// signatures, tensor maps, launches, resources, problems. Files of earlier runs with equal code are kept, others are left
// alone. Errors: options that make no sense, a folder that cannot be written. A kernel that does not compile, or that
// spills or serializes, is refused in the report and the others go on.
Result<CompileFolderReport> compile_folder(const Device&, const std::vector<GemmProblem>&, const std::string& folder,
                                           const CompileFolderOptions& = {});

}  // namespace gemmsmith
