// Operations that the threads of a warp, or of a warpgroup, execute together.
#pragma once
#include <array>
#include <bit>

#include "support/text.h"
#include "targets/simulator/runtime/engine.h"

namespace gemmsmith::simulator {

// The operands of a warp's lanes; null for those outside of the mask.
template <class Operands>
struct Lanes {
  std::array<Operands*, kWarpThreads> operands{};
  std::array<Thread*, kWarpThreads> threads{};
  Operands& operator[](int lane) const { return *operands[lane]; }
  bool has(int lane) const { return operands[lane] != nullptr; }
};

// The rendezvous of the mask that the current thread comes to; the last one gets it, the others have waited and get null.
Rendezvous* meet_warp(Engine& engine, uint32_t mask, const char* operation, int site);
void end_warp(Engine& engine, Rendezvous& rendezvous);

// Comes together with the lanes of the mask (those that the warp has); the last to come runs `action` on the operands of all, which lie on
// their stacks, and lets them go. Orders no memory accesses.
template <class Operands, class Action>
void warp_collective(Engine& engine, uint32_t mask, const char* operation, int site, Operands& mine, Action action) {
  engine.current().operands = &mine;
  Rendezvous* all = meet_warp(engine, mask, operation, site);
  if (!all) return;
  Lanes<Operands> lanes;
  for (Thread* thread : all->threads) {
    lanes.operands[thread->lane()] = static_cast<Operands*>(thread->operands);
    lanes.threads[thread->lane()] = thread;
  }
  action(lanes);
  end_warp(engine, *all);
}

// The same for the 128 threads of a warpgroup.
Rendezvous* meet_warpgroup(Engine& engine, const char* operation, int site);
void end_warpgroup(Engine& engine, Rendezvous& rendezvous);

}  // namespace gemmsmith::simulator
