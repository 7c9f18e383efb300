#include "tuner/host_bench.h"

namespace gemmsmith {

Status HostBench::prepare(const GemmProblem& problem, const DeviceFacts& device, const BenchOptions& options) {
  rotation_.clear();
  gate_.clear();
  plan_ = {};
  GS_TRY(plan_, plan_memory(problem, device, options.max_memory_bytes));
  if (!options.rotate) plan_.shared = true;
  GS_CHECK(gate_.prepare(problem, options.seed, plan_.check));
  GS_CHECK(rotation_.prepare(problem, gate_.arguments(), plan_.copies, plan_.shared, device.threads));
  plan_.copies = rotation_.copies();
  problem_ = problem;
  return Done{};
}

Result<double> HostBench::sample_us(Kernel& kernel, int repeats) {
  return rotation_.sample_us(clock_, kernel, repeats);
}

Result<Accuracy> HostBench::check(Kernel& kernel, uint64_t seed) {
  gate_.make_ready(seed);
  GS_CHECK(kernel.run(gate_.arguments()));
  const Accuracy accuracy = gate_.judge();
  if (gate_.damaged()) {
    GS_CHECK(gate_.renew());
    if (plan_.shared) GS_CHECK(rotation_.prepare(problem_, gate_.arguments(), 1, true, 1));
  }
  return accuracy;
}

}  // namespace gemmsmith
