#include <algorithm>
#include <limits>

#include "api/state.h"
#include "gemmsmith/cases.h"
#include "problem/operands.h"
#include "support/random.h"
#include "support/text.h"
#include "tuner/statistics.h"

namespace gemmsmith {
namespace {

// A candidate of one case, built or not.
struct Entry {
  CaseResult result;
  std::unique_ptr<Kernel> kernel;
  std::vector<double> samples_us;
  bool decided = false;  // passed, refused or failed: false where a cancelled run left off
};

int64_t memory_limit(const DeviceFacts& device, const CaseOptions& options) {
  const int64_t half = device.memory_bytes > 0 ? device.memory_bytes / 2 : std::numeric_limits<int64_t>::max();
  return options.max_memory_bytes > 0 ? std::min(half, options.max_memory_bytes) : half;
}
bool cancelled(const CaseOptions& options) { return options.cancel && options.cancel->load(); }

void fail(CaseResult& result, std::string reason) {
  result.outcome = CaseOutcome::failed;
  result.reason = std::move(reason);
}

// Why a case is not run although its source supports it; nothing if it is.
Supports allowed(const Source& source, const DeviceFacts& device, const CaseLine& line, const CaseOptions& options) {
  const int64_t bytes = operand_bytes(line.problem);
  const int64_t limit = memory_limit(device, options);
  if (bytes > limit)
    return Supports::no(
        concat("operands of ", print_bytes(double(bytes)), " are more than the limit of ", print_bytes(double(limit))));
  const auto named = [](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), "reference") != names.end();
  };
  if (source.name() == "reference" && !named(options.sources) && !named(line.sources) &&
      line.problem.flops() > options.max_reference_flops)
    return Supports::no(concat(line.problem.flops() / 1e9, " GFLOP in float64 on one thread are more than ",
                               options.max_reference_flops / 1e9));
  return {};
}

// What the sources offer for a case: refusals, failed builds, kernels.
std::vector<Entry> build_all(const std::vector<Source*>& sources, const DeviceFacts& device, const CaseLine& line,
                             const CaseOptions& options) {
  std::vector<Entry> entries;
  for (Source* source : sources) {
    CaseResult result;
    result.line = line.line;
    result.problem = line.problem;
    result.source = source->name();
    Supports answer = source->supports(line.problem, device);
    if (answer) answer = allowed(*source, device, line, options);
    if (!answer) {
      result.outcome = CaseOutcome::refused;
      result.reason = answer.reason;
      entries.push_back({std::move(result), nullptr, {}, true});
      continue;
    }
    std::vector<Candidate> candidates = source->candidates(line.problem, device).kept;
    if (candidates.empty()) {
      fail(result, "the source supports the problem and has no candidate for it");
      entries.push_back({std::move(result), nullptr, {}, true});
      continue;
    }
    const size_t most = options.configs_per_source > 0 ? size_t(options.configs_per_source) : candidates.size();
    if (candidates.size() > most) candidates.resize(most);
    for (const Candidate& candidate : candidates) {
      if (cancelled(options)) return entries;
      Entry entry{result, nullptr, {}, false};
      entry.result.config = candidate.config;
      auto kernel = source->build(line.problem, device, candidate);
      if (kernel.ok())
        entry.kernel = std::move(kernel).value();
      else
        fail(entry.result, kernel.error().text());
      entry.decided = !entry.kernel;
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

void check(Entry& entry, Bench& bench, uint64_t seed) {
  const Result<Accuracy> accuracy = bench.check(*entry.kernel, seed);
  if (!accuracy.ok()) return fail(entry.result, accuracy.error().text());
  entry.result.accuracy = *accuracy;
  if (!accuracy->passed) return fail(entry.result, accuracy->failure);
  entry.result.outcome = CaseOutcome::passed;
}

// Samples of all kernels in random order, round by round, until the time is up; at least five rounds.
void time_all(std::vector<Entry>& entries, Bench& bench, const Clock& clock, const CaseOptions& options) {
  std::vector<size_t> order;
  std::vector<int> repeats(entries.size(), 1);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].result.outcome != CaseOutcome::passed || cancelled(options)) continue;
    const Result<double> first = bench.sample_us(*entries[i].kernel, 1);
    if (!first.ok()) {
      fail(entries[i].result, first.error().text());
      continue;
    }
    repeats[i] = std::clamp(int(200 / std::max(*first, 0.1)), 1, 2000);
    order.push_back(i);
  }
  Random random(options.seed);
  const double end = clock.seconds() + options.seconds_per_problem;
  for (int round = 0; !order.empty() && (round < 5 || clock.seconds() < end); ++round) {
    if (cancelled(options)) break;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (const size_t i : order)
      if (cancelled(options))
        break;
      else if (const Result<double> sample = bench.sample_us(*entries[i].kernel, repeats[i]); sample.ok())
        entries[i].samples_us.push_back(*sample);
  }
  for (const size_t i : order)
    if (!entries[i].samples_us.empty()) entries[i].result.timing = summarize(entries[i].samples_us);
}

}  // namespace

Result<std::vector<CaseResult>> run_cases(const Device& device, const std::vector<CaseLine>& lines,
                                          const CaseOptions& options) {
  Device::State& state = *device.state();
  const std::lock_guard one_at_a_time(state.measuring);
  HostBench bench(state.clock);
  std::vector<CaseResult> results;
  size_t done = 0;
  for (const CaseLine& line : lines) {
    if (cancelled(options)) break;
    GS_TRY(std::vector<Source*> sources, select_sources(state, line.sources.empty() ? options.sources : line.sources));
    if (!line.sources.empty() && !options.sources.empty())
      std::erase_if(sources, [&](Source* s) {
        return std::find(options.sources.begin(), options.sources.end(), s->name()) == options.sources.end();
      });
    std::vector<Entry> entries = build_all(sources, device.facts(), line, options);
    const bool any = std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return e.kernel != nullptr; });
    if (any) {
      const Status prepared = bench.prepare(
          line.problem, device.facts(),
          {.max_memory_bytes = memory_limit(device.facts(), options), .seed = options.seed, .rotate = options.time});
      for (Entry& entry : entries) {
        if (!entry.kernel || cancelled(options)) continue;
        if (prepared.ok())
          check(entry, bench, options.seed);
        else
          fail(entry.result, prepared.error().text());
        entry.decided = true;
      }
      if (options.time && prepared.ok() && line.problem.flops() > 0) time_all(entries, bench, state.clock, options);
    }
    ++done;
    for (Entry& entry : entries) {
      if (!entry.decided) continue;
      results.push_back(std::move(entry.result));
      if (options.progress) options.progress(results.back(), done, lines.size());
    }
  }
  return results;
}

}  // namespace gemmsmith
