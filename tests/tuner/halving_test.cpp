#include "tuner/halving.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/random.h"

namespace gemmsmith {
namespace {

Standing standing(size_t id, int source, double low, double median, double high, int samples = 9) {
  return {id, source, false, {median, low, high, samples}};
}

std::vector<Standing> random_field(Random& random) {
  std::vector<Standing> field;
  const int n = int(random.between(1, 20));
  for (int i = 0; i < n; ++i) {
    const double median = 100 + 50 * random.uniform(), spread = 10 * random.uniform();
    field.push_back(standing(size_t(i), int(random.below(3)), median - spread, median, median + spread,
                             int(random.between(2, 12))));
  }
  return field;
}

TEST(Halving, LawsOverRandomFields) {
  Random random(3);
  const SearchPolicy policy;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Standing> field = random_field(random);
    const auto eliminated = halve(field, policy, "best");
    sort_standings(field);
    EXPECT_LE(eliminated.size(), field.size() / 2);
    for (const Elimination& out : eliminated) {
      const auto at = std::find_if(field.begin(), field.end(), [&](const Standing& s) { return s.id == out.id; });
      EXPECT_GE(size_t(at - field.begin()), (field.size() + 1) / 2) << "only the slower half";
      EXPECT_GT(at->timing.low_us, field[0].timing.high_us) << "never on overlapping intervals";
    }
    for (size_t i = (field.size() + 1) / 2; i < field.size(); ++i) {  // and everybody that is clearly slower
      if (field[i].timing.low_us <= 1.1 * field[0].timing.high_us) continue;
      EXPECT_TRUE(
          std::any_of(eliminated.begin(), eliminated.end(), [&](const Elimination& e) { return e.id == field[i].id; }));
    }
  }
}

TEST(Halving, FewSamplesNeedMoreDistance) {
  const SearchPolicy policy;
  const auto out = [&](int samples) {
    return halve({standing(0, 0, 99, 100, 101, samples), standing(1, 0, 105, 106, 107, samples)}, policy, "a x").size();
  };
  EXPECT_EQ(out(2), 0u);
  EXPECT_EQ(out(6), 1u);
}

TEST(Halving, ReasonNamesTheFastestAndTheNumbers) {
  const auto out = halve({standing(0, 0, 99, 100, 101), standing(1, 0, 198, 200, 202)}, {}, "native mr=8");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].reason, "at least 198 us in 9 samples, native mr=8 at most 101 us");
}

TEST(Halving, FinalHasTheFastestAndTheNearBestOfEachSource) {
  SearchPolicy policy;
  policy.finalists = 2;
  const std::vector<Standing> all = {standing(0, 0, 99, 100, 101),  standing(1, 0, 101, 102, 103),
                                     standing(2, 0, 103, 104, 105), standing(3, 1, 149, 150, 151),
                                     standing(4, 1, 150, 151, 152), standing(5, 2, 300, 301, 302)};
  const std::vector<bool> survives = {true, true, true, false, false, true};
  // Both places go to source 0; source 1's best comes along though halving had it out; source 2 is too far away.
  EXPECT_EQ(choose_finalists(all, survives, policy), (std::vector<size_t>{0, 1, 3}));
}

TEST(Halving, IncumbentThatSurvivedIsInTheFinal) {
  SearchPolicy policy;
  policy.finalists = 1;
  std::vector<Standing> all = {standing(0, 0, 99, 100, 101), standing(1, 0, 101, 102, 103),
                               standing(2, 0, 103, 104, 105)};
  all[2].incumbent = true;
  EXPECT_EQ(choose_finalists(all, {true, true, true}, policy), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(choose_finalists(all, {true, true, false}, policy), (std::vector<size_t>{0}));
}

}  // namespace
}  // namespace gemmsmith
