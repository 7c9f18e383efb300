// mbarriers as asynchronous operations use them; threads use the entries.
#pragma once
#include "targets/simulator/runtime/engine.h"

namespace gemmsmith::simulator {

// The 64 bits in shared memory: counts of expected and pending arrivals, the tx-count (signed), the phase's parity, and two bits that tell a
// barrier from poison and data. The hardware's layout is not documented; programs cannot depend on it.
struct MbarrierWord {
  uint32_t expected = 0, pending = 0;  // 20 bits each
  int32_t tx_count = 0;                // 21 bits
  uint32_t phase = 0;
  bool valid = false;
  static MbarrierWord load(const void* address);
  void store(void* address) const;
};
inline constexpr uint32_t kMostArrivals = (1 << 20) - 1;
inline constexpr int32_t kMostTx = (1 << 20) - 1;

// The barrier must be there: its place, valid, initialised before what `view` knows, and fenced if its user is another CTA's thread or an
// asynchronous operation (`outside`).
Place mbarrier_place(Engine& engine, const void* address, int site, std::string_view operation);
void check_mbarrier_use(Engine& engine, const Place& place, const View& view, const Stamp& user, bool outside);

// complete_tx of an asynchronous operation, or its arrival (arrivals = 1, bytes = 0).
void complete_mbarrier(Engine& engine, const Place& place, uint32_t bytes, uint32_t arrivals,
                       const Contribution& contribution, const Thread& issuer, int site, std::string_view operation);

}  // namespace gemmsmith::simulator
