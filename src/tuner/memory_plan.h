// What a tuning takes of the memory before any of it is taken, within a cap.
#pragma once
#include <cstdint>
#include <string>

#include "gemmsmith/device.h"
#include "gemmsmith/problem.h"
#include "gemmsmith/result.h"
#include "problem/compare.h"

namespace gemmsmith {

// The operands of the gate, copies of them that samples rotate through, and what is right for the gate's.
//
// In a program, weights come from memory: by the time a layer runs again the caches have seen everything else. So the
// copies together take four times the last-level cache (of twice as much, caches still served a part: a GEMV read 136
// GB/s where memory gives 67). What a cap leaves no room for goes in this order: a right result for every element of D
// instead of samples of them, once it takes a quarter of the cap; then copies; then even the last one, and samples use
// the gate's operands. Only if these do not fit there is an error.
struct MemoryPlan {
  static constexpr int64_t kMaxCopies = 4096;  // of operands of a few bytes a cache would hold millions

  int64_t limit_bytes = 0, operand_bytes = 0, last_level_bytes = 0;
  int64_t copies = 1;   // in each worker, besides the operands of the gate
  int workers = 1;      // that have copies
  bool shared = false;  // no copies: samples use the operands of the gate
  CheckOptions check;   // of the gate, but for the seed
  int64_t reference_bytes = 0;

  bool cold() const { return copies * operand_bytes >= 4 * last_level_bytes; }
  int64_t total_bytes() const {
    return operand_bytes + (shared ? 0 : copies * workers * operand_bytes) + reference_bytes;
  }
  std::string conditions() const;  // "operands cold: 12 copies, 805 MB"
  std::string text() const;        // all of it, for reports
};

// Of a valid problem. The cap is `limit_bytes` or half of the device's memory, if that is less.
Result<MemoryPlan> plan_memory(const GemmProblem&, const DeviceFacts&, int64_t limit_bytes, int workers = 1);

}  // namespace gemmsmith
