#include "output/case_table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "output/peak.h"
#include "output/table.h"
#include "output/units.h"

namespace gemmsmith::cli {
namespace {

using Results = std::vector<const CaseResult*>;

// Results of the same problem, together, in the order in which the problems come.
std::vector<Results> by_problem(const std::vector<FileResults>& files) {
  std::vector<Results> groups;
  std::map<std::string, size_t> known;
  for (const FileResults& file : files)
    for (const CaseResult& result : file.results) {
      const auto [at, fresh] = known.emplace(result.problem.print(), groups.size());
      if (fresh) groups.emplace_back();
      groups[at->second].push_back(&result);
    }
  return groups;
}

double time_of(const CaseResult& result) {
  return result.outcome == CaseOutcome::passed && result.timing ? result.timing->median_us : 0;
}

// The fastest time of each source that has one.
std::map<std::string, double> times_by_source(const Results& results) {
  std::map<std::string, double> times;
  for (const CaseResult* result : results) {
    if (time_of(*result) <= 0) continue;
    const auto [at, fresh] = times.emplace(result->source, time_of(*result));
    if (!fresh) at->second = std::min(at->second, time_of(*result));
  }
  return times;
}

std::string means(const std::vector<Results>& groups) {
  std::map<std::string, double> log_sums;
  for (const Results& group : groups)
    for (const auto& [source, time] : times_by_source(group)) log_sums.emplace(source, 0);
  if (log_sums.size() < 2) return {};
  int64_t problems = 0;
  for (const Results& group : groups) {
    const auto times = times_by_source(group);
    if (times.size() != log_sums.size()) continue;
    ++problems;
    double fastest = times.begin()->second;
    for (const auto& [source, time] : times) fastest = std::min(fastest, time);
    for (const auto& [source, time] : times) log_sums[source] += std::log(time / fastest);
  }
  if (problems == 0) return "no problem has a time of every source\n";
  std::string text = "geometric mean over the fastest, " + plural(problems, "problem") + ":";
  for (const auto& [source, sum] : log_sums)
    text += " " + source + " " + format_digits(std::exp(sum / double(problems))) + "x";
  return text + "\n";
}

}  // namespace

CaseCounts count(const std::vector<FileResults>& files) {
  CaseCounts counts;
  for (const FileResults& file : files)
    for (const CaseResult& result : file.results) {
      if (result.outcome == CaseOutcome::passed) ++counts.passed;
      if (result.outcome == CaseOutcome::refused) ++counts.refused;
      if (result.outcome == CaseOutcome::failed) ++counts.failed;
    }
  return counts;
}

std::string summary_line(const CaseCounts& counts) {
  return std::to_string(counts.passed) + " passed, " + std::to_string(counts.refused) + " refused, " +
         std::to_string(counts.failed) + " failed";
}

std::string failure_text(const std::string& file, const CaseResult& result) {
  const std::string reason = !result.reason.empty() ? result.reason : result.accuracy.failure;
  return file + ":" + std::to_string(result.line) + ": " + result.source +
         (result.config.empty() ? "" : " " + result.config) + ": " + reason + "\n    " + result.problem.print();
}

std::string bench_table(const std::vector<FileResults>& files, const DeviceFacts& facts, const Style& style) {
  Table table({{.title = "problem", .right = false, .min_width = 24},
               {.title = "candidate", .right = false, .min_width = 24},
               {.title = "time"},
               {.title = "from", .drop_order = 3},
               {.title = "to", .drop_order = 2},
               {.title = "GFLOP/s"},
               {.title = "%peak", .drop_order = 1},
               {.title = "of fastest"}});
  const std::vector<Results> groups = by_problem(files);
  for (Results group : groups) {
    const auto rank = [](const CaseResult* r) { return time_of(*r) > 0 ? time_of(*r) : 1e300; };
    std::stable_sort(group.begin(), group.end(), [&](auto x, auto y) { return rank(x) < rank(y); });
    const double fastest = time_of(*group.front());
    std::string label = group.front()->problem.print();
    for (const CaseResult* result : group) {
      const double time_us = time_of(*result);
      const std::string candidate = result->source + (result->config.empty() ? "" : " " + result->config);
      if (time_us > 0) {
        table.add({label, candidate, format_time(time_us), format_time(result->timing->low_us),
                   format_time(result->timing->high_us), format_digits(gflops(result->problem, time_us)),
                   of_peak(result->problem, facts, time_us), format_digits(time_us / fastest) + "x"});
      } else {
        const bool failed = result->outcome == CaseOutcome::failed;
        const char* state = failed ? "failed" : result->outcome == CaseOutcome::refused ? "refused" : "-";
        table.add({label, candidate, state}, failed ? Tint::red : Tint::dim);
      }
      label.clear();
    }
  }
  return (table.empty() ? "" : table.print(style) + "\n") + means(groups);
}

}  // namespace gemmsmith::cli
