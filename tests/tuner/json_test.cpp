#include "gemmsmith/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_report.h"
#include "support/random.h"

namespace gemmsmith {
namespace {

TEST(Json, ReportsReadBack) {
  for (const int indent : {-1, 2}) {
    const TuneReport report = sample_report();
    const TuneReport back = report_from_json(to_json(report, indent)).value();
    EXPECT_EQ(back.problem, report.problem);
    EXPECT_EQ(back.provenance, report.provenance);
    EXPECT_EQ(back.winner, 1);
    EXPECT_EQ(back.best()->timing->high_us, 1.0 / 3);
    EXPECT_EQ(back.best()->accuracy->compared, int64_t(1) << 40);
    EXPECT_TRUE(std::isnan(back.candidates[0].accuracy->max_rel));
    EXPECT_TRUE(std::isinf(back.candidates[0].accuracy->max_abs));
    EXPECT_FALSE(back.candidates[0].timing);
    EXPECT_EQ(back.sources[1].reason, report.sources[1].reason);
    EXPECT_EQ(to_json(back), to_json(report));  // all the rest
  }
}

TEST(Json, EveryMemberIsWritten) {
  // A member that to_json forgets would be lost on both sides of the comparison above: each must show in the text.
  const std::string base = to_json(sample_report());
  const auto changes = [&](auto change) {
    TuneReport r = sample_report();
    change(r);
    return to_json(r) != base;
  };
  EXPECT_TRUE(changes([](TuneReport& r) { r.problem.m = 1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.winner = -1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.margin = 1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.decision = "x"; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.floor_us = 1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.seconds = 1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.conditions = "x"; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.from_store = true; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.store_note = "x"; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.interrupted = false; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.provenance.measured_at = "x"; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.provenance.device = "x"; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.provenance.sources = "x"; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.provenance.gemmsmith = "x"; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.sources[0].version = "x"; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.sources[0].supported = false; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.candidates[1].build_ms = 1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.candidates[1].predicted_us = 1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.candidates[1].reason = "x"; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.candidates[1].timing->high_us = 1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.candidates[1].timing->samples = 1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.candidates[1].accuracy->worst = 1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.candidates[1].accuracy->allowed_rel = 1; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.candidates[1].accuracy->passed = false; }));
  EXPECT_TRUE(changes([](TuneReport& r) { r.candidates[1].accuracy->failure = "x"; }));
}

TEST(Json, ErrorsNameThePlace) {
  const auto error_of = [](const std::string& from, const std::string& to) {
    std::string text = to_json(sample_report(), -1);
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto result = report_from_json(text);
    return result.ok() ? std::string("read") : result.error().text();
  };
  EXPECT_EQ(error_of("\"state\":\"won\"", "\"state\":\"winner\""),
            "report.candidates[1].state: \"winner\" is not a candidate's state; known: won, measured, eliminated, "
            "dropped, failed, crashed, quarantined, wrong, not_reached");
  EXPECT_EQ(error_of("\"low_us\":98.5", "\"low_us\":\"fast\""),
            "report.candidates[1].timing.low_us: \"fast\" is not a number");
  EXPECT_EQ(error_of("\"samples\":25", "\"samples\":2.5"),
            "report.candidates[1].timing.samples: 2.5 is not an integer");
  EXPECT_EQ(error_of("\"samples\":25", "\"samples\":4294967296"),
            "report.candidates[1].timing.samples: 4294967296 is out of range");
  EXPECT_EQ(error_of("\"margin\":0.034,", ""), "report: key \"margin\" is missing");
  EXPECT_EQ(error_of("\"winner\":1", "\"winner\":3"), "report.winner: 3 is not the index of a candidate");
  EXPECT_EQ(error_of("\"interrupted\":true", "\"interrupted\":1"), "report.interrupted: 1 is not true or false");
  EXPECT_EQ(error_of("\"margin\":0.034,", "\"margin\":0.034,\"later\":[1],"), "read") << "unknown keys are passed over";
  EXPECT_EQ(report_from_json("[1]").error().text(), "report: is not a JSON object");
  EXPECT_EQ(report_from_json("").error().text(), "report: is not a JSON object");
  EXPECT_NE(error_of("\"problem\":\"", "\"problem\":\"nonsense ").find("\n  in report.problem"), std::string::npos);
}

TEST(Json, DamagedTextNeverCrashes) {
  const std::string text = to_json(sample_report(), -1);
  Random random(11);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = text;
    for (int n = int(random.between(1, 3)); n > 0; --n) {
      const size_t at = size_t(random.below(damaged.size()));
      if (random.below(2) == 0)
        damaged[at] = char(random.between(1, 126));
      else
        damaged.erase(at, size_t(random.between(1, 40)));
    }
    read += report_from_json(damaged).ok();
  }
  EXPECT_LT(read, 20'000);
}

TEST(Json, ListsAndFacts) {
  using Parsed = nlohmann::json;
  EXPECT_EQ(to_json(std::vector<TuneReport>{}), "[]");
  EXPECT_EQ(Parsed::parse(to_json(std::vector<TuneReport>{sample_report(), sample_report()})).size(), 2u);
  EXPECT_EQ(Parsed::parse(to_json(sample_report().sources))[1]["version"], "0.3.21 Cooperlake");
  DeviceFacts facts;
  facts.kind = "cpu";
  facts.features = {"avx2", "avx512f"};
  facts.peak_f32_gflops = 345.5;
  const Parsed json = Parsed::parse(to_json(facts));
  EXPECT_EQ(json["features"].size(), 2u);
  EXPECT_EQ(json["peak_f32_gflops"], 345.5);
  EXPECT_EQ(json["fingerprint"], facts.fingerprint());
}

TEST(Json, BytesThatAreNoTextDoNotStopIt) {
  TuneReport r = sample_report();
  r.candidates[0].reason = "bad \xff byte";
  EXPECT_EQ(report_from_json(to_json(r)).value().candidates[0].reason, "bad \xef\xbf\xbd byte");
}

}  // namespace
}  // namespace gemmsmith
