#include "tuner/plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tuner/text.h"

namespace gemmsmith {
namespace {

std::vector<std::string> names_of(const std::vector<Source*>& sources) {
  std::vector<std::string> names;
  for (const Source* source : sources) names.push_back(source->name());
  return names;
}

Status check_names(const std::vector<Source*>& sources, const std::vector<std::string>& only) {
  const std::vector<std::string> known = names_of(sources);
  for (const std::string& name : only)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Error{"sources", name, "is not a source", suggest(name, known), {}};
  return Done{};
}

SourceReport report_of(const Source& source, const GemmProblem& problem, const DeviceFacts& device,
                       const std::vector<std::string>& only) {
  SourceReport report{source.name(), source.version(), false, {}};
  if (!only.empty() && std::find(only.begin(), only.end(), report.name) == only.end()) {
    report.reason = "left out: only " + join(only, ", ") + " asked for";
    return report;
  }
  const Supports supports = source.supports(problem, device);
  report.supported = supports.yes;
  report.reason = supports.reason;
  return report;
}

Error no_source(const GemmProblem& problem, const std::vector<SourceReport>& sources) {
  Error error{"sources", problem.print(), "is not supported by any source on this device", {}, {}};
  for (const SourceReport& source : sources) error.notes.push_back(source.name + ": " + source.reason);
  return error;
}

// The smallest prediction of kept candidates; 0 if there is none.
double best_prediction(const std::vector<Candidate>& kept) {
  double best = 0;
  for (const Candidate& c : kept)
    if (c.predicted_us > 0 && (best == 0 || c.predicted_us < best)) best = c.predicted_us;
  return best;
}

CandidateReport dropped_report(const Candidate& candidate, std::string reason) {
  CandidateReport report;
  report.source = candidate.source;
  report.config = candidate.config;
  report.predicted_us = candidate.predicted_us;
  report.state = CandidateState::dropped;
  report.reason = std::move(reason);
  return report;
}

struct Limits {
  double own_best = 0, any_best = 0;
  const SearchPolicy& policy;

  // Why a prediction excludes a candidate; empty if it does not.
  std::string exclude(const Candidate& c) const {
    if (c.predicted_us > policy.drop_ratio * own_best && own_best > 0)
      return "predicted " + print_us(c.predicted_us) + ", more than " + print_ratio(policy.drop_ratio) + " the " +
             print_us(own_best) + " predicted for the best of " + c.source;
    if (c.predicted_us > policy.foreign_ratio * any_best && any_best > 0)
      return "predicted " + print_us(c.predicted_us) + ", more than " + print_ratio(policy.foreign_ratio) + " the " +
             print_us(any_best) + " predicted for the best of all sources";
    return {};
  }
};

// Sorts the queue: incumbent, best guesses in the order of the sources, those without a prediction, then by prediction.
void order(Plan& plan) {
  std::set<int> guessed;
  std::vector<std::pair<double, PlannedCandidate>> keyed;
  for (PlannedCandidate& planned : plan.queue) {
    const bool best_guess = guessed.insert(planned.source).second;
    const double key = planned.incumbent ? -2 : best_guess ? -1 : planned.candidate.predicted_us;
    plan.first_wave += key < 0 ? 1 : 0;
    keyed.emplace_back(key, std::move(planned));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  plan.queue.clear();
  for (auto& [key, planned] : keyed) plan.queue.push_back(std::move(planned));
}

}  // namespace

Result<std::vector<SourceReport>> report_sources(const GemmProblem& problem, const DeviceFacts& device,
                                                 const std::vector<Source*>& sources,
                                                 const std::vector<std::string>& only) {
  GS_CHECK(check_names(sources, only));
  std::vector<SourceReport> reports;
  for (const Source* source : sources) reports.push_back(report_of(*source, problem, device, only));
  return reports;
}

Result<Plan> plan_candidates(const GemmProblem& problem, const DeviceFacts& device, const std::vector<Source*>& sources,
                             const std::vector<std::string>& only, const std::optional<Incumbent>& incumbent,
                             const SearchPolicy& policy) {
  Plan plan;
  GS_TRY(plan.sources, report_sources(problem, device, sources, only));
  std::vector<CandidateSet> sets(sources.size());
  double any_best = 0;
  bool supported = false;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!plan.sources[i].supported) continue;
    supported = true;
    sets[i] = sources[i]->candidates(problem, device);
    const double best = best_prediction(sets[i].kept);
    if (best > 0 && (any_best == 0 || best < any_best)) any_best = best;
  }
  if (!supported) return no_source(problem, plan.sources);

  for (size_t i = 0; i < sources.size(); ++i) {
    const Limits limits{best_prediction(sets[i].kept), any_best, policy};
    for (Candidate& candidate : sets[i].kept) {
      candidate.source = plan.sources[i].name;
      const bool is_incumbent =
          incumbent && incumbent->source == candidate.source && incumbent->config == candidate.config;
      if (std::string reason = limits.exclude(candidate); !reason.empty() && !is_incumbent)
        plan.excluded.push_back(dropped_report(candidate, std::move(reason)));
      else
        plan.queue.push_back({std::move(candidate), int(i), is_incumbent});
    }
    for (const DroppedCandidate& dropped : sets[i].dropped)
      plan.excluded.push_back(dropped_report({plan.sources[i].name, dropped.config, 0}, dropped.rule));
  }
  order(plan);
  return plan;
}

}  // namespace gemmsmith
