// One small kernel for each hardware operation that templates use, on inputs whose results are exact in every order of
// summation. A GPU runs them once and its results are recorded (tests/golden/h200.json); the simulator has to agree with
// them at every commit.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "dsl/hopper.h"

namespace gemmsmith::test {

struct GoldenKernel {
  std::string name;                        // "wgmma_bf16_k_sw128"
  std::vector<uint8_t> input;              // operands "in", "a" and "b" begin at offsets of it
  std::map<std::string, int64_t> offsets;  // bytes
  std::map<std::string, int64_t> extents;  // "m", "n", ...
  std::map<std::string, int64_t> strides;  // row (or, of column-major operands, column) strides in elements
  int64_t output_words = 0;                // of "out" and "d", which are the same memory, 0xff before
  std::function<void(GpuBuilder&)> stage;
  float tolerance = 0;  // of f32 words, relative; 0: bits are compared
};

std::vector<GoldenKernel> golden_kernels();

// Runs a kernel on a target whose launches take operands in host memory.
Result<std::vector<uint32_t>> run_golden(Target&, const GoldenKernel&);
// Of what decides the code: PTX without line numbers.
std::string ptx_hash(const std::string& ptx);

}  // namespace gemmsmith::test
