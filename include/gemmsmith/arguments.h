// The memory that one multiplication works on.
#pragma once
#include <vector>

namespace gemmsmith {

// Pointers to element (0,0) of batch 0. The caller owns the memory; D may not overlap anything else.
struct GemmArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  // read only if beta is not 0
  void* d = nullptr;
  std::vector<const void*> inputs;  // of the epilogue, in the order of GemmProblem::inputs
};

}  // namespace gemmsmith
