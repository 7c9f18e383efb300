// A kernel on a simulated GPU: whether it is right, what it moves, who waits for what.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gemmsmith/measure.h"
#include "gemmsmith/problem.h"
#include "gemmsmith/result.h"

namespace gemmsmith {

struct SimulateOptions {
  std::string arch = "sm_90a";
  std::string config;  // of the source native; empty: its first guess
  bool detect_races = true;
  int schedules = 1;          // SimulationOptions::schedules
  int resident_clusters = 2;  // of persistent kernels
  bool timeline = false;      // of CTA 0: Chrome trace events, for chrome://tracing or ui.perfetto.dev
  uint64_t seed = 1;          // of the operands
};

struct SimulationReport {
  std::string config;
  Accuracy accuracy;                                      // against the float64 reference
  std::string findings;                                   // races, deadlocks, misuse: text; empty if all is well
  std::vector<std::pair<std::string, int64_t>> counters;  // of the last schedule, exact: "tma_read_bytes", ...
  std::string timeline;                                   // JSON; time is the scheduler's steps, not cycles
  double build_ms = 0, run_ms = 0;
};

// Compiles the candidate for the simulator and runs it on random operands. Errors: an architecture or configuration that
// does not exist, a problem that the template does not serve.
Result<SimulationReport> simulate(const GemmProblem&, const SimulateOptions& = {});

}  // namespace gemmsmith
