// The operations of `gemmsmith layout`: each flag, their order, their errors.
#include "output/layout_steps.h"

#include <gtest/gtest.h>

#include <map>

namespace gemmsmith::cli {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

std::string apply(const std::string& text, const Flags& flags) {
  std::vector<ChosenStep> chosen;
  for (const auto& [flag, argument] : flags)
    for (const LayoutStep& step : layout_steps())
      if (flag == step.flag) chosen.push_back({&step, argument});
  EXPECT_EQ(chosen.size(), flags.size());
  const auto layout = apply_steps(text, chosen);
  return layout.ok() ? print(*layout) : layout.error().text();
}

TEST(LayoutSteps, EveryFlagDoesWhatItSays) {
  const struct {
    const char *flag, *layout, *argument, *expected;
  } cases[] = {
      {"--coalesce", "(2,(1,6)):(1,(6,2))", "", "12:1"},
      {"--flatten", "((2,2),4):((1,2),4)", "", "(2,2,4):(1,2,4)"},
      {"--filter", "(2,3,4):(1,0,2)", "", "8:1"},
      {"--nullspace", "(2,3,4):(1,0,2)", "", "3:2"},
      {"--right-inverse", "(8,4):(4,1)", "", "(4,8):(8,1)"},
      {"--left-inverse", "(4,2):(1,16)", "", "(16,2):(1,4)"},
      {"--compose", "(8,8):(8,1)", "(4,2):(2,1)", "(4,2):(16,8)"},
      {"--compose", "(8,8):(8,1)", "<4:2,2:4>", "(4,2):(16,4)"},
      {"--complement", "4:2", "16", "(2,2):(1,8)"},
      {"--divide", "(6,8):(8,1)", "(3,4)", "((3,2),(4,2)):((8,24),(1,4))"},
      {"--zipped-divide", "(6,8):(8,1)", "(3,4)", "((3,4),(2,2)):((8,1),(24,4))"},
      {"--tiled-divide", "(6,8):(8,1)", "(3,4)", "((3,4),2,2):((8,1),24,4)"},
      {"--flat-divide", "(6,8):(8,1)", "(3,4)", "(3,4,2,2):(8,1,24,4)"},
      {"--product", "(2,2):(1,2)", "(3,3):(3,1)", "((2,2),(3,3)):((1,2),(12,4))"},
      {"--tiled-product", "(2,2):(1,2)", "(3,3):(3,1)", "((2,2),3,3):((1,2),12,4)"},
      {"--flat-product", "(2,2):(1,2)", "(3,3):(3,1)", "(2,2,3,3):(1,2,12,4)"},
      {"--blocked-product", "(2,2):(1,2)", "(3,3):(3,1)", "((2,3),(2,3)):((1,12),(2,4))"},
      {"--raked-product", "(2,2):(1,2)", "(3,3):(3,1)", "((3,2),(3,2)):((12,1),(4,2))"},
      {"--max-common", "(4,2):(1,4)", "(4,2):(1,8)", "4:1"},
      {"--tile-to-shape", "(3,2):(1,3)", "(6,8)", "((3,2),(2,4)):((1,6),(3,12))"},
      {"--group", "(4,5,6):(1,4,20)", "1,3", "(4,(5,6)):(1,(4,20))"},
      {"--recast", "(4,8):(8,1) o Sw<3,4,3>", "8,32", "(4,2):(2,1) o Sw<3,2,3>"},
      {"--slice", "(4,8):(8,1)", "(_,3)", "Sw<0,4,3> o 3 o 4:8"},
  };
  std::map<std::string, int> tried;
  for (const auto& c : cases) {
    EXPECT_EQ(apply(c.layout, {{c.flag, c.argument}}), c.expected) << c.flag;
    ++tried[c.flag];
  }
  for (const LayoutStep& step : layout_steps()) EXPECT_GE(tried[step.flag], 1) << step.flag;
}

TEST(LayoutSteps, AreAppliedInOrder) {
  EXPECT_EQ(apply("(4,8):(1,4)", {{"--zipped-divide", "(2,2)"}, {"--coalesce", ""}}), "(2,2,2,4):(1,4,2,8)");
  EXPECT_EQ(apply("(4,8):(1,4)", {{"--coalesce", ""}, {"--zipped-divide", "4"}}), "(4,8):(1,4)");
  EXPECT_EQ(apply("(4,8):(1,4)", {}), "(4,8):(1,4)");
}

TEST(LayoutSteps, ErrorsNameTheFlag) {
  EXPECT_EQ(apply("(4,8):(1,4)", {{"--group", "1,4"}}),
            "group: modes 1 to 4 are not in (4,8):(1,4); a range within 0 to 2\n  while applying --group");
  EXPECT_EQ(apply("(4,8):(1,4)", {{"--recast", "8"}}),
            "numbers: 8 are not two numbers; 1,3\n  while applying --recast");
  EXPECT_EQ(apply("(4,8):(1,4)", {{"--compose", "4:"}}),
            "tiler, column 3: 4: misses a number; ((2,4),8):((1,2),16)\n  while applying --compose");
}

TEST(LayoutSteps, Summary) {
  EXPECT_EQ(layout_summary(*parse_layout("((2,4),8):((1,2),16)")), "((2,4),8):((1,2),16)\nsize 64, cosize 120\n");
}

}  // namespace
}  // namespace gemmsmith::cli
