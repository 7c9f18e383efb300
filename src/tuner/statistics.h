// Medians with confidence intervals that assume nothing about the noise: timings are skewed and have outliers on one
// side.
#pragma once
#include <span>
#include <vector>

#include "gemmsmith/tune.h"

namespace gemmsmith {

// Ranks (0-based, inclusive) of the order statistics that hold the median with at least 95 % confidence: the widest l
// for which P(Binomial(n, 1/2) < l + 1) <= 2.5 % (David and Nagaraja, Order Statistics, 7.1). With fewer than 6 samples
// no such interval exists: the whole range is returned then, and its confidence is 1 - 2^(1-n).
struct RankInterval {
  int low = 0, high = 0;
};
RankInterval median_ranks(int samples);
inline constexpr int kSamplesForInterval = 6;  // the fewest that give 95 %

double median(std::span<const double> values);  // of at least one
Timing summarize(std::span<const double> samples_us);

// How the time of x relates to that of y when both were sampled once in each of several rounds: the median of the
// ratios x/y. Load and clock frequency that drift from round to round cancel.
struct Ratio {
  double median = 1, low = 1, high = 1;
  int rounds = 0;
};
Ratio paired_ratio(std::span<const double> x_us, std::span<const double> y_us);

}  // namespace gemmsmith
