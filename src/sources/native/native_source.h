// The project's own kernels as a source: every template that serves the device, in every configuration that its model keeps.
#pragma once
#include <memory>

#include "compiler/cache.h"
#include "compiler/target.h"
#include "sources/source.h"

namespace gemmsmith {

struct NativeOptions {
  bool verify = false;        // MLIR's verifier after staging and after every pass
  bool check_bounds = false;  // kernels report an access that is not proven to be inside, with its line
  // Where compiled kernels are looked for before they are compiled, and kept; none if null.
  std::shared_ptr<KernelCache> cache;
  // Kernels that stay loaded for the next problem of their class, the most recently used. Those that somebody holds
  // live as long as they are held.
  size_t max_loaded = 256;
};

// The target has to outlive the source, but not its kernels.
std::unique_ptr<Source> make_native_source(Target& target, const NativeOptions& = {});

// What a compiled kernel depends on, all of it: the code that made it, the candidate and its class, the machine. Problems
// with the same key share the kernel.
std::string native_kernel_key(const Target& target, const GemmProblem&, const std::string& config);

// Compiles one candidate, keeping the text of every stage. With a cache the kernel is saved in it; with `object_only` it
// may come from there, and has no stages.
struct NativeCompile {
  KernelCache* cache = nullptr;
  bool object_only = false;
  bool report_only = false;  // as CompileOptions has it; such a kernel is not saved
};
Result<CompiledKernel> compile_native(Target& target, const GemmProblem&, const std::string& config,
                                      const NativeCompile& = {});

}  // namespace gemmsmith
