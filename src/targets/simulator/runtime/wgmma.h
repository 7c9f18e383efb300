// What the engine keeps for wgmma between calls.
#pragma once
#include <map>
#include <tuple>
#include <vector>

#include "targets/simulator/runtime/wgmma_operands.h"

namespace gemmsmith::simulator {

// Addresses of a block for one pair of descriptors; a ring has as many as stages.
struct WgmmaPlan {
  std::vector<std::vector<uint32_t>> a;  // by m step; empty if A is in registers
  std::vector<uint32_t> b;
  std::vector<SharedRange> reads;
};
using WgmmaPlans = std::map<std::tuple<int, uint64_t, uint64_t>, WgmmaPlan>;

}  // namespace gemmsmith::simulator
