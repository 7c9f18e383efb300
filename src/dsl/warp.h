// What the 32 threads of a warp do together.
#pragma once
#include <vector>

#include "dsl/ops_gpu.h"

namespace gemmsmith {

// Numbers first, first + 1, ... of those that were summed, in this thread. Where several threads have the same ones,
// `holds` is true in one of them. Numbers beyond those that were given are zeros that fill up a power of two.
struct LaneSums {
  std::vector<Vec> values;
  Int first;
  Bool holds;
};

// Sums of numbers of one lane each over the threads of a warp that differ in bits `highest` down to `lowest` of their lane,
// all numbers at once: at every step each thread keeps half of its numbers and sends the other half, so that n numbers cost
// about n shuffles, not n for every bit. `lane` is the thread's in its warp.
LaneSums lane_sums(const std::vector<Vec>& numbers, const Int& lane, int highest = 16, int lowest = 1,
                   Where at = Where::current());

}  // namespace gemmsmith
