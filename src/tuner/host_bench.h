// Times and checks kernels that run in host memory.
#pragma once
#include <optional>
#include <vector>

#include "problem/compare.h"
#include "problem/operands.h"
#include "support/aligned_buffer.h"
#include "support/clock.h"
#include "tuner/bench.h"

namespace gemmsmith {

// How many copies of the operands calls rotate through. In a program, weights come from memory: by the time a layer
// runs again the caches have seen everything else. So the copies together take at least four times the last-level cache
// (of twice as much, caches still served a part: a GEMV read 136 GB/s where memory gives 67),
// within the limit of memory; rotation gives way before anything fails, and Bench::conditions() says so.
struct RotationPlan {
  int64_t copies = 1;   // besides the operands of the gate
  bool shared = false;  // not even one fits besides: samples use the operands of the gate
  bool cold = true;     // whether they take four times the last-level cache
};
// Errors: one set of operands is more than the limit.
Result<RotationPlan> plan_rotation(int64_t operand_bytes, int64_t last_level_bytes, int64_t limit_bytes);

// Keeps its memory from one problem to the next, since touching new pages costs more than filling them: use one bench
// for many problems, and destroy it when they are done.
class HostBench final : public Bench {
 public:
  // Timed by the clock, which has to outlive the bench.
  explicit HostBench(const Clock& clock) : clock_(clock) {}
  HostBench(const HostBench&) = delete;  // expected_ points into it

  Status prepare(const GemmProblem&, const DeviceFacts&, const BenchOptions&) override;
  Result<double> sample_us(Kernel&, int repeats) override;
  Result<Accuracy> check(Kernel&, uint64_t seed) override;
  bool disturbed_by_builds() const override { return true; }
  std::string conditions() const override { return conditions_; }

 private:
  Status make_rotation(const RotationPlan&, int threads);
  void prepare_gate(uint64_t seed);
  Status renew_gate();

  const Clock& clock_;
  GemmProblem problem_;
  std::string conditions_;

  std::optional<Operands> gate_;  // with guard bands
  uint64_t gate_seed_ = 0;
  std::optional<Check> expected_;  // of the gate's operands as filled by gate_seed_

  AlignedBuffer arena_;                  // of the rotation
  std::vector<GemmArguments> rotation_;  // one for each copy
  size_t next_ = 0;                      // copy to use
  bool shared_ = false;                  // the rotation is the gate's operands
};

}  // namespace gemmsmith
