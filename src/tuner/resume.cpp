#include "tuner/resume.h"

#include <algorithm>
#include <map>
#include <utility>

#include "support/text.h"
#include "tuner/halving.h"

namespace gemmsmith {
namespace {

using Name = std::pair<std::string, std::string>;  // source, config

// Removes from the queue those that `out` gives a report for, and keeps the count of the first wave.
template <class Out>
size_t take_out(Plan& plan, const Out& out) {
  std::vector<PlannedCandidate> kept;
  size_t first_wave = 0, taken = 0;
  for (size_t i = 0; i < plan.queue.size(); ++i) {
    PlannedCandidate& planned = plan.queue[i];
    if (std::optional<CandidateReport> report = out(planned)) {
      report->predicted_us = planned.candidate.predicted_us;
      plan.excluded.push_back(*std::move(report));
      ++taken;
      continue;
    }
    first_wave += i < plan.first_wave ? 1 : 0;
    kept.push_back(std::move(planned));
  }
  plan.queue = std::move(kept);
  plan.first_wave = first_wave;
  return taken;
}

// Of those that were in the race, whom halving what was measured eliminates.
std::map<size_t, std::string> halved(const TuneReport& report, const SearchPolicy& policy) {
  std::vector<Standing> standings;
  for (size_t i = 0; i < report.candidates.size(); ++i) {
    const CandidateReport& c = report.candidates[i];
    const bool in_race = c.state == CandidateState::measured || c.state == CandidateState::won;
    if (in_race && c.timing && c.accuracy && c.accuracy->passed) standings.push_back({i, 0, false, *c.timing});
  }
  std::map<size_t, std::string> out;
  sort_standings(standings);
  while (standings.size() > size_t(policy.finalists)) {
    const CandidateReport& fastest = report.candidates[standings.front().id];
    const auto eliminated = halve(standings, policy, fastest.source + " " + fastest.config);
    if (eliminated.empty()) break;
    for (const Elimination& e : eliminated) {
      out[e.id] = e.reason;
      std::erase_if(standings, [&](const Standing& s) { return s.id == e.id; });
    }
  }
  return out;
}

bool is_done(CandidateState state) {
  return state == CandidateState::eliminated || state == CandidateState::failed || state == CandidateState::wrong;
}

}  // namespace

void keep_out(Plan& plan, const std::vector<Quarantined>& quarantine) {
  take_out(plan, [&](const PlannedCandidate& planned) -> std::optional<CandidateReport> {
    for (const Quarantined& q : quarantine) {
      if (q.source != planned.candidate.source || q.config != planned.candidate.config) continue;
      CandidateReport report;
      report.source = q.source;
      report.config = q.config;
      report.state = CandidateState::quarantined;
      report.reason = concat("since ", q.since, ", ", q.evidence);
      return report;
    }
    return std::nullopt;
  });
}

std::string go_on(Plan& plan, const TuneReport& unfinished, const SearchPolicy& policy) {
  const std::map<size_t, std::string> slower = halved(unfinished, policy);
  std::map<Name, CandidateReport> done;
  std::map<Name, double> in_race;
  for (size_t i = 0; i < unfinished.candidates.size(); ++i) {
    CandidateReport c = unfinished.candidates[i];
    const Name name(c.source, c.config);
    if (const auto eliminated = slower.find(i); eliminated != slower.end()) {
      c.state = CandidateState::eliminated;
      c.reason = eliminated->second;
    }
    if (is_done(c.state)) {
      c.reason += concat(" (in the tuning of ", unfinished.provenance.measured_at, ")");
      done.emplace(name, std::move(c));
    } else if (c.timing) {
      in_race.emplace(name, c.timing->median_us);
    }
  }
  const size_t taken = take_out(plan, [&](const PlannedCandidate& planned) -> std::optional<CandidateReport> {
    const auto found = done.find({planned.candidate.source, planned.candidate.config});
    if (found == done.end() || planned.incumbent) return std::nullopt;
    return found->second;
  });
  const auto time_of = [&](const PlannedCandidate& planned) {
    const auto found = in_race.find({planned.candidate.source, planned.candidate.config});
    return found == in_race.end() ? 1e300 : found->second;
  };
  std::stable_sort(plan.queue.begin() + ptrdiff_t(plan.first_wave), plan.queue.end(),
                   [&](const auto& x, const auto& y) { return time_of(x) < time_of(y); });
  if (taken == 0) return {};
  const auto again = std::count_if(plan.queue.begin(), plan.queue.end(),
                                   [&](const PlannedCandidate& planned) { return time_of(planned) < 1e300; });
  return concat("goes on where the tuning of ", unfinished.provenance.measured_at, " was interrupted: ", taken,
                taken == 1 ? " candidate is" : " candidates are", " not repeated, ", again,
                again == 1 ? " that was" : " that were", " in the race ", again == 1 ? "is" : "are", " measured again");
}

}  // namespace gemmsmith
