#include "output/progress.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

namespace gemmsmith::cli {
namespace {

TEST(Bar, IsAsLongAsAskedAndGrows) {
  size_t last = 0;
  for (double fraction = -0.5; fraction < 1.6; fraction += 0.01) {
    const std::string text = bar(fraction, 20, false);
    EXPECT_EQ(text.size(), 22u);
    const auto full = size_t(std::count(text.begin(), text.end(), '#'));
    EXPECT_GE(full, last);
    last = full;
  }
  EXPECT_EQ(last, 20u);
  EXPECT_EQ(display_width(bar(0.5, 20, true)), 22u);
  EXPECT_EQ(bar(std::numeric_limits<double>::quiet_NaN(), 4, false), "[....]");
}

TEST(TuneLine, SaysWhatIsGoingOn) {
  const TuneProgress step{.phase = "measuring",
                          .built = 30,
                          .measured = 12,
                          .considered = 48,
                          .seconds = 2.05,
                          .budget_seconds = 5,
                          .best = "native gemv rows=4",
                          .best_us = 61.2};
  EXPECT_EQ(tune_line(2, 10, "gate_up 1x6144x1024 bf16", step, {.width = 80}),
            "[ 3/10] gate_up 1x6144x1024 bf16 [###.....]  41%  measuring: 30 built, 12 measured of 48, "
            "best 61.2 us native gemv rows=4");
  TuneProgress start;
  start.phase = "building";
  EXPECT_EQ(tune_line(0, 1, "x", start, {.width = 80}), "[1/1] x [........] 0.0%  building: 0 built, 0 measured of 0");
}

TEST(CaseLine, CountsFailuresOnceThereAreAny) {
  EXPECT_EQ(case_line(3, 12, 0, "a.cases 8x8x8 f32", {.width = 80}), "[##......] 3 of 12  a.cases 8x8x8 f32");
  EXPECT_EQ(case_line(3, 12, 2, "8x8x8 f32", {.width = 80}), "[##......] 3 of 12, 2 failed  8x8x8 f32");
  EXPECT_EQ(case_line(0, 0, 0, "", {.width = 80}), "[########] 0 of 0  ");
}

TEST(ProgressLine, OverwritesOnATerminalTenTimesASecondAtMost) {
  std::ostringstream out;
  double now = 0;
  int made = 0;
  {
    ProgressLine line(out, {.width = 10}, true, [&] { return now; });
    const auto show = [&](const char* text) { line.show([&] { return ++made, std::string(text); }); };
    show("one");
    now = 0.05;
    show("too early");
    now = 0.1;
    show("longer than the terminal");
    line.keep("kept");
    now = 0.3;
    show("last");
  }
  EXPECT_EQ(made, 3);
  EXPECT_EQ(out.str(), "\r\x1b[2Kone\r\x1b[2Klonger t~\r\x1b[2Kkept\n\r\x1b[2Klast\r\x1b[2K");
}

TEST(ProgressLine, PrintsPlainLinesElsewhereEveryFiveSeconds) {
  std::ostringstream out;
  double now = 0;
  ProgressLine line(out, {.width = 10}, false, [&] { return now; });
  for (int second = 0; second < 12; ++second) {
    now = second;
    line.show([&] { return "second " + std::to_string(second) + " whole"; });
  }
  line.keep("kept");
  line.clear();
  EXPECT_EQ(out.str(), "second 0 whole\nsecond 5 whole\nsecond 10 whole\nkept\n");
}

}  // namespace
}  // namespace gemmsmith::cli
