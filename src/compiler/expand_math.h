// Functions that no instruction computes, as arithmetic: any number of lanes, the same bits in each and in a scalar.
#pragma once

namespace mlir {
class Operation;
}  // namespace mlir

namespace gemmsmith {

// What of the module the pass list still has to lower by passes that most kernels do not need.
struct LeftToLower {
  bool math = false;  // operations of the math dialect: fma, sqrt, floor ... that are instructions, or calls of libm
  bool divisions = false;  // arith.floordivsi, ceildivsi, ceildivui
};

// Replaces in place, for f32 scalars and vectors:
//   math.exp log tanh erf     polynomials, within 2 units in the last place of the exact value over all of f32; NaN,
//   infinities,
//                             signed zeros and denormals as in libm
//   arith.truncf to bf16      nearest, ties to even, NaN stays NaN. The instruction vcvtneps2bf16 is not used: it takes
//                             denormals for 0, so results would depend on the CPU
//   arith.extf from bf16      exact
// Other types are left alone. The arithmetic assumes a fused multiply-add.
LeftToLower expand_math(mlir::Operation* module);

}  // namespace gemmsmith
