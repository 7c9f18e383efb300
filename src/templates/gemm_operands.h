// What every GEMM template starts from: A, B and D of a problem class as tensors, oriented so that D's vectors run along mode 1.
#pragma once
#include "dsl/cpu.h"
#include "templates/gemm_class.h"

namespace gemmsmith {

// Modes (m, k), (n, k) and (m, n); `swapped` computes the transposed problem, D^T = B * A^T, with the names m and n exchanged.
struct GemmOperands {
  Tensor a, b;
  Output d;
  Int members;  // of the batch
};
GemmOperands gemm_operands(KernelBuilder&, const GemmClass&, bool swapped, Where at = Where::current());

// How the cores share a problem: members of the batch first, then rows or columns of D in multiples of `unit`.
struct Share {
  int unit = 1;
  bool split_rows = false;
};
// Records `body` for one part of one member. Parts go round the cores in turn, so that `core` names scratch that is free.
using PartBody = std::function<void(Int core, const GemmOperands& part)>;
void each_part(KernelBuilder&, const GemmOperands&, const GemmClass&, const Share&, const PartBody& body,
               Where at = Where::current());

// D = epilogue(sums) for a block of D and sums of the same shape or larger, in a loop over the rows that exist.
void finish(const Output& d, const Tensor& sums, int columns, int lanes, Where at = Where::current());

}  // namespace gemmsmith
