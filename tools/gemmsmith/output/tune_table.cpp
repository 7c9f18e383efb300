#include "output/tune_table.h"

#include <algorithm>

#include "output/peak.h"
#include "output/table.h"
#include "output/units.h"

namespace gemmsmith::cli {
namespace {

// The fastest candidate of a source that has passed the numeric gate, winner included.
const CandidateReport* fastest(const TuneReport& report, const std::string& source) {
  const CandidateReport* best = report.best_of(source);
  return best != nullptr && best->timing ? best : nullptr;
}

// The source that everything is checked by: it is no contender, and a column of large factors would say nothing.
constexpr std::string_view kYardstick = "reference";

// Contending sources that have a time in any report, in the order in which reports list them.
std::vector<std::string> measured_sources(const std::vector<Outcome>& outcomes) {
  std::vector<std::string> names;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.report) continue;
    for (const SourceReport& source : outcome.report->sources)
      if (source.name != kYardstick && fastest(*outcome.report, source.name) &&
          std::find(names.begin(), names.end(), source.name) == names.end())
        names.push_back(source.name);
  }
  return names;
}

std::string margin_cell(const TuneReport& report, const std::string& source) {
  const CandidateReport* best = report.best();
  if (best != nullptr && best->source == source) return "won";
  if (const auto margin = margin_over(report, source)) return format_margin(*margin);
  for (const SourceReport& s : report.sources)
    if (s.name == source && !s.supported) return "no";
  return "-";
}

std::string spent_cell(const TuneReport& report) {
  if (report.from_store) return "stored";
  return format_seconds(report.seconds) + (report.interrupted ? "*" : "");
}

std::vector<Column> columns_for(const std::vector<std::string>& sources) {
  std::vector<Column> columns = {{.title = "problem", .right = false, .min_width = 24},
                                 {.title = "winner", .right = false, .min_width = 20},
                                 {.title = "time"},
                                 {.title = "GFLOP/s", .drop_order = 3},
                                 {.title = "%peak", .drop_order = 4},
                                 {.title = "%floor", .drop_order = 2}};
  if (sources.size() > 1)
    for (const std::string& source : sources) columns.push_back({.title = source, .drop_order = 1});
  columns.push_back({.title = "error", .drop_order = 5});
  columns.push_back({.title = "spent", .drop_order = 6});
  return columns;
}

std::vector<std::string> cells_for(const std::string& label, const TuneReport& report, const DeviceFacts& facts,
                                   const std::vector<std::string>& sources) {
  const CandidateReport* best = report.best();
  if (best == nullptr) return {label, report.decision};
  const double time_us = best->timing ? best->timing->median_us : 0;
  std::vector<std::string> cells = {label,
                                    best->source + " " + best->config,
                                    time_us > 0 ? format_time(time_us) : "-",
                                    time_us > 0 ? format_digits(gflops(report.problem, time_us)) : "-",
                                    of_peak(report.problem, facts, time_us),
                                    of_floor(report.floor_us, time_us)};
  if (sources.size() > 1)
    for (const std::string& source : sources) cells.push_back(margin_cell(report, source));
  cells.push_back(best->accuracy ? format_error(best->accuracy->max_rel) : "-");
  cells.push_back(spent_cell(report));
  return cells;
}

std::string pass_lines(const std::vector<PassTotal>& totals) {
  std::string text;
  for (const PassTotal& total : totals) {
    text += total.group.name;
    if (total.group.tokens > 0) text += ", " + plural(total.group.tokens, "token");
    text += ": " + plural(total.gemms, "GEMM") + " in " + format_time(total.time_us) + " a pass";
    std::string alone;
    for (const auto& [source, time_us] : total.alone_us)
      alone += (alone.empty() ? "; with " : ", with ") + source + " alone " + format_time(time_us) + " (" +
               format_digits(time_us / total.time_us) + "x)";
    text += alone + "\n";
  }
  return text;
}

// Sources without a column, because they refused everything, with the reason of the first problem.
std::string refusals(const std::vector<Outcome>& outcomes) {
  std::vector<std::pair<std::string, std::string>> refused;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.report) continue;
    for (const SourceReport& source : outcome.report->sources) {
      const auto known =
          std::find_if(refused.begin(), refused.end(), [&](const auto& r) { return r.first == source.name; });
      if (known == refused.end())
        refused.push_back({source.name, source.supported ? "" : source.reason});
      else if (source.supported)
        known->second.clear();
    }
  }
  std::string text;
  for (const auto& [name, reason] : refused)
    if (!reason.empty()) text += "Not weighed: " + name + " refuses: " + reason + "\n";
  return text;
}

// Candidates that ended their workers, and what makes times doubtful; of what was measured now.
std::string warnings(const std::vector<Outcome>& outcomes) {
  std::string text;
  double busiest = 0;
  std::string in_process;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.report || outcome.report->from_store) continue;
    const TuneReport& report = *outcome.report;
    for (const CandidateReport& c : report.candidates)
      if (c.state == CandidateState::crashed)
        text +=
            shape_label(report.problem) + ": " + c.source + " " + c.config + " is in quarantine: " + c.reason + "\n";
    if (report.load && report.load->busy()) busiest = std::max(busiest, report.load->others);
    if (report.isolation.starts_with("in process: ") && report.isolation != "in process: asked for")
      in_process = report.isolation.substr(report.isolation.find(':') + 2);
  }
  if (busiest > 0)
    text += "The machine was busy: other processes took up to " + format_fraction(busiest) +
            " of its CPU time meanwhile; small differences may be noise.\n";
  if (!in_process.empty()) text += "Candidates ran in this process, not in a worker: " + in_process + "\n";
  return text;
}

// The meaning of the columns, and what did not go as it should.
std::string notes(const std::vector<Outcome>& outcomes, const std::vector<std::string>& sources) {
  std::string text;
  if (sources.size() > 1)
    text +=
        "Under a source's name: how much longer its fastest correct kernel takes than the winner; no: it refuses.\n";
  text +=
      "%floor: of the least time that the bytes and the operations allow at this device's measured peaks.\n"
      "error: largest distance from the float64 reference, relative to the magnitudes summed.\n";
  text += refusals(outcomes);
  const auto any = [&](auto test) {
    return std::any_of(outcomes.begin(), outcomes.end(), [&](const Outcome& o) { return o.report && test(*o.report); });
  };
  if (any([](const TuneReport& r) { return r.interrupted; })) text += "*: interrupted before its time was up.\n";
  for (const Outcome& outcome : outcomes)
    if (outcome.report)
      for (const std::string& line : note_lines(*outcome.report))
        text += shape_label(outcome.report->problem) + ": " + line + "\n";
  return text + warnings(outcomes);
}

}  // namespace

std::vector<std::string> note_lines(const TuneReport& report) {
  std::vector<std::string> lines = split(report.store_note, '\n');
  for (std::string& line : lines)
    if (!line.starts_with("goes on ") && !line.starts_with("not saved: ")) line.insert(0, "measured again: ");
  return lines;
}

std::optional<double> margin_over(const TuneReport& report, const std::string& source) {
  const CandidateReport* best = report.best();
  const CandidateReport* other = fastest(report, source);
  if (best == nullptr || other == nullptr || !best->timing || best->timing->median_us <= 0) return {};
  return other->timing->median_us / best->timing->median_us - 1;
}

std::vector<PassTotal> pass_totals(const Work& work, const std::vector<Outcome>& outcomes) {
  std::vector<PassTotal> totals;
  const std::vector<std::string> sources = measured_sources(outcomes);
  for (size_t g = 0; g < work.groups.size(); ++g) {
    PassTotal total{work.groups[g], 0, 0, {}};
    std::vector<double> alone(sources.size(), 0);
    std::vector<bool> complete(sources.size(), true);
    bool whole = true;
    for (const WorkItem& item : work.items) {
      if (item.group != int(g)) continue;
      const auto& report = outcomes[item.index].report;
      const CandidateReport* best = report ? report->best() : nullptr;
      whole = whole && best != nullptr && best->timing;
      if (!whole) break;
      total.gemms += item.named.count;
      total.time_us += double(item.named.count) * best->timing->median_us;
      for (size_t s = 0; s < sources.size(); ++s) {
        const CandidateReport* own = fastest(*report, sources[s]);
        complete[s] = complete[s] && own != nullptr;
        if (own != nullptr) alone[s] += double(item.named.count) * own->timing->median_us;
      }
    }
    if (!whole || total.gemms == 0 || total.time_us <= 0) continue;
    for (size_t s = 0; s < sources.size(); ++s)
      if (complete[s] && sources.size() > 1) total.alone_us.emplace_back(sources[s], alone[s]);
    totals.push_back(std::move(total));
  }
  return totals;
}

std::string item_label(const WorkItem& item) {
  if (item.named.name.empty()) return item.named.problem.print();
  const std::string times = item.named.count > 1 ? " x" + std::to_string(item.named.count) : "";
  return item.named.name + " " + shape_label(item.named.problem) + times;
}

std::string outcome_line(const std::string& label, const Outcome& outcome) {
  if (!outcome.report) return label + ": " + outcome.error;
  const CandidateReport* best = outcome.report->best();
  if (best == nullptr) return label + ": " + outcome.report->decision;
  const std::string time = best->timing ? "  " + format_time(best->timing->median_us) : "";
  return label + ": " + best->source + " " + best->config + time + "  " + spent_cell(*outcome.report);
}

std::string tune_summary(const Work& work, const std::vector<Outcome>& outcomes, const DeviceFacts& facts,
                         const Style& style) {
  const std::vector<std::string> sources = measured_sources(outcomes);
  Table table(columns_for(sources));
  std::string failures;
  size_t missing = 0;
  for (const WorkItem& item : work.items) {
    const Outcome& outcome = outcomes[item.index];
    const std::string label = item_label(item);
    if (outcome.report) {
      table.add(cells_for(label, *outcome.report, facts, sources), outcome.report->best() ? Tint::none : Tint::red);
    } else if (!outcome.error.empty()) {
      table.add({label, "failed"}, Tint::red);
      failures += "\n" + outcome.error + "\n";
    } else {
      ++missing;
    }
  }
  std::string text;
  if (!table.empty())
    text += table.print(style) + "\n" + pass_lines(pass_totals(work, outcomes)) + notes(outcomes, sources);
  if (missing > 0) text += plural(int64_t(missing), "problem") + " not reached.\n";
  return text + failures;
}

}  // namespace gemmsmith::cli
