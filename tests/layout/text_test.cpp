// What is printed parses back; what does not parse says where and why.
#include "gemmsmith/layout_text.h"

#include <gtest/gtest.h>

#include <random>

namespace gemmsmith {
namespace {

TEST(Text, PrintedLayoutsParseBack) {
  for (const char* text :
       {"8:1", "(8):(1)", "():()", "((2,4),8):((1,2),16)", "(4,8):(8,1) o Sw<3,4,3>", "(m,4*k*n):(4*k*n,1)",
        "(2,3):(1@0,3@1@0)", "(4,5):(1,4) o 2 o (2,3):(1,2)", "(6,2):(1,3) o (2,1) o (2,3):(1@1,2@0)", "(4,2):(-1,4)",
        "Sw<2,1,2> o 4 o (8,32):(1,8)", "(4,(2,(3,1))):(1,(4,(8,0)))", "(4,ceil(m/(2*n))):(1,4)", "((m+n),4):(4,1)",
        "2*(m+n)*floor(k/(m+n)):mod(m,max(n,min(8,k)))@1"}) {
    const auto layout = parse_layout(text);
    ASSERT_TRUE(layout.ok()) << layout.error().text();
    EXPECT_EQ(print(*layout), text);
    EXPECT_EQ(*parse_layout(print(*layout)), *layout);
  }
  EXPECT_EQ(print(*parse_layout(" ( 2, 4 ,) : (1 , 2,) ")), "(2,4):(1,2)");
  EXPECT_EQ(print(*parse_layout("S<3,4,3> o 0 o (5,4):(4,1)")), "(5,4):(4,1) o Sw<3,4,3>");
  EXPECT_EQ(print(*parse_layout("Sw<3,4,3> o (5,4):(4,1)")), "(5,4):(4,1) o Sw<3,4,3>");
}

TEST(Text, ErrorsSayWhere) {
  const auto error = [](const char* text) {
    const auto layout = parse_layout(text);
    return layout.ok() ? print(*layout) : layout.error().text();
  };
  EXPECT_EQ(error(""), "layout, column 1: misses a number; ((2,4),8):((1,2),16)");
  EXPECT_EQ(error("(4,8)"), "layout, column 6: (4,8) misses : and strides; ((2,4),8):((1,2),16)");
  EXPECT_EQ(error("(4,8):(1)"),
            "layout, column 7: (4,8):(1) has strides that are not nested like the shape; a stride for each extent");
  EXPECT_EQ(error("(4 8):(1,4)"), "layout, column 4: (4 8):(1,4) misses , or ); (4,(2,8))");
  EXPECT_EQ(error("4:1 x"), "layout, column 5: 4:1 x has x where it should end");
  EXPECT_EQ(error("4:1 o Sw<3,4>"), "layout, column 13: 4:1 o Sw<3,4> misses a number of the swizzle; Sw<3,4,3>");
  EXPECT_EQ(error("4:1 o Sw<3,4,2>"),
            "layout, column 16: 4:1 o Sw<3,4,2> has a swizzle whose bits overlap or lie beyond 62; a shift of at least "
            "as many bits");
  EXPECT_EQ(error("4:1@99"), "layout, column 7: 4:1@99 has a basis of 99; 0 to 63");
  const std::string deep(100, '(');
  EXPECT_EQ(error(deep.c_str()), "layout, column 66: " + deep + " is nested deeper than 64");
}

// Anything may be asked to parse: it does, or says why.
TEST(Text, SurvivesNoise) {
  std::mt19937_64 random(3);
  const std::string letters = "((()))::,,,1248mn*@oSw<> -_";
  int parsed = 0;
  for (int trial = 0; trial < 50'000; ++trial) {
    std::string text = trial % 2 ? "(4,(2,8)):(1,(4,8)) o Sw<2,4,3>" : "";
    for (int i = 0; i < 1 + trial % 20; ++i)
      text.insert(text.empty() ? 0 : random() % text.size(), 1, letters[random() % letters.size()]);
    const auto layout = parse_layout(text);
    if (!layout.ok()) continue;
    ++parsed;
    EXPECT_EQ(print(*parse_layout(print(*layout))), print(*layout)) << text;
  }
  EXPECT_GT(parsed, 100);
}

TEST(Text, Tilers) {
  const auto a = parse_mode("(8,32):(1,8)").value();
  EXPECT_EQ(print(*zipped_divide(a, *parse_tiler("<4:1,16:2>"))), "((4,16),(2,2)):((1,16),(4,8))");
  EXPECT_EQ(print(*zipped_divide(a, *parse_tiler("(4,2)"))), "((4,2),(2,16)):((1,8),(4,16))");
  EXPECT_EQ(print(*zipped_divide(a, *parse_tiler("<4,2>"))), "((4,2),(2,16)):((1,8),(4,16))");
  EXPECT_EQ(print(*zipped_divide(a, *parse_tiler("64:1"))), "(64,4):(1,64)");
  EXPECT_FALSE(parse_tiler("<4:1,16:2").ok());
}

}  // namespace
}  // namespace gemmsmith
