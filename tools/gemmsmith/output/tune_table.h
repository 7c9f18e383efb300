// What `tune` prints when it is done.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/device.h"
#include "gemmsmith/tune.h"
#include "inputs.h"
#include "output/text.h"

namespace gemmsmith::cli {

// What became of each of Work::distinct: a report, or why there is none; neither if it was not reached.
struct Outcome {
  std::optional<TuneReport> report;
  std::string error;
};

// Time of the fastest correct kernel of `source` over the winner's, minus 1. Empty without either.
std::optional<double> margin_over(const TuneReport&, const std::string& source);

// The time of one pass through a model, if every problem of the group has a winner.
struct PassTotal {
  WorkGroup group;
  int64_t gemms = 0;
  double time_us = 0;
  // Of each other source that can compute all of the pass: its time if it ran all of it.
  std::vector<std::pair<std::string, double>> alone_us;
};
std::vector<PassTotal> pass_totals(const Work&, const std::vector<Outcome>&);

// "qkv 1x4096x1024 bf16 x28"; the whole problem if it has no name.
std::string item_label(const WorkItem&);
// "native gemv rows=4  80.1 us  5.2 s", the line that a finished problem leaves behind.
std::string outcome_line(const std::string& label, const Outcome&);

// TuneReport::store_note, a line each.
std::vector<std::string> note_lines(const TuneReport&);

// The table, totals of passes, and how to learn more.
std::string tune_summary(const Work&, const std::vector<Outcome>&, const DeviceFacts&, const Style&);

}  // namespace gemmsmith::cli
