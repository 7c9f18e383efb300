// A candidate in the course of a search: its plan, its kernel, its samples and what will be reported of it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gemmsmith/tune.h"
#include "sources/source.h"
#include "tuner/decision.h"
#include "tuner/halving.h"
#include "tuner/plan.h"
#include "tuner/statistics.h"

namespace gemmsmith {

struct Contender {
  PlannedCandidate planned;
  CandidateReport report;          // state `measured` means: built, passed the gate, sampled, and not out
  std::unique_ptr<Kernel> kernel;  // freed once it cannot win
  int repeats = 1;                 // calls in a sample
  std::vector<double> samples_us;  // of screening and halving, one a sample, per call
  std::vector<double> rounds_us;   // of the final

  std::string name() const { return report.source + " " + report.config; }
  bool alive() const { return kernel && report.state == CandidateState::measured; }
  bool sampled() const { return !samples_us.empty() && report.accuracy && report.accuracy->passed; }

  Standing standing(size_t id) const { return {id, planned.source, planned.incumbent, summarize(samples_us)}; }
  Finalist finalist(size_t id) const { return {id, name(), planned.incumbent, samples_us, rounds_us}; }

  void end(CandidateState state, std::string reason) {
    report.state = state;
    report.reason = std::move(reason);
    kernel.reset();
  }
};

inline Contender make_contender(PlannedCandidate planned) {
  Contender c;
  c.report.source = planned.candidate.source;
  c.report.config = planned.candidate.config;
  c.report.predicted_us = planned.candidate.predicted_us;
  c.planned = std::move(planned);
  return c;
}

}  // namespace gemmsmith
