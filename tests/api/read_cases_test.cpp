#include <gtest/gtest.h>

#include "gemmsmith/cases.h"

namespace gemmsmith {
namespace {

std::string error_of(const std::string& text) {
  const auto cases = read_cases(text, "edge.cases");
  return cases.ok() ? "ok" : cases.error().text();
}

TEST(ReadCases, lists_multiply_out_in_order) {
  const auto cases = read_cases(
      "# edges\n\nm={1,2} n=3 k={4,5} dtype=f32  # four\n8x8x8 epilogue={acc,clamp(acc, 0, 6)}\n", "edge.cases");
  ASSERT_TRUE(cases.ok()) << cases.error().text();
  ASSERT_EQ(cases->size(), 6u);
  EXPECT_EQ((*cases)[0].problem.m, 1);
  EXPECT_EQ((*cases)[0].problem.k, 4);
  EXPECT_EQ((*cases)[1].problem.k, 5);
  EXPECT_EQ((*cases)[2].problem.m, 2);
  EXPECT_EQ((*cases)[3].line, 3);
  EXPECT_EQ((*cases)[4].problem.epilogue.print(), "acc");
  EXPECT_EQ((*cases)[5].problem.epilogue.print(), "clamp(acc, 0, 6)");
  EXPECT_EQ((*cases)[5].line, 4);
}

TEST(ReadCases, sources_hold_for_what_follows) {
  const auto cases = read_cases("1x1x1\nsources=native, reference\n1x1x1\nsources=\n1x1x1\n", "edge.cases");
  ASSERT_TRUE(cases.ok()) << cases.error().text();
  EXPECT_TRUE((*cases)[0].sources.empty());
  EXPECT_EQ((*cases)[1].sources, (std::vector<std::string>{"native", "reference"}));
  EXPECT_TRUE((*cases)[2].sources.empty());
}

TEST(ReadCases, errors_name_file_and_line) {
  EXPECT_EQ(error_of("1x1x1\nm={1,2 n=1 k=1"), "edge.cases:2: \"{\" has no \"}\" after it; lists look like m={1,2,3}");
  EXPECT_EQ(error_of("m=1} n=1"), "edge.cases:1: \"}\" has no \"{\" before it; lists look like m={1,2,3}");
  EXPECT_EQ(error_of("m={1,{2,3}} n=1"),
            "edge.cases:1: \"{1,{2,3}\" has a list inside a list; lists look like m={1,2,3}");
  const std::string unknown = error_of("m=1 n=1 k=1 dtpe=f32");
  EXPECT_TRUE(unknown.starts_with("edge.cases:1: ")) << unknown;
  EXPECT_TRUE(unknown.ends_with("in \"m=1 n=1 k=1 dtpe=f32\"")) << unknown;
}

TEST(ReadCases, a_line_has_a_limit) {
  std::string list = "{0";
  for (int i = 1; i < 400; ++i) list += "," + std::to_string(i);
  list += "}";
  EXPECT_EQ(error_of("m=" + list + " n=" + list + " k=1").substr(0, 15), "edge.cases:1: 1");
  const std::string long_text(400'000, '1');
  for (const std::string& line : {"m=" + list + " n=1 k=" + long_text, long_text + "=" + list})
    EXPECT_EQ(error_of(line),
              "edge.cases:1: its cases take more than 64000000 bytes, the limit for one line; shorten its lists");
}

}  // namespace
}  // namespace gemmsmith
