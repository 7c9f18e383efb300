// What is to be tried, and in which order: candidates of all sources, less those that the models exclude.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/tune.h"
#include "sources/source.h"
#include "tuner/policy.h"

namespace gemmsmith {

// A choice of an earlier tuning. It is tried first, and a tie keeps it.
struct Incumbent {
  std::string source, config;
};

struct PlannedCandidate {
  Candidate candidate;
  int source = 0;  // index into the sources given
  bool incumbent = false;
};

struct Plan {
  std::vector<SourceReport> sources;      // one for each source given, in order
  std::vector<PlannedCandidate> queue;    // in the order of trying
  size_t first_wave = 0;                  // how many of the queue are the incumbent and the best guesses of the sources
  std::vector<CandidateReport> excluded;  // dropped by the sources' rules or by a prediction
};

// One report for each source given: whether it supports the problem, or why not. `only` names the sources to use, all
// if empty. Errors: an unknown name.
Result<std::vector<SourceReport>> report_sources(const GemmProblem&, const DeviceFacts&, const std::vector<Source*>&,
                                                 const std::vector<std::string>& only);

// Order: the incumbent, then the best guess of each source (so that every source is weighed early), then all others of
// sources without a model (they have few) in the source's order, then by predicted time. Equal predictions keep the
// source's order. Errors: those of report_sources; no source that supports the problem (with each reason).
Result<Plan> plan_candidates(const GemmProblem&, const DeviceFacts&, const std::vector<Source*>&,
                             const std::vector<std::string>& only, const std::optional<Incumbent>&,
                             const SearchPolicy&);

}  // namespace gemmsmith
