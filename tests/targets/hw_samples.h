// One kernel, or several, for every operation of the hw dialect, as MLIR text: what each target is held to.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/target.h"

namespace gemmsmith {

// The line of an operation on the values that hw_kernel() provides: %shared (ptr<3>), %cluster and %other (ptr<7>),
// %global (ptr<1>), %i32, %i64, %f32, %i1, %descriptor_a and %descriptor_b (i64). By the name of the operation.
const std::map<std::string, std::vector<std::string>>& hw_samples();

struct WgmmaSample {
  std::string type = "bf16";
  int n = 8, instructions = 1, k_steps = 1;
  bool registers_a = false, mn_major_a = false, mn_major_b = false;
};
std::string wgmma_sample(const WgmmaSample&);

// A kernel of 128 threads around such lines; its name is "kernel".
std::string hw_kernel(const std::string& lines);

// For Target::compile: a module from text. Lines count from 1 in a file "kernel.mlir". `verify` as MLIR's own parser does.
std::function<Result<KernelIr>(IrContext&)> gpu_kernel_text(const std::string& text);

}  // namespace gemmsmith
