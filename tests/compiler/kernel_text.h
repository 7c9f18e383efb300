// Kernels from MLIR text, for tests of what comes after staging.
#pragma once
#include <functional>
#include <string>

#include "compiler/target.h"

namespace gemmsmith {

// For Target::compile: a module with a function `name` of one argument, a pointer to 64-bit words. Lines count from 1
// in a file "kernel.mlir". The module is not verified.
std::function<Result<KernelIr>(IrContext&)> kernel_text(const std::string& text, const KernelSignature& = {},
                                                        const std::string& name = "kernel");

// kernel(in, out, n): out[i] = body(in[i]) for n a multiple of `lanes`. `body` defines %y, of `lanes` values of type
// `to`, from %x, of as many of type `from`. One lane is a scalar.
std::string map_kernel(int lanes, const std::string& from, const std::string& to, const std::string& body);

// "f32" or "vector<8xf32>".
std::string lanes_of(int lanes, const std::string& element);

}  // namespace gemmsmith
