// The epilogue as a pass of its own over an f32 D that already holds alpha * A * B + beta * C: what a user of a library
// without fused epilogues has to run after it, and what the fusion of others is weighed against.
#pragma once
#include <memory>

#include "gemmsmith/arguments.h"
#include "gemmsmith/problem.h"

namespace gemmsmith {

// Works on D in place with as many threads as pay, in f32, block by block through the steps of the expression. A plain
// D layout with one unit stride is fast; any other works. run() may be called from several threads at once.
class EpiloguePass {
 public:
  EpiloguePass() = default;  // of the epilogue `acc`: nothing to do
  // Of a problem whose D is f32.
  EpiloguePass(const GemmProblem&, int threads);

  bool empty() const { return !plan_; }
  void run(const GemmArguments&) const;

  struct Plan;

 private:
  std::shared_ptr<const Plan> plan_;
};

// D = scale * C, of any types and strides; zeros if the scale is 0, and C is not read then. What a kernel that
// accumulates into D starts from.
void set_d_from_c(const GemmProblem&, const GemmArguments&, double scale, int threads);

}  // namespace gemmsmith
