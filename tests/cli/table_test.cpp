#include "output/table.h"

#include <gtest/gtest.h>

namespace gemmsmith::cli {
namespace {

Table sample() {
  Table table({{.title = "problem", .right = false, .min_width = 10},
               {.title = "winner", .right = false, .min_width = 8},
               {.title = "time"},
               {.title = "rate", .drop_order = 1},
               {.title = "error", .drop_order = 2}});
  table.add({"qkv 1x4096x1024 bf16", "native gemv rows=4", "80.1 us", "105", "3e-03"});
  table.add({"o 1x1024x2048", "openblas", "7.10 us"});
  return table;
}

TEST(Table, AlignsAndFillsShortRows) {
  EXPECT_EQ(sample().print({.width = 120}),
            "problem               winner                 time rate error\n"
            "qkv 1x4096x1024 bf16  native gemv rows=4  80.1 us  105 3e-03\n"
            "o 1x1024x2048         openblas            7.10 us\n");
}

TEST(Table, CutsTheWidestColumnFirst) {
  EXPECT_EQ(sample().print({.width = 56}),
            "problem            winner                time rate error\n"
            "qkv 1x4096x1024 ~  native gemv rows~  80.1 us  105 3e-03\n"
            "o 1x1024x2048      openblas           7.10 us\n");
}

TEST(Table, DropsColumnsInTheirOrderWhenCuttingIsNotEnough) {
  const std::string narrow = sample().print({.width = 38});
  EXPECT_EQ(narrow.find("error"), std::string::npos);
  EXPECT_NE(narrow.find("rate"), std::string::npos);
  const std::string narrower = sample().print({.width = 30});
  EXPECT_EQ(narrower.find("rate"), std::string::npos);
  EXPECT_NE(narrower.find("time"), std::string::npos);
}

TEST(Table, FitsEveryWidthThatItCanFit) {
  const size_t least = 10 + 2 + 8 + 2 + 7;  // the columns that stay, at their narrowest
  for (size_t width = least; width < 130; ++width)
    for (bool unicode : {false, true}) {
      const std::string text = sample().print({.width = width, .unicode = unicode});
      for (const std::string& line : split(text, '\n')) EXPECT_LE(display_width(line), width) << text;
    }
}

TEST(Table, TintsWholeLines) {
  Table table({{.title = "a"}});
  table.add({"1"}, Tint::red);
  EXPECT_EQ(table.print({.width = 80, .colour = true}), "\x1b[1ma\x1b[0m\n\x1b[31m1\x1b[0m\n");
}

}  // namespace
}  // namespace gemmsmith::cli
