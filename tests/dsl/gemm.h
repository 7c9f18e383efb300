// A packed GEMM, written as a template would be: the kernel that the tests of this folder record, verify and run.
#pragma once
#include "dsl/cpu.h"

namespace gemmsmith::test {

enum class Inner { fma, dot_pairs, dot_quads };

struct GemmConfig {
  int mr = 6, nr = 32, mc = 12, nc = 64, kc = 48;
  Inner inner = Inner::fma;
};
struct GemmClass {
  MatrixArg a{"a", "m", "k"}, b{"b", "n", "k", Major::column};
  OutputArg out{.d = {"d", "m", "n"},
                .acc = DataType::f32,
                .alpha = false,
                .beta = false,
                .c = {"c", "m", "n"},
                .epilogue = {},
                .inputs = {}};
};

// D[m,n] = epilogue(A[m,k] · B[n,k]ᵀ), batched if its operands are.
void gemm_packed(KernelBuilder& k, const GemmConfig& c, const GemmClass& p);

}  // namespace gemmsmith::test
