// A gate's operands where a worker can run kernels on them but damage nothing beyond D: inputs are read-only there, each
// operand ends where memory that may not be touched begins, and guard bands cover the few bytes that pages do not reach.
//
//   guard, 1 MB | front band, operand, back band (under 64 bytes) | guard | ... the next operand ... | guard
//
// The guards are holes: they take address space and no memory. What is right for the operands stays with the tuner, which
// also judges: a kernel cannot reach it.
#pragma once
#include <vector>

#include "problem/operands.h"
#include "support/shared_memory.h"
#include "tuner/worker_protocol.h"

namespace gemmsmith {

// Of the tuner.
class SharedOperands {
 public:
  // Memory for the operands of a valid problem. Errors: not enough.
  static Result<SharedOperands> create(const GemmProblem&);
  // For Gate::prepare(); has to be outlived. A renewed gate gets the same places again.
  Operands::Place places();
  // What a worker has to know: where everything lies. Copies and limits are the caller's.
  OperandsRequest request(const GemmArguments&) const;
  int file() const { return memory_.file(); }
  const std::vector<SharedRegion>& regions() const { return regions_; }

 private:
  SharedMemory memory_;
  std::vector<SharedRegion> regions_;
  size_t operands_ = 0;  // how many
};

// Of a worker: maps what it was sent.
struct MappedOperands {
  SharedMemory memory;
  GemmArguments arguments;
  // Errors: a request that does not hold together.
  static Result<MappedOperands> map(const OperandsRequest&, FileDescriptor file);
};

}  // namespace gemmsmith
