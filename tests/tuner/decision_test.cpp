#include "tuner/decision.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/random.h"

namespace gemmsmith {
namespace {

// `rounds` paired samples around `us`.
Finalist finalist(size_t id, double us, int rounds = 25, double noise = 0, uint64_t seed = 1) {
  Random random(seed);
  Finalist f{id, "source " + std::to_string(id), false, {us, us}, {}};
  for (int i = 0; i < rounds; ++i) f.rounds_us.push_back(us * (1 + noise * random.normal()));
  return f;
}

TEST(Decision, LowestMedianWins) {
  const Decision d = decide({finalist(0, 110), finalist(1, 100), finalist(2, 105)}, 0.01);
  EXPECT_EQ(d.winner, 1u);
  EXPECT_EQ(d.sentence,
            "source 1: lowest median of 3 candidates, 100 us [100 us, 100 us] over 25 samples; next is source 2 at "
            "1.050x [1.050x, 1.050x] in 25 pairs");
}

TEST(Decision, OnlyCandidateWins) {
  EXPECT_EQ(decide({finalist(4, 2000)}, 0.01).sentence,
            "source 4: lowest median of 1 candidate, 2.00 ms [2.00 ms, 2.00 ms] over 25 samples");
}

TEST(Decision, WithinTheTieTheEarlierWins) {
  const Decision d = decide({finalist(0, 100.9), finalist(1, 100)}, 0.01);
  EXPECT_EQ(d.winner, 0u);
  EXPECT_EQ(d.sentence,
            "source 0: tied with source 1 and tried before it (time ratio 1.009x [1.009x, 1.009x] in 25 pairs, a tie "
            "is up to "
            "1.0 %)");
  EXPECT_EQ(decide({finalist(0, 101.1), finalist(1, 100)}, 0.01).winner, 1u);
  EXPECT_EQ(decide({finalist(0, 100), finalist(1, 100)}, 0).winner, 0u);
}

TEST(Decision, IncumbentStaysUnlessClearlyBeaten) {
  Finalist stored = finalist(0, 103, 25, 0.10, 1);  // noise of 10 %: the ratio's interval reaches below 1
  stored.incumbent = true;
  const Decision kept = decide({stored, finalist(1, 102, 25, 0.10, 2)}, 0.01);
  EXPECT_EQ(kept.winner, 0u);
  EXPECT_NE(kept.sentence.find("source 0: the earlier choice stays, source 1 is not clearly faster (time ratio "),
            std::string::npos)
      << kept.sentence;

  Finalist beaten = finalist(0, 103);
  beaten.incumbent = true;
  EXPECT_EQ(decide({beaten, finalist(1, 100)}, 0.01).winner, 1u);
  EXPECT_EQ(decide({beaten, finalist(1, 102.5)}, 0.01).winner, 0u) << "faster, but by less than the tie";
}

TEST(Decision, IncumbentThatLeadsWinsOverAnEarlierTie) {
  Finalist stored = finalist(1, 100);
  stored.incumbent = true;
  EXPECT_EQ(decide({finalist(0, 100.5), stored}, 0.01).winner, 1u);
}

TEST(Decision, FewRoundsCompareIntervals) {
  Finalist x = finalist(0, 100, 0), y = finalist(1, 120, 0);
  x.samples_us = {99, 101};
  y.samples_us = {119, 121};
  EXPECT_TRUE(compare(x, y, 0.01).clear);
  EXPECT_EQ(compare(x, y, 0.01).text(), "1.200x by medians");
  y.samples_us = {100.5, 140};
  EXPECT_FALSE(compare(x, y, 0.01).clear);
}

TEST(Decision, DependsOnSamplesOnlyNotOnTheOrderOfFinalists) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<Finalist> f;
    for (size_t i = 0; i < 4; ++i) f.push_back(finalist(i, 100 + double(seed % 5) * double(i), 25, 0.02, seed * 7 + i));
    if (seed % 2) f[seed % 4].incumbent = true;
    const size_t id = f[decide(f, 0.01).winner].id;
    std::reverse(f.begin(), f.end());
    EXPECT_EQ(f[decide(f, 0.01).winner].id, id) << seed;
  }
}

TEST(Decision, DecidedOnceEveryOtherIsClearOrTied) {
  EXPECT_TRUE(decided({finalist(0, 100)}, 0.01));
  EXPECT_TRUE(decided({finalist(0, 100), finalist(1, 120)}, 0.01));
  EXPECT_TRUE(decided({finalist(0, 100), finalist(1, 100.2)}, 0.01)) << "certainly a tie";
  EXPECT_FALSE(decided({finalist(0, 100, 25, 0.1, 1), finalist(1, 101, 25, 0.1, 2)}, 0.01));
  EXPECT_FALSE(decided({finalist(0, 100, 5), finalist(1, 101, 5)}, 0.01)) << "too few pairs";
}

}  // namespace
}  // namespace gemmsmith
