#include "tuner/statistics.h"

#include <algorithm>
#include <cmath>

namespace gemmsmith {

RankInterval median_ranks(int samples) {
  GS_ASSERT(samples > 0, "an interval needs samples");
  if (samples < kSamplesForInterval) return {0, samples - 1};
  // Terms of the binomial distribution from the tail on; logarithms because 2^-n underflows beyond a thousand samples.
  double log_term = -double(samples) * std::log(2.0);
  double tail = std::exp(log_term);
  int low = 0;
  while (low + 1 < samples / 2) {
    log_term += std::log(double(samples - low) / double(low + 1));
    tail += std::exp(log_term);
    if (tail > 0.025) break;
    ++low;
  }
  return {low, samples - 1 - low};
}

static double median_of_sorted(const std::vector<double>& sorted) {
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

static std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double median(std::span<const double> values) {
  GS_ASSERT(!values.empty(), "a median needs values");
  return median_of_sorted(sorted_copy(values));
}

Timing summarize(std::span<const double> samples_us) {
  const std::vector<double> sorted = sorted_copy(samples_us);
  const RankInterval ranks = median_ranks(int(sorted.size()));
  return {median_of_sorted(sorted), sorted[size_t(ranks.low)], sorted[size_t(ranks.high)], int(sorted.size())};
}

Ratio paired_ratio(std::span<const double> x_us, std::span<const double> y_us) {
  const size_t rounds = std::min(x_us.size(), y_us.size());
  std::vector<double> ratios(rounds);
  for (size_t i = 0; i < rounds; ++i) ratios[i] = x_us[i] / y_us[i];
  if (ratios.empty()) return {};
  const Timing t = summarize(ratios);
  return {t.median_us, t.low_us, t.high_us, t.samples};
}

}  // namespace gemmsmith
