#include "tuner/report.h"

#include <algorithm>
#include <map>

#include "support/text.h"

namespace gemmsmith {

std::string_view name_of(CandidateState state) {
  switch (state) {
    case CandidateState::won:
      return "won";
    case CandidateState::measured:
      return "measured";
    case CandidateState::eliminated:
      return "eliminated";
    case CandidateState::dropped:
      return "dropped";
    case CandidateState::failed:
      return "failed";
    case CandidateState::wrong:
      return "wrong";
    case CandidateState::crashed:
      return "crashed";
    case CandidateState::quarantined:
      return "quarantined";
    case CandidateState::not_reached:
      return "not_reached";
  }
  return "unknown";
}

std::optional<CandidateState> candidate_state_named(std::string_view name) {
  using enum CandidateState;
  for (const CandidateState state :
       {won, measured, eliminated, dropped, failed, crashed, quarantined, wrong, not_reached})
    if (name_of(state) == name) return state;
  return std::nullopt;
}

const CandidateReport* TuneReport::best_of(const std::string& source) const {
  // Those that stayed to the end were sampled side by side; the median of two samples of one that did not is no match for theirs.
  const auto stayed = [](const CandidateReport& c) {
    return c.state == CandidateState::won || c.state == CandidateState::measured;
  };
  const CandidateReport* best = nullptr;
  for (const CandidateReport& c : candidates) {
    const bool out = c.state == CandidateState::failed || c.state == CandidateState::crashed;
    if (c.source != source || !c.timing || !c.accuracy || !c.accuracy->passed || out) continue;
    if (!best || (stayed(c) == stayed(*best) ? c.timing->median_us < best->timing->median_us : stayed(c))) best = &c;
  }
  return best;
}

double floor_us(const GemmProblem& problem, const DeviceFacts& device) {
  const auto both = [&](DataType type) { return problem.a.type == type && problem.b.type == type; };
  double gflops = device.peak_f32_gflops;
  if (both(DataType::bf16)) gflops = std::max(gflops, device.peak_bf16_gflops);
  if (both(DataType::i8)) gflops = std::max(gflops, device.peak_i8_gops);
  if (problem.acc == DataType::f64) gflops = device.peak_f32_gflops / 2;
  double floor = 0;
  if (gflops > 0) floor = problem.flops() / (gflops * 1e3);
  if (device.read_gbytes_per_s > 0) floor = std::max(floor, problem.bytes() / (device.read_gbytes_per_s * 1e3));
  return floor;
}

double margin_of(const TuneReport& report) {
  const CandidateReport* best = report.best();
  if (!best || !best->timing) return 0;
  double other = 0;
  for (const SourceReport& source : report.sources) {
    if (source.name == best->source) continue;
    const CandidateReport* c = report.best_of(source.name);
    if (c && (other == 0 || c->timing->median_us < other)) other = c->timing->median_us;
  }
  return other == 0 ? 0 : other / best->timing->median_us - 1;
}

std::string print_sources(const std::vector<SourceReport>& sources) {
  std::vector<std::string> parts;
  for (const SourceReport& source : sources)
    if (source.supported) parts.push_back(concat(source.name, " ", source.version));
  return join(parts, "; ");
}

Provenance provenance_of(const DeviceFacts& device, const std::vector<SourceReport>& sources) {
  return {device.fingerprint(), print_sources(sources), GEMMSMITH_VERSION, {}};
}

namespace {

// "native 1a2b3c; library 0.3.21" as name -> version.
std::map<std::string, std::string> versions_in(const std::string& sources) {
  std::map<std::string, std::string> versions;
  for (std::string_view part : split(sources, ';')) {
    part = trim(part);
    if (part.empty()) continue;
    const size_t space = std::min(part.find(' '), part.size());
    versions.emplace(part.substr(0, space), trim(part.substr(space)));
  }
  return versions;
}

void compare_sources(const TuneReport& stored, const Provenance& now, std::vector<std::string>& changes) {
  const auto before = versions_in(stored.provenance.sources), after = versions_in(now.sources);
  const std::string winner = stored.best() ? stored.best()->source : std::string();
  for (const auto& [name, version] : before)
    if (const auto it = after.find(name); it == after.end()) {
      if (name == winner) changes.push_back(concat(name, " ", version, " is not weighed any more"));
    } else if (it->second != version) {
      changes.push_back(concat(name, " was ", version, ", is ", it->second));
    }
  for (const auto& [name, version] : after)
    if (!before.contains(name)) changes.push_back(concat(name, " ", version, " was not weighed"));
}

}  // namespace

std::string mismatch(const TuneReport& stored, const Provenance& now) {
  const Provenance& before = stored.provenance;
  std::vector<std::string> changes;
  if (before.device != now.device) changes.push_back(concat("the device was ", before.device, ", is ", now.device));
  compare_sources(stored, now, changes);
  if (before.gemmsmith != now.gemmsmith)
    changes.push_back(concat("gemmsmith was ", before.gemmsmith, ", is ", now.gemmsmith));
  return join(changes, "; ");
}

}  // namespace gemmsmith
