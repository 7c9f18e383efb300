#include "output/text.h"

#include <gtest/gtest.h>

#include "output/units.h"

namespace gemmsmith::cli {
namespace {

TEST(Text, FitNeverExceedsTheWidthAndKeepsWholeCodePoints) {
  const std::string text = "µs of × and …, then plain";
  for (size_t width = 0; width < 40; ++width)
    for (bool unicode : {false, true}) {
      const std::string fitted = fit(text, width, unicode);
      EXPECT_LE(display_width(fitted), width);
      if (width >= display_width(text)) {
        EXPECT_EQ(fitted, text);
      } else if (width > 0) {
        const std::string ellipsis = unicode ? "…" : "~";
        EXPECT_EQ(display_width(fitted), width);
        EXPECT_TRUE(fitted.ends_with(ellipsis));
        EXPECT_TRUE(text.starts_with(fitted.substr(0, fitted.size() - ellipsis.size())));
      }
    }
}

TEST(Text, PaddingReachesTheWidth) {
  EXPECT_EQ(pad_left("×", 3), "  ×");
  EXPECT_EQ(pad_right("×", 3), "×  ");
  EXPECT_EQ(pad_left("long", 2), "long");
}

TEST(Text, SplitDropsBlanksAndEmptyParts) {
  EXPECT_EQ(split(" a, b ,,c d,", ','), (std::vector<std::string>{"a", "b", "c d"}));
  EXPECT_EQ(split("", ','), std::vector<std::string>());
}

TEST(Text, NearNamesAreRankedAndLimited) {
  const std::vector<std::string> known = {"native", "openblas", "onednn", "reference"};
  EXPECT_EQ(near_names("openbals", known), std::vector<std::string>{"openblas"});
  EXPECT_EQ(near_names("nativ", known), std::vector<std::string>{"native"});
  EXPECT_EQ(near_names("cuda", known), std::vector<std::string>());
  EXPECT_EQ(near_names("aa", {"ab", "ac", "aa", "ad"}), (std::vector<std::string>{"aa", "ab", "ac"}));
}

TEST(Text, ColourOnlyWhenAsked) {
  EXPECT_EQ(tinted("x", Tint::red, false), "x");
  EXPECT_EQ(tinted("x", Tint::none, true), "x");
  EXPECT_EQ(tinted("x", Tint::red, true), "\x1b[31mx\x1b[0m");
}

TEST(Units, DigitsAreThreeSignificantOnesAtEveryMagnitude) {
  for (double value = 1.0; value < 1e3; value *= 1.0371) {
    const std::string text = format_digits(value);
    EXPECT_NEAR(std::stod(text), value, value * 0.005001) << text;
    EXPECT_EQ(std::count_if(text.begin(), text.end(), isdigit), 3) << text;
  }
  EXPECT_EQ(format_digits(9.996), "10.0");
  EXPECT_EQ(format_digits(99.96), "100");
  EXPECT_EQ(format_digits(0.9996), "1.00");
  EXPECT_EQ(format_digits(123456), "123456");
  EXPECT_EQ(format_digits(0), "0.00");
}

TEST(Units, TimesChangeUnitWhereTheirDigitsDo) {
  EXPECT_EQ(format_time(0.0811), "81.1 ns");
  EXPECT_EQ(format_time(0.9994), "999 ns");
  EXPECT_EQ(format_time(0.9996), "1.00 us");
  EXPECT_EQ(format_time(999.4), "999 us");
  EXPECT_EQ(format_time(999.6), "1.00 ms");
  EXPECT_EQ(format_time(3412), "3.41 ms");
  EXPECT_EQ(format_time(999.6e3), "1.00 s");
  EXPECT_EQ(format_seconds(0.02), "0.02 s");
  EXPECT_EQ(format_seconds(5.24), "5.2 s");
  EXPECT_EQ(format_seconds(41.2), "41 s");
  EXPECT_EQ(format_seconds(59.6), "1 m 00 s");
  EXPECT_EQ(format_seconds(125), "2 m 05 s");
}

TEST(Units, OtherForms) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(12.6e6), "12.6 MB");
  EXPECT_EQ(format_fraction(0.004), "0.4%");
  EXPECT_EQ(format_fraction(0.94), "94%");
  EXPECT_EQ(format_margin(0.032), "+3.2%");
  EXPECT_EQ(format_margin(0.35), "+35%");
  EXPECT_EQ(format_margin(-0.004), "-0.4%");
  EXPECT_EQ(format_margin(3.1), "4.10x");
  EXPECT_EQ(format_error(0.0031), "3e-03");
  EXPECT_EQ(format_error(0), "0");
  EXPECT_EQ(format_interval({3412, 3390, 3440, 25}), "3.41 ms (3.39 ms to 3.44 ms, 25 samples)");
  EXPECT_EQ(plural(1, "problem"), "1 problem");
  EXPECT_EQ(plural(0, "problem"), "0 problems");
}

TEST(Units, ShapeLabelNamesTypesOnlyAsFarAsTheyDiffer) {
  GemmProblem problem = make_problem(1, 4096, 1024, DataType::bf16);
  EXPECT_EQ(shape_label(problem), "1x4096x1024 bf16");
  problem.d.type = DataType::f32;
  EXPECT_EQ(shape_label(problem), "1x4096x1024 bf16->f32");
  problem.a.type = DataType::f32;
  problem.batch = 2;
  EXPECT_EQ(shape_label(problem), "2x1x4096x1024 f32*bf16->f32");
}

TEST(Units, DurationsParse) {
  EXPECT_DOUBLE_EQ(parse_duration("--budget", "500ms").value(), 0.5);
  EXPECT_DOUBLE_EQ(parse_duration("--budget", "10s").value(), 10);
  EXPECT_DOUBLE_EQ(parse_duration("--budget", "1.5m").value(), 90);
  for (const char* text : {"10x", "10", "", "s", "1h", "10 s", "-", "inf", "nans", "10s10s"})
    EXPECT_EQ(parse_duration("--budget", text).error().text(),
              "--budget: " + std::string(text) + (*text ? " " : "") + "is not a duration; try 500ms, 10s, 2m");
  for (const char* text : {"0s", "-1s"})
    EXPECT_EQ(parse_duration("--budget", text).error().text(),
              "--budget: " + std::string(text) + " is not more than no time; try 500ms, 10s, 2m");
}

TEST(Units, CountsParse) {
  EXPECT_EQ(parse_counts("--tokens", "1, 128").value(), (std::vector<int64_t>{1, 128}));
  for (const char* text : {"0", "-1", "x", "1x", "99999999999999999999"})
    EXPECT_EQ(parse_counts("--tokens", text).error().text(),
              "--tokens: " + std::string(text) + " is not a whole number of at least 1; try --tokens 1,128");
  EXPECT_EQ(parse_counts("--tokens", ",").error().text(),
            "--tokens: an empty list names no number; try --tokens 1,128");
}

}  // namespace
}  // namespace gemmsmith::cli
