#include "tuner/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "support/random.h"

namespace gemmsmith {
namespace {

// P(Binomial(n, 1/2) <= k), by Pascal's rule on probabilities: independent of the logarithms in the code.
double binomial_tail(int n, int k) {
  std::vector<double> p(size_t(n) + 1, 0);
  p[0] = 1;
  for (int i = 1; i <= n; ++i)
    for (int j = i; j >= 0; --j) p[size_t(j)] = 0.5 * p[size_t(j)] + (j > 0 ? 0.5 * p[size_t(j) - 1] : 0);
  double sum = 0;
  for (int j = 0; j <= k; ++j) sum += p[size_t(j)];
  return sum;
}

TEST(Statistics, RanksAreThoseOfThePublishedTable) {
  // n and the lower rank, counted from 1, of the 95 % interval of the median.
  const std::pair<int, int> table[] = {{6, 1},  {8, 1},  {9, 2},   {11, 2},  {12, 3},  {15, 4},
                                       {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40}};
  for (const auto& [n, rank] : table) {
    EXPECT_EQ(median_ranks(n).low, rank - 1) << n;
    EXPECT_EQ(median_ranks(n).high, n - rank) << n;
  }
}

TEST(Statistics, RanksAreTheWidestThatTheConfidenceAllows) {
  for (int n = kSamplesForInterval; n <= 300; ++n) {
    const int low = median_ranks(n).low;
    EXPECT_LE(binomial_tail(n, low), 0.025) << n;
    EXPECT_GT(binomial_tail(n, low + 1), 0.025) << n;
  }
}

TEST(Statistics, FewSamplesGiveTheirWholeRange) {
  const Timing t = summarize(std::vector<double>{5, 1, 3});
  EXPECT_EQ(t.median_us, 3);
  EXPECT_EQ(t.low_us, 1);
  EXPECT_EQ(t.high_us, 5);
  EXPECT_EQ(t.samples, 3);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
}

TEST(Statistics, ThousandsOfSamplesDoNotUnderflow) {
  const RankInterval ranks = median_ranks(10'000);
  EXPECT_NEAR(ranks.low, 5000 - 0.98 * 100, 3);  // the normal approximation: n/2 - 1.96 sqrt(n)/2
  EXPECT_EQ(ranks.high, 9999 - ranks.low);
}

TEST(Statistics, IntervalsHoldTheMedianAsOftenAsTheySay) {
  Random random(7);
  for (const int n : {6, 9, 25}) {
    int held = 0;
    const int trials = 4000;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> samples;
      for (int i = 0; i < n; ++i)
        samples.push_back(-std::log(1 - random.uniform()));  // exponential: skewed, its median is ln 2
      const Timing t = summarize(samples);
      held += t.low_us <= std::log(2.0) && std::log(2.0) <= t.high_us;
    }
    EXPECT_GE(held, 0.94 * trials) << n;
    EXPECT_LT(held, trials) << n;
  }
}

TEST(Statistics, PairedRatioCancelsWhatBothShare) {
  std::vector<double> x, y;
  for (int round = 0; round < 25; ++round) {
    const double drift = 1 + 0.1 * round;  // far more than the difference
    x.push_back(103 * drift);
    y.push_back(100 * drift);
  }
  const Ratio r = paired_ratio(x, y);
  EXPECT_NEAR(r.median, 1.03, 1e-9);
  EXPECT_NEAR(r.low, 1.03, 1e-9);
  EXPECT_EQ(r.rounds, 25);
  EXPECT_GT(summarize(x).high_us, summarize(y).median_us);  // the plain intervals overlap
  EXPECT_LT(summarize(x).low_us, summarize(y).high_us);
}

}  // namespace
}  // namespace gemmsmith
