// A tuning that was killed at any moment goes on from what its store has.
#include "tuner/resume.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fakes.h"
#include "gemmsmith/json.h"
#include "tuner/tune.h"

namespace gemmsmith {
namespace {

using fake::candidate_in;
using fake::Script;
using fake::winner_of;
using fake::World;

struct Field : World {
  explicit Field(uint64_t seed = 1) : World(seed) {
    Random random(seed);
    for (const char* name : {"s0", "s1"}) {
      std::vector<Script> scripts;
      for (int i = 0; i < 20; ++i) {
        Script s;
        s.config = "c" + std::to_string(i);
        s.us = i == 13 && std::string(name) == "s1" ? 100 : 110 + 190 * random.uniform();
        s.correct = i % 7 != 3;
        s.builds = i % 7 != 5;
        scripts.push_back(s);
      }
      add(name, std::move(scripts));
    }
    policy.patience = 1000;
  }
  TuneReport tune() { return tune_with_store(request(), &store).value(); }
  Store store = Store::open(":memory:").value();
};

// What a process that is killed at its n-th sample leaves behind is the store as it was then.
TEST(Resume, AfterDeathAtAnySampleTheRestIsDoneAndNoMore) {
  size_t whole = 0;
  int spared = 0;
  for (size_t n = 1;; n += 11) {
    Field first(3);
    std::optional<TuneReport> left;
    first.bench.on_sample = [&](fake::FakeKernel&) {
      if (first.bench.log.size() == n)
        left = first.store.find_unfinished(first.problem, first.device.fingerprint()).value();
    };
    const TuneReport uninterrupted = first.tune();
    whole = first.bench.log.size();
    if (n > whole) break;
    EXPECT_FALSE(first.store.find_unfinished(first.problem, first.device.fingerprint()).value()) << "done is done";

    Field second(3);
    if (left) {
      ASSERT_TRUE(second.store.save_unfinished(*left).ok());
    }
    const TuneReport report = second.tune();
    EXPECT_EQ(winner_of(report), winner_of(uninterrupted)) << n;
    EXPECT_EQ(report.candidates.size(), uninterrupted.candidates.size());
    if (!left) continue;
    spared += report.store_note.starts_with("goes on where the tuning of 2026-12-01T11:08:14Z was interrupted: ");
    for (const CandidateReport& c : left->candidates) {
      const bool done = c.state == CandidateState::eliminated || c.state == CandidateState::failed ||
                        c.state == CandidateState::wrong;
      if (!done) continue;
      const std::string name = c.source + " " + c.config;
      EXPECT_EQ(std::count(second.bench.log.begin(), second.bench.log.end(), name), 0) << name;
      EXPECT_EQ(std::count(second.bench.checked.begin(), second.bench.checked.end(), name), 0) << name;
      EXPECT_EQ(candidate_in(report, c.source, c.config).reason, c.reason + " (in the tuning of 2026-12-01T11:08:14Z)");
    }
  }
  EXPECT_GT(whole, 100u);
  EXPECT_GT(spared, 5);
}

TEST(Resume, OtherVersionsOrAskingAgainBeginAnew) {
  Field w;
  std::atomic<bool> cancel{false};
  w.options.cancel = &cancel;
  w.bench.on_sample = [&](fake::FakeKernel&) { cancel = w.bench.log.size() > 60; };
  EXPECT_TRUE(w.tune().interrupted);
  EXPECT_TRUE(w.store.find_unfinished(w.problem, w.device.fingerprint()).value()) << "interrupted is not done";
  w.options.cancel = nullptr;
  w.options.retune = true;
  EXPECT_EQ(w.tune().store_note.find("goes on"), std::string::npos);

  Field other;
  Field changed;
  changed.sources[0]->version_text = "2";
  other.options.cancel = &cancel;
  other.tune();
  const auto left = other.store.find_unfinished(other.problem, other.device.fingerprint()).value();
  ASSERT_TRUE(left);
  ASSERT_TRUE(changed.store.save_unfinished(*left).ok());
  EXPECT_EQ(changed.tune().store_note, "");
}

TEST(Resume, WhatIsInQuarantineIsNotBuilt) {
  Field w;
  TuneRequest request = w.request();
  request.quarantine = {{"s1", "c13", "while it was timed: killed by SIGSEGV", "2026-11-30T00:00:00Z"}};
  const TuneReport report = search(request).value();
  EXPECT_NE(winner_of(report), "s1 c13");
  const CandidateReport& c = candidate_in(report, "s1", "c13");
  EXPECT_EQ(c.state, CandidateState::quarantined);
  EXPECT_EQ(c.reason, "since 2026-11-30T00:00:00Z, while it was timed: killed by SIGSEGV");
}

}  // namespace
}  // namespace gemmsmith
