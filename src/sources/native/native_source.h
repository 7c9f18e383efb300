// The project's own kernels as a source: every template that serves the device, in every configuration that its model keeps.
#pragma once
#include <memory>

#include "compiler/target.h"
#include "sources/source.h"

namespace gemmsmith {

struct NativeOptions {
  bool verify = false;        // MLIR's verifier after staging and after every pass
  bool check_bounds = false;  // kernels report an access that is not proven to be inside, with its line
};

// The target has to outlive the source and its kernels.
std::unique_ptr<Source> make_native_source(Target& target, const NativeOptions& = {});

// Compiles one candidate, keeping the text of every stage.
Result<CompiledKernel> compile_native(Target& target, const GemmProblem&, const std::string& config);

}  // namespace gemmsmith
