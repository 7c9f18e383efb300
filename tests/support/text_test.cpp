#include "support/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <clocale>
#include <cmath>
#include <limits>

#include "support/random.h"

namespace gemmsmith {
namespace {

TEST(Numbers, EveryDoubleReadsBackAsItself) {
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::bit_cast<double>(random.next());
    if (std::isnan(value)) continue;
    const auto back = parse_number(format_number(value));
    ASSERT_TRUE(back.has_value()) << format_number(value);
    ASSERT_EQ(std::bit_cast<uint64_t>(*back), std::bit_cast<uint64_t>(value)) << format_number(value);
  }
}

TEST(Numbers, AreShortest) {
  EXPECT_EQ(format_number(0.1), "0.1");
  EXPECT_EQ(format_number(3), "3");
  EXPECT_EQ(format_number(-0.0), "-0");
  EXPECT_EQ(format_number(1e30), "1e+30");
  EXPECT_EQ(format_number(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(format_number(-std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Numbers, DoNotDependOnTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  if (!std::setlocale(LC_ALL, "de_DE.UTF-8")) GTEST_SKIP() << "no locale with a decimal comma is installed";
  const std::string text = format_number(1.5), fixed = format_fixed(1.5, 2);
  const auto back = parse_number("2.5");
  std::setlocale(LC_ALL, before.c_str());
  EXPECT_EQ(text, "1.5");
  EXPECT_EQ(fixed, "1.50");
  EXPECT_EQ(back, 2.5);
}

TEST(Numbers, RefuseWhatIsNotWhollyANumber) {
  for (const char* text : {"", " 1", "1 ", "1x", "+1", "1,5", "0x10", "1e", "1e999", "--1", "."})
    EXPECT_FALSE(parse_number(text).has_value()) << text;
  for (const char* text : {"", "1.0", "1e3", "9223372036854775808", " 7", "7 ", "+7"})
    EXPECT_FALSE(parse_integer(text).has_value()) << text;
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<int64_t>::min());
}

TEST(Numbers, GroupTheirDigits) {
  EXPECT_EQ(format_grouped(0), "0");
  EXPECT_EQ(format_grouped(999), "999");
  EXPECT_EQ(format_grouped(-1000), "-1 000");
  EXPECT_EQ(format_grouped(-100), "-100");
  EXPECT_EQ(format_grouped(12582912), "12 582 912");
}

TEST(Shown, EscapesWhatTerminalsWouldObey) {
  EXPECT_EQ(shown("plain, ünïcode 矩阵 🙂"), "plain, ünïcode 矩阵 🙂");
  EXPECT_EQ(shown(std::string_view("a\0\n\t\r\x1b[2J\x7f", 10)), "a\\x00\\n\\t\\r\\x1b[2J\\x7f");
  EXPECT_EQ(shown("\xc2\x9b"
                  "2J"),
            "\\xc2\\x9b2J")
      << "U+009B begins a sequence too";
  // Truncated, overlong, a surrogate, beyond U+10FFFF, a byte that never occurs.
  EXPECT_EQ(shown("\xc3"), "\\xc3");
  EXPECT_EQ(shown("\xc0\xaf \xe0\x80\xaf"), "\\xc0\\xaf \\xe0\\x80\\xaf");
  EXPECT_EQ(shown("\xed\xa0\x80 \xf4\x90\x80\x80 \xff"), "\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xff");
  EXPECT_EQ(in_quotes("a\n"), "\"a\\n\"");
}

TEST(Shown, OfAnyBytesIsPrintableAndStaysAsItIs) {
  Random random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t length = random.below(12); length > 0; --length) text += char(random.below(256));
    const std::string once = shown(text);
    for (const char c : once) ASSERT_TRUE(uint8_t(c) >= 0x20 && c != 0x7f);
    ASSERT_EQ(shown(once), once);
  }
}

TEST(Shown, CutsLongTextsBetweenCharacters) {
  EXPECT_EQ(shown(std::string(9, 'x'), 9), "xxxxxxxxx");
  EXPECT_EQ(shown(std::string(10, 'x'), 9), "xxxxxxxxx... (10 bytes)");
  EXPECT_EQ(shown("ääää", 5), "ää... (8 bytes)");
}

TEST(Concat, TakesTextCharactersAndNumbers) {
  EXPECT_EQ(concat("a", 'b', std::string("c"), 1, int64_t(-2), 0.5, size_t(3), true), "abc1-20.53true");
}

TEST(Split, JoinUndoesIt) {
  for (const char* text : {"", ",", "a", "a,", ",a", "a,b,,c"}) EXPECT_EQ(join(split(text, ','), ","), text);
  EXPECT_EQ(split("a,b,,c", ',').size(), 4u);
  EXPECT_EQ(join(split_words("  a \tb\n c "), "|"), "a|b|c");
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \t "), "");
}

TEST(Names, AreLettersDigitsAndUnderscores) {
  for (const char* name : {"a", "_", "bias_2", "X9"}) EXPECT_TRUE(is_name(name)) << name;
  for (const char* name : {"", "9a", "a-b", "a b", "\xc3\xa4"}) EXPECT_FALSE(is_name(name)) << name;
}

TEST(EditDistance, IsAMetricOnSmallWords) {
  Random random(2);
  const auto word = [&] {
    std::string text;
    for (uint64_t length = random.below(6); length > 0; --length) text += char('a' + random.below(3));
    return text;
  };
  for (int i = 0; i < 5000; ++i) {
    const std::string a = word(), b = word();
    const int distance = edit_distance(a, b);
    ASSERT_EQ(distance, edit_distance(b, a));
    ASSERT_EQ(distance == 0, a == b);
    ASSERT_LE(distance, int(std::max(a.size(), b.size())));
    ASSERT_GE(distance, std::abs(int(a.size()) - int(b.size())));
  }
  EXPECT_EQ(edit_distance("gelu", "glue"), 2);
  EXPECT_EQ(edit_distance("epilouge", "epilogue"), 1);
  EXPECT_EQ(edit_distance("RELU", "relu"), 0);
}

TEST(Suggest, NamesWhatIsNearOrAll) {
  const std::vector<std::string> known = {"native", "openblas", "onednn"};
  EXPECT_EQ(suggest("openblass", known), "did you mean openblas?");
  EXPECT_EQ(suggest("onednm", known), "did you mean onednn?");
  EXPECT_EQ(suggest("cublas_lt", known), "known: native, openblas, onednn");
  EXPECT_EQ(suggest(std::string(100000, 'x'), known), "known: native, openblas, onednn");
  EXPECT_EQ(suggest("x", {}), "");
}

TEST(Duration, ReadsUnits) {
  const std::pair<const char*, double> cases[] = {{"500ms", 0.5}, {"10s", 10}, {"2m", 120}, {"1.5h", 5400}, {"0s", 0}};
  for (const auto& [text, seconds] : cases) EXPECT_DOUBLE_EQ(parse_duration(text, "--budget").value(), seconds) << text;
  EXPECT_DOUBLE_EQ(parse_duration("20us", "x").value(), 20e-6);
}

TEST(Duration, SaysWhatItIsNot) {
  for (const std::string text : {"10x", "", "10", "s", "-1s", "1e3s", "1..2s", "10 s", "nan", "infs"})
    EXPECT_EQ(parse_duration(text, "--budget").error().text(),
              concat("--budget: ", text, text.empty() ? "" : " ", "is not a duration; try 500ms, 10s, 2m"));
}

TEST(Print, ThreeSignificantDigitsWithAUnit) {
  EXPECT_EQ(print_duration(12.34e-6), "12.3 us");
  EXPECT_EQ(print_duration(999.96e-6), "1.00 ms");
  EXPECT_EQ(print_duration(0), "0 ns");
  EXPECT_EQ(print_duration(125), "125 s");
  EXPECT_EQ(print_rate(1.2345e12, "FLOP/s"), "1.23 TFLOP/s");
  EXPECT_EQ(print_rate(812e9, "FLOP/s"), "812 GFLOP/s");
  EXPECT_EQ(print_bytes(12.6e6), "12.6 MB");
  EXPECT_EQ(print_bytes(64), "64.0 B");
}

}  // namespace
}  // namespace gemmsmith
