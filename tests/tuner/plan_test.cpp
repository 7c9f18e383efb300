#include "tuner/plan.h"

#include <gtest/gtest.h>

#include "fakes.h"

namespace gemmsmith {
namespace {

using fake::Script;
using fake::World;

Result<Plan> plan(World& w) {
  const TuneRequest r = w.request();
  return plan_candidates(r.problem, r.device, r.sources, r.options.sources, r.incumbent, r.policy);
}

std::vector<std::string> queue_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlannedCandidate& c : plan.queue) names.push_back(c.candidate.source + " " + c.candidate.config);
  return names;
}

Script predicted(std::string config, double us) {
  Script s;
  s.config = std::move(config);
  s.predicted_us = us;
  return s;
}

TEST(Plan, BestGuessOfEachSourceThenByPrediction) {
  World w;
  w.add("native", {predicted("a", 20), predicted("b", 15), predicted("c", 10)});
  w.add("library", {{.config = "one"}, {.config = "two"}});
  w.add("other", {predicted("x", 12), predicted("y", 12)});
  const Plan p = plan(w).value();
  EXPECT_EQ(queue_of(p), (std::vector<std::string>{"native a", "library one", "other x",  // one of each source
                                                   "library two",                         // without a model
                                                   "native c", "other y", "native b"}));
  EXPECT_EQ(p.first_wave, 3u);
}

TEST(Plan, IncumbentComesFirstAndIsNeverDropped) {
  World w;
  w.add("native", {predicted("a", 10), predicted("slow", 1000)});
  w.add("library", {{.config = "one"}});
  w.incumbent = {"native", "slow"};
  const Plan p = plan(w).value();
  EXPECT_EQ(queue_of(p), (std::vector<std::string>{"native slow", "native a", "library one"}));
  EXPECT_TRUE(p.queue[0].incumbent);
  EXPECT_EQ(p.first_wave, 3u);
}

TEST(Plan, DropsByPredictionWithTheNumbers) {
  World w;
  w.add("native", {predicted("a", 100), predicted("b", 400), predicted("c", 401)});
  w.add("slow", {predicted("x", 2001), predicted("y", 1999)});
  const Plan p = plan(w).value();
  EXPECT_EQ(queue_of(p), (std::vector<std::string>{"native a", "slow y", "native b"}));
  ASSERT_EQ(p.excluded.size(), 2u);
  EXPECT_EQ(p.excluded[0].reason, "predicted 401 us, more than 4.000x the 100 us predicted for the best of native");
  EXPECT_EQ(p.excluded[1].reason,
            "predicted 2.00 ms, more than 20.0x the 100 us predicted for the best of all sources");
  EXPECT_EQ(p.excluded[1].state, CandidateState::dropped);
}

TEST(Plan, KeepsWhatSourcesDropAndRefuse) {
  World w;
  w.add("native", {predicted("a", 10)}).dropped = {
      {"huge", "block of B: 12.6 MB > 8.0 MB, half of the last-level cache"}};
  w.add("library", {{.config = "one"}}).refusal = "no batch strides: batch = 3";
  w.add("unwanted", {{.config = "one"}});
  w.options.sources = {"native", "library"};
  const Plan p = plan(w).value();
  EXPECT_EQ(queue_of(p), (std::vector<std::string>{"native a"}));
  ASSERT_EQ(p.excluded.size(), 1u);
  EXPECT_EQ(p.excluded[0].config, "huge");
  EXPECT_EQ(p.excluded[0].reason, "block of B: 12.6 MB > 8.0 MB, half of the last-level cache");
  ASSERT_EQ(p.sources.size(), 3u);
  EXPECT_FALSE(p.sources[1].supported);
  EXPECT_EQ(p.sources[1].reason, "no batch strides: batch = 3");
  EXPECT_EQ(p.sources[2].reason, "left out: only native, library asked for");
}

TEST(Plan, UnknownSource) {
  World w;
  w.add("native", {{.config = "a"}});
  w.add("openblas", {{.config = "a"}});
  w.options.sources = {"nativ"};
  EXPECT_EQ(plan(w).error().text(), "sources: nativ is not a source; did you mean native?");
}

TEST(Plan, NobodySupportsTheProblem) {
  World w;
  w.add("native", {}).refusal = "f16 needs avx512_fp16";
  w.add("library", {}).refusal = "libdnnl.so.2 not found";
  EXPECT_EQ(plan(w).error().text(), "sources: " + w.problem.print() +
                                        " is not supported by any source on this device\n"
                                        "  native: f16 needs avx512_fp16\n"
                                        "  library: libdnnl.so.2 not found");
}

}  // namespace
}  // namespace gemmsmith
