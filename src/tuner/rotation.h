// Copies of a problem's operands that timed calls rotate through, and the timing of calls, for kernels that run in host
// memory.
#pragma once
#include <cstdint>
#include <vector>

#include "gemmsmith/arguments.h"
#include "gemmsmith/problem.h"
#include "sources/source.h"
#include "support/aligned_buffer.h"
#include "support/clock.h"

namespace gemmsmith {

// Keeps its memory from one problem to the next, since touching new pages costs more than filling them.
class Rotation {
 public:
  // Copies of what the arguments point to; fewer if there is not the memory for all of them. With `shared` there are
  // none, and calls use the arguments themselves. The pages of new memory are touched by several threads.
  Status prepare(const GemmProblem&, const GemmArguments&, int64_t copies, bool shared, int threads);
  void clear() { arguments_.clear(); }
  bool ready() const { return !arguments_.empty(); }
  int64_t copies() const { return int64_t(arguments_.size()); }

  // Mean time of a call over `repeats` calls in a row, each on the next copy. Errors: the kernel's.
  Result<double> sample_us(const Clock&, Kernel&, int repeats);

 private:
  AlignedBuffer arena_;
  std::vector<GemmArguments> arguments_;  // one for each copy
  size_t next_ = 0;                       // copy to use
};

}  // namespace gemmsmith
