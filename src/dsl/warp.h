// What the 32 threads of a warp do together.
#pragma once
#include <vector>

#include "dsl/ops_gpu.h"

namespace gemmsmith {

// One of several numbers that threads of a warp were left with.
struct WarpSum {
  Int index;     // which one
  Bool holds;    // in one thread for each: the others have nothing to store
  Vec value;     // one lane
};

// Sums over the threads of a warp of up to 32 numbers of one lane each, all at once: at every step each thread keeps half
// of its numbers and sends the other half, so that n numbers cost n - 1 shuffles and a few, not 5 n. `lane` is the
// thread's in its warp.
WarpSum warp_sums(const std::vector<Vec>& numbers, const Int& lane, Where at = Where::current());

}  // namespace gemmsmith
