// Global memory of a launch that is neither operand nor result.
#pragma once
#include "dsl/ops_gpu.h"

namespace gemmsmith {

// A part for each CTA, 256-byte aligned. Every CTA may read and write the parts of others; flags say when.
class Workspace {
 public:
  Scalar of_cta(const Int& cta, const Offset& byte = 0) const;

 private:
  friend class GpuBuilder;
  Workspace(Scalar base, Offset step) : base_(base), step_(step) {}
  Scalar base_;
  Offset step_;
};

}  // namespace gemmsmith
