#include "gemmsmith/simulate.h"

#include <chrono>

#include "sources/native/native_source.h"
#include "support/clock.h"
#include "targets/simulator/simulator_target.h"
#include "tuner/host_bench.h"

namespace gemmsmith {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<std::pair<std::string, int64_t>> list(const simulator::Counters& c) {
  return {{"ctas", c.ctas},
          {"clusters", c.clusters},
          {"waves", c.waves},
          {"steps", c.steps},
          {"tma_read_bytes", c.tma_read_bytes},
          {"tma_write_bytes", c.tma_write_bytes},
          {"multicast_bytes", c.multicast_bytes},
          {"global_load_bytes", c.global_load_bytes},
          {"global_store_bytes", c.global_store_bytes},
          {"shared_load_bytes", c.shared_load_bytes},
          {"shared_store_bytes", c.shared_store_bytes},
          {"dsmem_bytes", c.dsmem_bytes},
          {"shared_wavefronts", c.shared_wavefronts},
          {"bank_conflicts", c.bank_conflicts},
          {"wgmma_instructions", c.wgmma_instructions},
          {"mma_instructions", c.mma_instructions}};
}

}  // namespace

Result<SimulationReport> simulate(const GemmProblem& problem, const SimulateOptions& options) {
  GS_CHECK(problem.validate());
  SimulatorOptions simulated;
  simulated.launch.detect_races = options.detect_races;
  simulated.launch.count_bank_conflicts = true;
  if (options.timeline) simulated.launch.timeline_of_cta = simulator::Dim3{0, 0, 0};
  simulated.schedules = options.schedules;
  simulated.resident_clusters = options.resident_clusters;
  GS_TRY(const std::unique_ptr<SimulatorTarget> target, make_simulator_target(options.arch, simulated));
  const auto source = make_native_source(*target, {});

  SimulationReport report;
  report.config = options.config;
  if (report.config.empty()) {
    if (const Supports answer = source->supports(problem, target->facts()); !answer)
      return Error{"problem", problem.print(), "has no template for " + options.arch + ": " + answer.reason, {}, {}};
    const auto kept = source->candidates(problem, target->facts()).kept;
    if (kept.empty()) return Error{"problem", problem.print(), "has no legal configuration on " + options.arch, {}, {}};
    report.config = kept.front().config;
  }
  const double start = now_ms();
  GS_TRY(const std::unique_ptr<Kernel> kernel,
         source->build(problem, target->facts(), {source->name(), report.config, 0}));
  report.build_ms = now_ms() - start;

  SystemClock clock;
  HostBench bench(clock);
  BenchOptions bench_options;
  bench_options.rotate = false;
  GS_CHECK(bench.prepare(problem, target->facts(), bench_options));
  const double run = now_ms();
  const auto accuracy = bench.check(*kernel, options.seed);
  report.run_ms = now_ms() - run;
  report.counters = list(target->last_result().counters);
  report.timeline = target->last_result().timeline;
  if (accuracy.ok())
    report.accuracy = *accuracy;
  else
    report.findings = accuracy.error().text();
  return report;
}

}  // namespace gemmsmith
