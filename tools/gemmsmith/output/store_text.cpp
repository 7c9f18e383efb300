#include "output/store_text.h"

#include <nlohmann/json.hpp>

#include "output/table.h"
#include "output/units.h"

namespace gemmsmith::cli {
namespace {

std::string winner_text(const TuneReport& report) {
  const CandidateReport* best = report.best();
  return best ? best->source + " " + best->config : "none";
}

std::string time_text(const TuneReport& report) {
  const CandidateReport* best = report.best();
  return best && best->timing ? format_time(best->timing->median_us) : "-";
}

std::string side_text(const std::optional<TuneReport>& report) {
  return report ? winner_text(*report) + ", " + time_text(*report) : "not there";
}

std::string ratio_text(const StoreDifference& difference) {
  const double ratio = difference.time_ratio();
  return ratio > 0 ? format_digits(ratio) + "x" : "-";
}

}  // namespace

std::string store_table(const std::vector<TuneReport>& reports, const Style& style) {
  Table table({{.title = "problem", .right = false, .min_width = 16},
               {.title = "winner", .right = false, .min_width = 12},
               {.title = "time"},
               {.title = "margin", .drop_order = 1},
               {.title = "measured", .right = false, .drop_order = 2},
               {.title = "device", .right = false, .drop_order = 3, .min_width = 12}});
  for (const TuneReport& report : reports)
    table.add({report.problem.print(), winner_text(report), time_text(report),
               report.margin > 0 ? format_margin(report.margin) : "-",
               report.provenance.measured_at + (report.interrupted ? ", interrupted" : ""), report.provenance.device},
              report.best() ? Tint::none : Tint::yellow);
  return table.print(style);
}

std::string difference_table(const std::vector<StoreDifference>& differences, const Style& style) {
  Table table({{.title = "problem", .right = false, .min_width = 16},
               {.title = "here", .right = false, .min_width = 12},
               {.title = "there", .right = false, .min_width = 12},
               {.title = "there/here"},
               {.title = "winner", .right = false, .drop_order = 1},
               {.title = "device", .right = false, .drop_order = 2, .min_width = 12}});
  for (const StoreDifference& difference : differences) {
    const bool both = difference.here && difference.there;
    table.add(
        {difference.problem.print(), side_text(difference.here), side_text(difference.there), ratio_text(difference),
         !both                      ? "-"
         : difference.same_winner() ? "same"
                                    : "differs",
         difference.device},
        both && !difference.same_winner() ? Tint::yellow : Tint::none);
  }
  return table.print(style);
}

std::string added_line(const StoreAdded& count) {
  return plural(count.added, "decision") + " added, " + std::to_string(count.known) +
         (count.known == 1 ? " was" : " were") + " there already";
}

std::string freed_line(const StoreFreed& freed, bool dry_run) {
  return plural(freed.dropped, "decision") + (dry_run ? " would be dropped, " : " dropped, ") +
         std::to_string(freed.kept) + " kept, " + (dry_run ? "about " : "") + format_bytes(double(freed.bytes)) +
         (dry_run ? " would be freed" : " freed");
}

std::string quarantine_text(const std::vector<QuarantineEntry>& entries, bool released) {
  std::string text;
  for (const QuarantineEntry& e : entries)
    text += e.problem + ": " + e.source + " " + e.config + "\n  since " + e.since + " on " + e.device + ", " +
            e.source + " " + e.version + ", gemmsmith " + e.gemmsmith + "\n  " + e.evidence + "\n";
  return text + plural(int64_t(entries.size()), "candidate") + (released ? " released\n" : " in quarantine\n");
}

std::string quarantine_json(const std::vector<QuarantineEntry>& entries) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const QuarantineEntry& e : entries)
    array.push_back({{"problem", e.problem},
                     {"device", e.device},
                     {"source", e.source},
                     {"version", e.version},
                     {"gemmsmith", e.gemmsmith},
                     {"config", e.config},
                     {"evidence", e.evidence},
                     {"since", e.since}});
  return array.dump(2);
}

}  // namespace gemmsmith::cli
