// Runs candidates of the templates on the simulated GPU, against the float64 reference, under many schedules.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gemmsmith/problem.h"
#include "sources/source.h"
#include "support/clock.h"
#include "targets/simulator/simulator_target.h"
#include "tuner/host_bench.h"

namespace gemmsmith::test {

class SimulatedGpu {
 public:
  // Race detection on; late, eager and `seeds` random schedules for each launch.
  explicit SimulatedGpu(int seeds = 3);
  // Nothing if all is well; else what is wrong: a refusal, a finding, a wrong result.
  std::string run(const std::string& problem, const std::string& config);
  SimulatorTarget& target() { return *target_; }
  int runs() const { return runs_; }

 private:
  std::unique_ptr<SimulatorTarget> target_;
  std::unique_ptr<Source> source_;
  SystemClock clock_;
  HostBench bench_;
  int runs_ = 0;
};

}  // namespace gemmsmith::test
