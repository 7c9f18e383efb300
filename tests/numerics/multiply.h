// A kernel on operands that a test fills element by element.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "api/state.h"
#include "gemmsmith/gemm.h"
#include "problem/operands.h"
#include "support/half.h"

namespace gemmsmith {

// Null where the CPU is none that the target covers. Threads may be more than cores.
const Device* device_with(int threads);

using Rule = std::function<double(int64_t row, int64_t column)>;

// Operands of a problem (of one member) filled by rules; a rule that is empty leaves random values.
Operands filled(const GemmProblem&, const Rule& a, const Rule& b, const Rule& c = {}, const Rule& inputs = {});

// The bytes of D's elements, row by row, after a run that has to succeed. Empty if it does not.
std::vector<double> run(Kernel&, const GemmProblem&, Operands&);

// Every candidate of every source that supports the problem, the first `most` of each.
struct Built {
  std::string name;  // "native gemm_packed mr=8 ..."
  std::unique_ptr<Kernel> kernel;
};
std::vector<Built> build_all(const Device&, const GemmProblem&, size_t most = 4);

}  // namespace gemmsmith
