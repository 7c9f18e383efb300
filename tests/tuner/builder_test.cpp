#include "tuner/builder.h"

#include <gtest/gtest.h>

#include "fakes.h"

namespace gemmsmith {
namespace {

using fake::Script;
using fake::World;

std::vector<BuildJob> jobs_for(fake::FakeSource& source) {
  std::vector<BuildJob> jobs;
  for (const Script& s : source.scripts) jobs.push_back({jobs.size() + 10, &source, {source.name(), s.config, 0}});
  return jobs;
}

TEST(Builder, ResultsAreInTheOrderOfTheJobs) {
  World w;
  std::vector<Script> scripts;
  for (int i = 0; i < 40; ++i) {
    Script s;
    s.config = std::to_string(i);
    s.builds = i % 7 != 3;
    scripts.push_back(s);
  }
  fake::FakeSource& source = w.add("native", scripts);
  for (const int threads : {0, 1, 3, 64}) {
    Builder builder(w.problem, w.device, threads);
    for (int wave = 0; wave < 3; ++wave) {
      builder.start(jobs_for(source), [] { return false; });
      const auto results = builder.take();
      ASSERT_EQ(results.size(), scripts.size());
      for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].id, i + 10);
        EXPECT_EQ(results[i].kernel != nullptr, scripts[i].builds);
        EXPECT_EQ(results[i].error.has_value(), !scripts[i].builds);
        EXPECT_FALSE(results[i].skipped);
      }
    }
  }
}

TEST(Builder, StopSkipsWhatHasNotBegun) {
  World w;
  fake::FakeSource& source = w.add("native", std::vector<Script>(20));
  std::atomic<bool> stop{false};
  source.on_build = [&](const Candidate&) { stop = true; };  // after the first on each thread nothing begins
  Builder builder(w.problem, w.device, 2);
  builder.start(jobs_for(source), [&] { return stop.load(); });
  int skipped = 0;
  for (const BuildResult& r : builder.take()) skipped += r.skipped;
  EXPECT_GE(skipped, 18);
  EXPECT_EQ(source.builds, 20 - skipped);
}

TEST(Builder, EmptyWave) {
  World w;
  Builder builder(w.problem, w.device, 2);
  builder.start({}, [] { return false; });
  EXPECT_TRUE(builder.take().empty());
  builder.start({}, [] { return false; });
  EXPECT_TRUE(builder.take().empty());
}

TEST(Builder, MayEndWhileAWaveRuns) {
  World w;
  fake::FakeSource& source = w.add("native", std::vector<Script>(50));
  {
    Builder(w.problem, w.device, 2).start(jobs_for(source), [] { return false; });
  }
  EXPECT_EQ(source.building, 0);
  EXPECT_LE(source.builds, 50);
}

}  // namespace
}  // namespace gemmsmith
