#include "tuner/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "fakes.h"
#include "gemmsmith/json.h"

namespace gemmsmith {
namespace {

using fake::candidate_in;
using fake::Script;
using fake::winner_of;
using fake::World;

Script script(std::string config, double us, double predicted_us = 0) {
  Script s;
  s.config = std::move(config);
  s.us = us;
  s.predicted_us = predicted_us;
  return s;
}

// Three sources of twelve candidates, all between 105 and 300 us but for one of 100 us. Predictions are off by up to a
// half.
std::string add_field(World& w, uint64_t seed) {
  Random random(seed);
  const size_t best = size_t(random.below(36));
  for (size_t source = 0; source < 3; ++source) {
    std::vector<Script> scripts;
    for (size_t i = 0; i < 12; ++i) {
      const double us = source * 12 + i == best ? 100 : 105 + 195 * random.uniform();
      scripts.push_back(script("c" + std::to_string(i), us, us * (0.75 + 0.75 * random.uniform())));
    }
    w.add("s" + std::to_string(source), std::move(scripts));
  }
  return "s" + std::to_string(best / 12) + " c" + std::to_string(best % 12);
}

TEST(Search, FindsTheFastestUnderNoise) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    World w(seed);
    const std::string best = add_field(w, seed);
    w.bench.noise = 0.02;
    w.bench.spikes = 0.05;
    w.bench.drift = 0.03;
    w.policy.patience = 1000;
    const TuneReport report = w.search();
    EXPECT_EQ(winner_of(report), best) << "seed " << seed << ": " << report.decision;
    EXPECT_EQ(report.best()->state, CandidateState::won);
    EXPECT_LT(report.seconds, w.options.budget_seconds);
  }
}

TEST(Search, EqualSeedsGiveEqualReports) {
  const auto run = [](uint64_t seed) {
    World w(seed);
    add_field(w, 3);
    w.bench.noise = 0.05;
    return to_json(w.search());
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

TEST(Search, EveryCandidateIsInTheReportOnceWithAReason) {
  World w;
  add_field(w, 4);
  w.sources[0]->scripts[2].builds = false;
  w.sources[1]->scripts[3].runs = false;
  w.sources[2]->scripts[4].correct = false;
  w.sources[2]->dropped = {{"huge", "too large: 12 > 8"}};
  w.add("refuses", {}).refusal = "no such library";
  const TuneReport report = w.search();
  EXPECT_EQ(report.candidates.size(), 37u);
  std::set<std::string> seen;
  for (const CandidateReport& c : report.candidates) {
    EXPECT_TRUE(seen.insert(c.source + " " + c.config).second);
    EXPECT_FALSE(c.reason.empty()) << c.source << " " << c.config;
  }
  EXPECT_EQ(candidate_in(report, "s0", "c2").reason, "does not build: tile.cpp:7: mr = c2 is too wide; near it: 8");
  EXPECT_EQ(candidate_in(report, "s0", "c2").state, CandidateState::failed);
  EXPECT_EQ(candidate_in(report, "s1", "c3").reason, "does not run: s1: run was refused by the library");
  EXPECT_EQ(candidate_in(report, "s1", "c3").state, CandidateState::failed);
  EXPECT_EQ(candidate_in(report, "s2", "c4").state, CandidateState::wrong);
  EXPECT_EQ(candidate_in(report, "s2", "huge").reason, "too large: 12 > 8");
  ASSERT_EQ(report.sources.size(), 4u);
  EXPECT_EQ(report.sources[3].reason, "no such library");
  EXPECT_EQ(report.provenance.sources, "s0 1; s1 1; s2 1");
  EXPECT_EQ(report.provenance.device, w.device.fingerprint());
  EXPECT_EQ(report.provenance.measured_at, w.clock.stamp);
  EXPECT_EQ(report.conditions, "fake operands");
}

TEST(Search, WrongButFastestNeverWinsAndIsNamed) {
  World w;
  Script wrong = script("wrong", 10);
  wrong.correct = false;
  w.add("native", {wrong, script("right", 100)});
  w.add("library", {script("default", 120)});
  const TuneReport report = w.search();
  EXPECT_EQ(winner_of(report), "native right");
  const CandidateReport& c = candidate_in(report, "native", "wrong");
  EXPECT_EQ(c.state, CandidateState::wrong);
  EXPECT_EQ(c.reason, "D[3,17] of batch 0 is 1.25, reference 1.5");
  EXPECT_FALSE(c.accuracy->passed);
  EXPECT_FALSE(c.timing) << "no time is spent on it";
  EXPECT_EQ(report.best_of("native")->config, "right");
}

TEST(Search, WinnerThatFailsOnOtherInputsIsReplacedByTheNext) {
  World w;
  Script stale = script("stale", 50);
  stale.correct_twice = false;
  w.add("native", {stale, script("right", 100)});
  const TuneReport report = w.search();
  EXPECT_EQ(winner_of(report), "native right");
  EXPECT_EQ(candidate_in(report, "native", "stale").state, CandidateState::wrong);
}

TEST(Search, AllWrongIsAReportWithoutWinner) {
  World w;
  Script wrong = script("a", 10);
  wrong.correct = false;
  w.add("native", {wrong});
  const TuneReport report = w.search();
  EXPECT_EQ(report.winner, -1);
  EXPECT_EQ(report.decision, "no winner: no candidate both ran and passed the numeric gate");
  EXPECT_EQ(report.margin, 0);
}

TEST(Search, TieKeepsTheIncumbent) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World w(seed);
    w.add("native", {script("a", 100), script("b", 100.4)});
    w.add("library", {script("default", 100.6)});
    w.incumbent = {"library", "default"};
    const TuneReport report = w.search();
    EXPECT_EQ(winner_of(report), "library default") << report.decision;
  }
}

TEST(Search, IncumbentThatIsBeatenGoes) {
  World w;
  w.add("native", {script("a", 100)});
  w.add("library", {script("default", 110)});
  w.incumbent = {"library", "default"};
  EXPECT_EQ(winner_of(w.search()), "native a");
}

TEST(Search, KernelThatBreaksLaterCostsOnlyItself) {
  for (int runs = 0; runs < 40; ++runs) {
    World w;
    Script breaks = script("breaks", 50);
    breaks.runs_for = runs;
    w.add("native", {breaks, script("a", 100), script("b", 130), script("c", 90)});
    const TuneReport report = w.search();
    const CandidateReport& c = candidate_in(report, "native", "breaks");
    if (c.state == CandidateState::failed) {
      EXPECT_EQ(winner_of(report), "native c") << runs;
      EXPECT_EQ(c.reason, "does not run: native: run was refused by the library");
    } else {
      EXPECT_EQ(winner_of(report), "native breaks") << runs;
      EXPECT_GE(runs, 10);
    }
  }
}

TEST(Search, MarginIsOverTheBestOtherSource) {
  World w;
  w.bench.noise = 0;
  w.add("native", {script("a", 100), script("b", 101.5)});
  w.add("library", {script("default", 125), script("alt", 140)});
  w.add("other", {script("default", 190)});
  const TuneReport report = w.search();
  EXPECT_EQ(winner_of(report), "native a");
  EXPECT_NEAR(report.margin, 0.25, 1e-9);
  EXPECT_EQ(report.best_of("library")->config, "default");
  EXPECT_GE(report.best_of("library")->timing->samples, 9) << "the best of each near source is in the final";
  EXPECT_EQ(candidate_in(report, "library", "default").reason,
            "time ratio to the winner 1.250x [1.250x, 1.250x] in 9 pairs");
}

TEST(Search, HopelessCandidatesCostTwoSamplesOrOneLongOne) {
  World w;
  w.bench.noise = 0;
  w.add("native", {script("a", 1000)});
  w.add("slow", {script("default", 1000), script("x", 50'000), script("long", 500'000)});
  w.search();
  EXPECT_EQ(std::count(w.bench.log.begin(), w.bench.log.end(), "slow x"), 2);
  EXPECT_EQ(std::count(w.bench.log.begin(), w.bench.log.end(), "slow long"), 1);
}

TEST(Search, SamplesAreLongEnoughAndTimesArePerCall) {
  World w;
  w.bench.noise = 0;
  w.add("native", {script("tiny", 2)});
  const double before = w.clock.seconds();
  const TuneReport report = w.search();
  EXPECT_NEAR(report.best()->timing->median_us, 2, 1e-9);
  const double per_sample_us = (w.clock.seconds() - before) * 1e6 / double(w.bench.log.size());
  EXPECT_GT(per_sample_us, 150);
  EXPECT_LT(per_sample_us, 400);
}

// What overlaps with building.

TEST(Search, NoSampleIsTakenWhileABuildRuns) {
  World w;
  add_field(w, 5);
  w.policy.patience = 1000;
  w.search();
  EXPECT_EQ(w.bench.samples_during_builds, 0);
  EXPECT_GT(w.bench.log.size(), 100u);
}

// Lets the builds of the second wave wait until `event` has happened in the first: without overlap it never would.
struct Latch {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  void release() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), [this] { return open; });
  }
};

TEST(Search, TheGateRunsBesideTheBuildsOfTheNextWave) {
  World w;
  fake::FakeSource& source = w.add("native", {script("first", 100), script("second", 120)});
  Latch checked;
  std::atomic<bool> in_time{false};
  w.bench.on_check = [&](fake::FakeKernel& k) {
    if (k.script.config == "first") checked.release();
  };
  source.on_build = [&](const Candidate& c) {
    if (c.config == "second") in_time = checked.wait();
  };
  w.search();
  EXPECT_TRUE(in_time);
}

TEST(Search, SamplesRunBesideBuildsWhereTheyAreNotDisturbed) {
  World w;
  w.bench.disturbed = false;
  fake::FakeSource& source = w.add("native", {script("first", 100), script("second", 120)});
  Latch sampled;
  std::atomic<bool> in_time{false};
  w.bench.on_sample = [&](fake::FakeKernel&) { sampled.release(); };
  source.on_build = [&](const Candidate& c) {
    if (c.config == "second") in_time = sampled.wait();
  };
  w.search();
  EXPECT_TRUE(in_time);
}

// Budgets, cancelling, early ends.

TEST(Search, BudgetEndsTheSearchAndTheRestIsNotReached) {
  World w;
  std::vector<Script> scripts;
  for (int i = 0; i < 200; ++i) scripts.push_back(script("c" + std::to_string(i), 20'000 + 10 * i));
  w.add("native", scripts);
  w.options.budget_seconds = 2;
  w.policy.patience = 1000;
  const TuneReport report = w.search();
  EXPECT_TRUE(report.best());
  EXPECT_LT(report.seconds, 2.1);  // the last call may end after the budget
  EXPECT_FALSE(report.interrupted);
  const CandidateReport& last = candidate_in(report, "native", "c199");
  EXPECT_EQ(last.state, CandidateState::not_reached);
  EXPECT_EQ(last.reason, "the budget of 2.00 s ended before it");
}

TEST(Search, ATinyBudgetStillMeasuresOneOfEachSource) {
  World w;
  w.bench.noise = 0;
  w.add("native", {script("a", 5000), script("b", 4000)});
  w.add("library", {script("default", 3000), script("alt", 100)});
  w.options.budget_seconds = 1e-6;
  const TuneReport report = w.search();
  EXPECT_EQ(winner_of(report), "library default");
  EXPECT_EQ(
      report.decision,
      "library default: lowest median of 2 candidates, 3.00 ms [3.00 ms, 3.00 ms] over 1 sample; next is native a at "
      "1.667x by medians (the budget ended before the final)");
  EXPECT_TRUE(report.best_of("native"));
  EXPECT_EQ(candidate_in(report, "native", "b").state, CandidateState::not_reached);
}

TEST(Search, CancelAtAnyMomentKeepsWhatWasMeasured) {
  // The flag is set at the n-th check or sample, for every n of the whole search.
  size_t steps = 0;
  for (size_t n = 1;; ++n) {
    World w;
    add_field(w, 6);
    std::atomic<bool> cancel{false};
    steps = 0;
    const auto step = [&](fake::FakeKernel&) {
      if (++steps == n) cancel = true;
    };
    w.bench.on_sample = w.bench.on_check = step;
    w.options.cancel = &cancel;
    const TuneReport report = w.search();
    if (steps < n) break;
    ASSERT_TRUE(report.interrupted);
    ASSERT_LE(steps, n) << "nothing runs after it";
    ASSERT_EQ(report.candidates.size(), 36u);
    const bool measured =
        std::any_of(report.candidates.begin(), report.candidates.end(), [](const auto& c) { return bool(c.timing); });
    ASSERT_EQ(measured, report.best() != nullptr) << n << ": " << report.decision;
    for (const CandidateReport& c : report.candidates) ASSERT_FALSE(c.reason.empty()) << n;
  }
  EXPECT_GT(steps, 100u);
}

TEST(Search, CancelBeforeTheBeginningMeasuresNothing) {
  World w;
  w.add("native", {script("a", 100)});
  const std::atomic<bool> cancel{true};
  w.options.cancel = &cancel;
  const TuneReport report = w.search();
  EXPECT_TRUE(report.interrupted);
  EXPECT_EQ(report.winner, -1);
  EXPECT_EQ(report.decision, "no winner: nothing was measured");
  EXPECT_EQ(candidate_in(report, "native", "a").reason, "interrupted before it");
}

TEST(Search, StopsLookingWhenNothingImproves) {
  World w;
  std::vector<Script> scripts;
  for (int i = 0; i < 200; ++i) scripts.push_back(script("c" + std::to_string(i), 100 + i));
  w.add("native", scripts);
  const TuneReport report = w.search();
  EXPECT_EQ(winner_of(report), "native c0");
  EXPECT_EQ(candidate_in(report, "native", "c199").reason, "the 40 candidates before it brought no gain");
  EXPECT_LT(w.sources[0]->builds, 60);
}

TEST(Search, EmptyResultNeedsNoMeasuring) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{0, 8}, {8, 0}}) {
    World w;
    w.problem = make_problem(m, n, 8, DataType::f32);
    w.add("refuses", {script("x", 1)}).refusal = "no";
    w.add("native", {script("a", 100), script("b", 50)});
    const TuneReport report = w.search();
    EXPECT_EQ(winner_of(report), "native a");
    EXPECT_EQ(report.decision,
              "D is empty: nothing to measure, the first candidate of the first source that supports it");
    EXPECT_TRUE(w.bench.log.empty());
    EXPECT_EQ(w.sources[1]->builds, 0);
  }
}

TEST(Search, OperandsThatDoNotFitAreAnError) {
  World w;
  w.add("native", {script("a", 100)});
  w.bench.prepare_error = Error{"memory", "operands of 3.00 GB", "are more than 2.00 GB", {}, {}};
  EXPECT_EQ(gemmsmith::search(w.request()).error().text(), "memory: operands of 3.00 GB are more than 2.00 GB");
}

TEST(Search, HandsOverTheKernelOfTheWinner) {
  World w;
  w.add("native", {script("a", 100), script("b", 50)});
  std::unique_ptr<Kernel> kernel;
  TuneRequest request = w.request();
  request.kernel = &kernel;
  const TuneReport report = gemmsmith::search(request).value();
  ASSERT_TRUE(kernel);
  EXPECT_EQ(dynamic_cast<fake::FakeKernel&>(*kernel).script.config, "b");
  EXPECT_EQ(w.sources[0]->builds, 2) << "built once";
}

TEST(Search, ProgressGoesUpAndNamesTheBest) {
  World w;
  add_field(w, 8);
  std::vector<TuneProgress> seen;
  w.options.progress = [&](const TuneProgress& p) { seen.push_back(p); };
  const TuneReport report = w.search();
  ASSERT_GT(seen.size(), 30u);
  for (size_t i = 1; i < seen.size(); ++i) {
    EXPECT_GE(seen[i].built, seen[i - 1].built);
    EXPECT_GE(seen[i].measured, seen[i - 1].measured);
    EXPECT_GE(seen[i].seconds, seen[i - 1].seconds);
    EXPECT_EQ(seen[i].considered, 36);
  }
  EXPECT_EQ(seen.back().best, winner_of(report));
}

TEST(Search, FloorIsWhatPeaksAllow) {
  World w;
  w.add("native", {script("a", 100)});
  EXPECT_EQ(w.search().floor_us, 0);
  w.device.peak_f32_gflops = 100;
  EXPECT_NEAR(w.search().floor_us, 2.0 * 64 * 64 * 64 / 100e3, 1e-9);
  w.device.read_gbytes_per_s = 1;  // now bytes bound it
  EXPECT_NEAR(w.search().floor_us, 3.0 * 64 * 64 * 4 / 1e3, 1e-9);
}

}  // namespace
}  // namespace gemmsmith
