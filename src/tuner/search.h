// The anytime search: the fastest correct kernel among the candidates of all sources, within a budget of wall time.
//
// 1. Plan: candidates of all sources, less those that rules and models exclude (plan.h).
// 2. Screening, wave by wave: each wave is built by other threads while the tuning thread puts the wave before through
//    the numeric gate; then all of the wave and the leader are sampled in random order. It ends with the candidates,
//    with its share of the budget, or when `patience` candidates in a row brought nothing.
// 3. Successive halving over what is left, samples doubling (halving.h).
// 4. The final: rounds in which each finalist is sampled once, in random order, so that samples pair up; then the
//    decision (decision.h), and the winner passes the gate once more on other inputs.
//
// What overlaps. A build takes cores from a kernel that is being timed on the same cores, and a compiler cannot be
// paused. So, where Bench::disturbed_by_builds(), a sample is only taken while no build runs; what runs beside builds
// is what load cannot make wrong: filling operands, and the gate, which costs a call, a poisoned D and the comparison
// for each candidate. Where kernels run elsewhere, the samples of one wave run beside the builds of the next as well.
//
// What each candidate does to its process is the bench's affair: a crash is an error of that candidate here. Where the
// bench holds kernels in worker processes, building, checking and sampling happen there, and this code is the same.
//
// The first wave, one candidate of each source (and the incumbent), is built, checked and sampled even if the budget is
// shorter than that takes: a report names every source's best guess. Cancelling ends that too.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/tune.h"
#include "sources/source.h"
#include "support/clock.h"
#include "support/machine_load.h"
#include "tuner/bench.h"
#include "tuner/plan.h"
#include "tuner/resume.h"

namespace gemmsmith {

struct LoadMoment {
  CpuTimes cpu;
  double load_average = 0;
};

struct TuneRequest {
  GemmProblem problem;
  DeviceFacts device;
  std::vector<Source*> sources;
  Bench* bench = nullptr;
  const Clock* clock = nullptr;  // asked by several threads at once
  TuneOptions options;
  SearchPolicy policy;
  std::optional<Incumbent> incumbent;
  std::vector<Quarantined> quarantine;   // candidates that are not to be tried
  std::optional<TuneReport> unfinished;  // of an earlier tuning with the same versions: it goes on from there
  // Receives what has been measured so far, every now and then and when a candidate crashes: such a report is what
  // `unfinished` goes on from. May be empty, as the next.
  std::function<void(const TuneReport&)> checkpoint;
  std::function<std::optional<LoadMoment>()> load;  // of the machine, at this moment
  // If not null, receives the winner's kernel, so that nobody has to build it again.
  std::unique_ptr<Kernel>* kernel = nullptr;
};

// Errors: an invalid problem, an unknown source, no source that supports the problem, operands that do not fit into
// memory. Candidates that fail are no error, not even all of them: the report has no winner then, and says why.
Result<TuneReport> search(const TuneRequest&);

}  // namespace gemmsmith
