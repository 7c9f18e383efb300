#include "tuner/tune.h"

#include <gtest/gtest.h>

#include "fakes.h"
#include "gemmsmith/json.h"
#include "tuner/report.h"

namespace gemmsmith {
namespace {

using fake::Script;
using fake::winner_of;
using fake::World;

struct Tuning : World {
  Tuning() {
    bench.noise = 0;
    add("native", {{.config = "a", .us = 100}, {.config = "b", .us = 120}});
    add("library", {{.config = "default", .us = 110}}).version_text = "1.2 Haswell";
  }
  TuneReport tune() { return tune_with_store(request(), &store).value(); }
  Store store = Store::open(":memory:").value();
};

TEST(Tune, SecondTimeComesFromTheStore) {
  Tuning t;
  const TuneReport first = t.tune();
  EXPECT_FALSE(first.from_store);
  EXPECT_EQ(first.store_note, "");
  const size_t samples = t.bench.log.size();
  TuneReport second = t.tune();
  EXPECT_TRUE(second.from_store);
  EXPECT_EQ(t.bench.log.size(), samples) << "nothing is measured";
  second.from_store = false;
  EXPECT_EQ(to_json(second), to_json(first));
}

TEST(Tune, WithoutAStoreItSearches) {
  Tuning t;
  EXPECT_EQ(winner_of(tune_with_store(t.request(), nullptr).value()), "native a");
}

TEST(Tune, ChangedVersionMeasuresAgainAndSaysSo) {
  Tuning t;
  t.tune();
  t.clock.stamp = "2026-12-02T00:00:00Z";
  t.sources[1]->version_text = "1.2 Cooperlake";
  const TuneReport report = t.tune();
  EXPECT_FALSE(report.from_store);
  EXPECT_EQ(report.store_note,
            "stored choice native a of 2026-12-01T11:08:14Z not used: library was 1.2 Haswell, is 1.2 Cooperlake");
  EXPECT_TRUE(t.tune().from_store) << "the new decision holds";
}

TEST(Tune, NewSourceMeasuresAgain) {
  Tuning t;
  t.tune();
  t.add("other", {{.config = "x", .us = 50}}).version_text = "3";
  const TuneReport report = t.tune();
  EXPECT_EQ(report.store_note, "stored choice native a of 2026-12-01T11:08:14Z not used: other 3 was not weighed");
  EXPECT_EQ(winner_of(report), "other x");
}

TEST(Tune, SourceThatIsGoneMattersOnlyToItsOwnChoice) {
  Tuning t;
  t.tune();
  t.sources[1]->refusal = "library not found";
  EXPECT_TRUE(t.tune().from_store) << "the best of more is the best of fewer";
  t.sources[1]->refusal.clear();
  t.sources[0]->refusal = "switched off";
  const TuneReport report = t.tune();
  EXPECT_EQ(report.store_note,
            "stored choice native a of 2026-12-01T11:08:14Z not used: native 1 is not weighed any more");
  EXPECT_EQ(winner_of(report), "library default");
}

TEST(Tune, ChoiceOfAnotherDeviceIsNotUsed) {
  Tuning t;
  t.tune();
  const std::string before = t.device.fingerprint();
  t.device.threads = 1;
  const TuneReport report = t.tune();
  EXPECT_FALSE(report.from_store);
  EXPECT_EQ(report.store_note, "stored choice native a of 2026-12-01T11:08:14Z not used: the device was " + before +
                                   ", is " + t.device.fingerprint());
}

TEST(Tune, RetuneKeepsTheIncumbentInATie) {
  Tuning t;
  t.tune();
  t.options.retune = true;
  t.sources[1]->scripts[0].us = 99.5;  // the library is a little faster now
  TuneReport report = t.tune();
  EXPECT_EQ(report.store_note, "stored choice native a of 2026-12-01T11:08:14Z not used: asked to measure again");
  EXPECT_EQ(winner_of(report), "native a");
  EXPECT_EQ(report.decision,
            "native a: the earlier choice stays, library default is not clearly faster (time ratio 1.005x [1.005x, "
            "1.005x] in 9 "
            "pairs, a tie is up to 1.0 %)");
  t.sources[1]->scripts[0].us = 80;  // and now it is clear
  EXPECT_EQ(winner_of(t.tune()), "library default");
}

TEST(Tune, InterruptedTuningIsKeptAndMeasuredAgain) {
  Tuning t;
  std::atomic<bool> cancel{false};
  t.options.cancel = &cancel;
  t.bench.on_sample = [&](fake::FakeKernel&) { cancel = true; };
  const TuneReport first = t.tune();
  EXPECT_TRUE(first.interrupted);
  ASSERT_TRUE(first.best());
  EXPECT_EQ(t.store.list().value().size(), 1u);
  cancel = false;
  t.bench.on_sample = nullptr;
  const TuneReport second = t.tune();
  EXPECT_EQ(second.store_note,
            "stored choice " + winner_of(first) + " of 2026-12-01T11:08:14Z not used: its tuning was interrupted");
  EXPECT_EQ(winner_of(second), "native a");
  EXPECT_TRUE(t.tune().from_store);
}

TEST(Tune, NothingMeasuredIsNotSaved) {
  Tuning t;
  const std::atomic<bool> cancel{true};
  t.options.cancel = &cancel;
  t.tune();
  t.options.cancel = nullptr;
  t.problem = make_problem(0, 8, 8, DataType::f32);
  EXPECT_TRUE(t.tune().best());
  EXPECT_TRUE(t.store.list().value().empty());
}

TEST(Tune, MismatchNamesEveryPart) {
  TuneReport stored;
  stored.provenance = {"cpu x", "a 1; b 2; c 3", "0.1.0", "then"};
  stored.candidates = {{"c", "x", CandidateState::won, {}, 0, 0, {}, {}}};
  stored.winner = 0;
  EXPECT_EQ(mismatch(stored, {"cpu x", "c 3; b 2; a 1", "0.1.0", "now"}), "");
  EXPECT_EQ(mismatch(stored, {"cpu y", "a 1 b; d", "0.2.0", "now"}),
            "the device was cpu x, is cpu y; a was 1, is 1 b; c 3 is not weighed any more; d  was not weighed; "
            "gemmsmith was 0.1.0, is "
            "0.2.0");
}

}  // namespace
}  // namespace gemmsmith
