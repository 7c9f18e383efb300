#include "tuner/stamp.h"

#include <gtest/gtest.h>

#include <set>

#include "gemmsmith/store.h"
#include "random_report.h"

namespace gemmsmith {
namespace {

TEST(Stamp, TimestampsAreMomentsOfTheCalendar) {
  for (const char* good :
       {"2026-12-01T11:08:14Z", "1970-01-01T00:00:00Z", "2028-02-29T23:59:60Z", "9999-12-31T00:00:00Z"})
    EXPECT_TRUE(is_timestamp(good)) << good;
  for (const char* bad :
       {"", "now", "2026-12-01", "2026-12-01T11:08:14", "2026-12-01 11:08:14Z", "2026-13-01T11:08:14Z",
        "2027-02-29T00:00:00Z", "2026-12-01T24:00:00Z", "2026-12-01T11:60:14Z", "2026-12-01T11:08:14Z ",
        "2026-00-01T11:08:14Z", "-026-12-01T11:08:14Z"})
    EXPECT_FALSE(is_timestamp(bad)) << bad;
  EXPECT_TRUE(is_stamp("2026-12-01T11:08:14Z+000002"));
  for (const char* bad : {"2026-12-01T11:08:14Z", "2026-12-01T11:08:14Z+2", "2026-12-01T11:08:14Z+-00002", "x+000000"})
    EXPECT_FALSE(is_stamp(bad)) << bad;
}

TEST(Stamp, FollowsTheOneBeforeWhateverTheClockSays) {
  Random random(7);
  std::string last;
  for (int i = 0; i < 2000; ++i) {
    const std::string moment =
        random.next() % 16 == 0 ? "no clock" : format_timestamp((long long)(random.next() % 4'000'000'000));
    const std::string stamp = stamp_after(last, moment);
    ASSERT_TRUE(is_stamp(stamp)) << stamp;
    ASSERT_GT(stamp, last);
    if (is_timestamp(moment)) {
      ASSERT_GE(stamp.substr(0, 20), moment);
    }
    last = stamp;
  }
  EXPECT_EQ(stamp_after("", "2026-12-01T11:08:14Z"), "2026-12-01T11:08:14Z+000000");
  EXPECT_EQ(stamp_after("2026-12-01T11:08:14Z+000000", "2026-12-01T11:08:14Z"), "2026-12-01T11:08:14Z+000001");
  EXPECT_EQ(stamp_after("2026-12-01T11:08:14Z+000041", "2025-01-01T00:00:00Z"), "2026-12-01T11:08:14Z+000042");
  EXPECT_EQ(stamp_after("2026-12-01T11:08:14Z+000041", "2026-12-01T11:08:15Z"), "2026-12-01T11:08:15Z+000000");
  EXPECT_EQ(stamp_after("2026-12-01T11:08:14Z+999999", "2026-12-01T11:08:14Z"), "2026-12-01T11:08:14Z+999999");
}

TEST(Stamp, WhatWasSavedLastIsTheDecisionThoughTheClockJumps) {
  Store store = Store::open(":memory:").value();
  Random random(8);
  TuneReport report = random_report(random);
  std::set<std::string> kept;
  for (const char* moment : {"2026-12-01T11:08:14Z", "2099-01-01T00:00:00Z", "1970-01-01T00:00:00Z",
                             "2026-12-01T11:08:14Z", "2026-12-01T11:08:14Z"}) {
    report.provenance.measured_at = moment;
    report.decision = "decision " + std::to_string(kept.size());
    ASSERT_TRUE(store.save(report).ok());
    kept.insert(report.decision);
    EXPECT_EQ(store.find(report.problem, report.provenance.device).value()->decision, report.decision);
  }
  EXPECT_EQ(store.history(report.problem, report.provenance.device).value().size(), kept.size()) << "nothing is lost";
}

}  // namespace
}  // namespace gemmsmith
