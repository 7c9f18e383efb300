#include "simulated/simulated.h"

#include "sources/native/native_source.h"

namespace gemmsmith::test {

SimulatedGpu::SimulatedGpu(int seeds) : bench_(clock_) {
  SimulatorOptions options;
  options.launch.detect_races = true;
  options.schedules = 2 + seeds;
  target_ = make_simulator_target("sm_90a", options).value();
  source_ = make_native_source(*target_, {});
}

std::string SimulatedGpu::run(const std::string& text, const std::string& config) {
  const std::string what = text + " | " + config + ": ";
  auto problem = GemmProblem::parse(text);
  if (!problem.ok()) return what + problem.error().text();
  auto kernel = source_->build(*problem, target_->facts(), {"native", config, 0});
  if (!kernel.ok()) return what + kernel.error().text();
  BenchOptions options;
  options.rotate = false;
  if (const Status ready = bench_.prepare(*problem, target_->facts(), options); !ready.ok())
    return what + ready.error().text();
  const auto accuracy = bench_.check(**kernel, uint64_t(++runs_));
  if (!accuracy.ok()) return what + accuracy.error().text();
  return accuracy->passed ? std::string() : what + accuracy->failure;
}

}  // namespace gemmsmith::test
