// Times and checks kernels in this process, on its memory.
#pragma once
#include "support/clock.h"
#include "tuner/bench.h"
#include "tuner/gate.h"
#include "tuner/memory_plan.h"
#include "tuner/rotation.h"

namespace gemmsmith {

// Use one bench for many problems, and destroy it when they are done: it keeps its memory from one to the next.
class HostBench final : public Bench {
 public:
  // Timed by the clock, which has to outlive the bench.
  explicit HostBench(const Clock& clock) : clock_(clock) {}

  Status prepare(const GemmProblem&, const DeviceFacts&, const BenchOptions&) override;
  Result<double> sample_us(Kernel&, int repeats) override;
  Result<Accuracy> check(Kernel&, uint64_t seed) override;
  bool disturbed_by_builds() const override { return true; }
  std::string conditions() const override { return plan_.conditions(); }
  std::string memory() const override { return plan_.text(); }
  std::string isolation() const override { return isolation_; }
  void set_isolation(std::string text) { isolation_ = std::move(text); }

 private:
  const Clock& clock_;
  std::string isolation_;
  GemmProblem problem_;
  MemoryPlan plan_;
  Gate gate_;
  Rotation rotation_;
};

}  // namespace gemmsmith
