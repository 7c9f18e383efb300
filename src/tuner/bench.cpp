#include "tuner/bench.h"

#include "support/machine_load.h"

namespace gemmsmith {

std::unique_ptr<WaveBuilder> Bench::make_builder(const GemmProblem& problem, const DeviceFacts& device) {
  return std::make_unique<Builder>(problem, device, device.threads);
}

double Bench::cpu_seconds() const { return own_cpu_seconds(); }

}  // namespace gemmsmith
