#include "output/explain_text.h"

#include <algorithm>
#include <numeric>

#include "output/peak.h"
#include "output/table.h"
#include "output/tune_table.h"
#include "output/units.h"

namespace gemmsmith::cli {
namespace {

constexpr CandidateState kStates[] = {CandidateState::won,     CandidateState::measured,    CandidateState::eliminated,
                                      CandidateState::crashed, CandidateState::quarantined, CandidateState::wrong,
                                      CandidateState::failed,  CandidateState::not_reached, CandidateState::dropped};

constexpr size_t kNameWidth = 11;
std::string field(const std::string& name, const std::string& value) {
  return pad_right(name, kNameWidth) + value + "\n";
}

int64_t count_of(const TuneReport& report, CandidateState state, const std::string& source = {}) {
  return std::count_if(report.candidates.begin(), report.candidates.end(), [&](const CandidateReport& c) {
    return c.state == state && (source.empty() || c.source == source);
  });
}

// "1 won, 12 measured, 9 dropped"
std::string state_counts(const TuneReport& report, const std::string& source = {}) {
  std::vector<std::string> parts;
  for (CandidateState state : kStates) {
    std::string name(name_of(state));
    std::replace(name.begin(), name.end(), '_', ' ');
    if (const int64_t count = count_of(report, state, source)) parts.push_back(std::to_string(count) + " " + name);
  }
  return join(parts, ", ");
}

std::string margins(const TuneReport& report) {
  std::vector<std::string> parts;
  for (const SourceReport& source : report.sources) {
    const auto margin = margin_over(report, source.name);
    if (!margin || source.name == report.best()->source) continue;
    parts.push_back(format_margin(*margin) + " over " + source.name + " " + report.best_of(source.name)->config);
  }
  return parts.empty() ? "no other source has a correct kernel with a time"
                       : join(parts, "\n" + std::string(kNameWidth, ' '));
}

std::string verdict(const TuneReport& report) {
  const CandidateReport* best = report.best();
  if (best == nullptr) return field("winner", "none") + field("decision", report.decision);
  std::string text = field("winner", best->source + " " + best->config);
  if (best->timing) {
    const double time_us = best->timing->median_us;
    std::string rate = format_digits(gflops(report.problem, time_us)) + " GFLOP/s";
    if (report.floor_us > 0) rate += ", " + of_floor(report.floor_us, time_us) + " of the floor";
    text += field("time", format_interval(*best->timing) + ", " + rate);
  }
  text += field("margin", margins(report)) + field("decision", report.decision);
  if (best->accuracy) {
    const Accuracy& accuracy = *best->accuracy;
    text += field("accuracy", "relative error " + format_error(accuracy.max_rel) + "; " +
                                  plural(accuracy.compared, "element") +
                                  " compared with float64, the nearest to its tolerance at " +
                                  format_digits(100 * accuracy.worst) + "% of it");
  }
  return text;
}

std::string source_lines(const TuneReport& report, const Style& style) {
  Table table({{.title = "source", .right = false},
               {.title = "version", .right = false, .min_width = 12},
               {.title = "what it offered", .right = false}});
  for (const SourceReport& source : report.sources) {
    const std::string counts = state_counts(report, source.name);
    const std::string offered = !source.supported ? "refused: " + source.reason
                                : counts.empty()  ? "no candidate"
                                                  : counts;
    table.add({source.name, source.version.empty() ? "-" : source.version, offered},
              source.supported ? Tint::none : Tint::dim);
  }
  // Reasons are never cut: a terminal breaks them at its edge.
  return table.print({.width = kUnlimited, .colour = style.colour, .unicode = style.unicode});
}

// Order of the list: by state as kStates has them, then by time, then by what the model expected.
std::vector<size_t> ranked(const TuneReport& report) {
  std::vector<size_t> order(report.candidates.size());
  std::iota(order.begin(), order.end(), size_t(0));
  const auto key = [&](size_t i) {
    const CandidateReport& c = report.candidates[i];
    const auto state = std::find(std::begin(kStates), std::end(kStates), c.state) - std::begin(kStates);
    return std::tuple(state, c.timing ? c.timing->median_us : 1e300, c.predicted_us > 0 ? c.predicted_us : 1e300);
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return key(x) < key(y); });
  return order;
}

std::string candidate_lines(const TuneReport& report, size_t limit, const Style& style) {
  Table table({{.title = "state", .right = false},
               {.title = "candidate", .right = false},
               {.title = "predicted"},
               {.title = "measured"},
               {.title = "from"},
               {.title = "to"},
               {.title = "build"},
               {.title = "error"},
               {.title = "why", .right = false}});
  const std::vector<size_t> order = ranked(report);
  const size_t shown = limit == 0 ? order.size() : std::min(limit, order.size());
  for (size_t i = 0; i < shown; ++i) {
    const CandidateReport& c = report.candidates[order[i]];
    std::string state(name_of(c.state));
    std::replace(state.begin(), state.end(), '_', ' ');
    const bool bad = c.state == CandidateState::wrong || c.state == CandidateState::failed ||
                     c.state == CandidateState::crashed || c.state == CandidateState::quarantined;
    // The winner's reason is the decision, which stands above.
    const bool said = c.reason == report.decision;
    const std::string why = said ? "" : !c.reason.empty() || !c.accuracy ? c.reason : c.accuracy->failure;
    table.add({state, c.source + " " + c.config, c.predicted_us > 0 ? format_time(c.predicted_us) : "-",
               c.timing ? format_time(c.timing->median_us) : "-", c.timing ? format_time(c.timing->low_us) : "-",
               c.timing ? format_time(c.timing->high_us) : "-", c.build_ms > 0 ? format_time(c.build_ms * 1e3) : "-",
               c.accuracy && c.accuracy->compared > 0 ? format_error(c.accuracy->max_rel) : "-", why},
              c.state == CandidateState::won ? Tint::green
              : bad                          ? Tint::red
                                             : Tint::none);
  }
  std::string title = plural(int64_t(order.size()), "candidate") + ": " + state_counts(report) + "\n";
  std::string text = table.print({.width = kUnlimited, .colour = style.colour, .unicode = style.unicode});
  if (shown < order.size()) text += std::to_string(order.size() - shown) + " more: --all lists them\n";
  return title + (order.empty() ? "" : text);
}

}  // namespace

std::string surroundings(const TuneReport& report) {
  std::string text;
  if (!report.conditions.empty()) text += field("operands", report.conditions);
  if (!report.memory.empty()) text += field("memory", report.memory);
  if (!report.isolation.empty()) text += field("isolation", report.isolation);
  if (report.load)
    text += field("load", format_fraction(report.load->others) + " of the CPU time went to other processes; " +
                              format_digits(report.load->load_average) + " threads ran or waited on average" +
                              (report.load->busy() ? ": too busy to trust small differences" : ""));
  return text;
}

std::string explain_text(const TuneReport& report, size_t candidates, const Style& style) {
  const GemmProblem& problem = report.problem;
  std::string text = tinted(problem.print(), Tint::bold, style.colour) + "\n";
  text += field("work", format_flops(problem.flops()) + ", " + format_bytes(problem.bytes()) + " to move at least");
  if (report.floor_us > 0) text += field("floor", format_time(report.floor_us) + " by the device's measured peaks");
  text += verdict(report);
  if (report.interrupted) text += field("note", "interrupted: the search ended before its time was up");
  for (const std::string& note : note_lines(report)) text += field("note", note);
  text += "\n" + source_lines(report, style) + "\n" + candidate_lines(report, candidates, style);
  const Provenance& from = report.provenance;
  text += "\n" + surroundings(report) + field("device", from.device) + field("sources", from.sources) +
          field("gemmsmith", from.gemmsmith) +
          field("measured", from.measured_at + ", in " + format_seconds(report.seconds) +
                                (report.from_store ? "; read from the store" : ""));
  return text;
}

}  // namespace gemmsmith::cli
