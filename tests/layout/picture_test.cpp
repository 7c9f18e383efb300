// Tables and JSON as a whole; of SVG and LaTeX that every element has its cell, and that the files are well formed.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "gemmsmith/layout_text.h"

namespace gemmsmith {
namespace {

SymbolicLayout layout(const char* text) {
  const auto parsed = parse_layout(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}
std::string text(const Result<std::string>& result) { return result.ok() ? *result : result.error().text(); }

size_t occurrences(const std::string& in, const std::string& of) {
  size_t n = 0;
  for (size_t at = in.find(of); at != std::string::npos; at = in.find(of, at + 1)) ++n;
  return n;
}

// Tags open and close in order, attributes are quoted, text is escaped.
bool well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at)) {
    const size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos || occurrences(tag, "\"") % 2 != 0) return false;
    const std::string name = tag.substr(0, tag.find(' '));
    if (name.starts_with('/')) {
      if (open.empty() || open.back() != name.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty();
}

// The text of each cell with its colour.
std::map<std::string, char> cells_of(const std::string& picture) {
  std::map<std::string, char> cells;
  std::istringstream lines(picture);
  std::string line;
  char colour = 0;
  while (std::getline(lines, line)) {
    if (line.starts_with("<path class=\"")) colour = line[std::string_view("<path class=\"c").size()];
    if (!line.starts_with("<text x=")) continue;
    const size_t begin = line.find('>') + 1;
    cells[line.substr(begin, line.find('<', begin) - begin)] = colour;
  }
  return cells;
}

TEST(Pictures, Tables) {
  EXPECT_EQ(text(table(layout("(2,3):(3,1)"))), "    0 1 2\n  +------\n0 | 0 1 2\n1 | 3 4 5\n");
  EXPECT_EQ(text(table(layout("4:2"))), "    0 1 2 3\n  +--------\n0 | 0 2 4 6\n");
  EXPECT_EQ(text(table(layout("(2,2):(1@0,1@1)"))),
            "        0     1\n  +------------\n0 | (0,0) (0,1)\n1 | (1,0) (1,1)\n");
  EXPECT_EQ(text(table(layout("(2,8):(8,1) o Sw<1,2,1>"))),
            "     0  1  2  3  4  5  6  7\n  +------------------------\n0 |  0  1  2  3  4  5  6  7\n1 | 12 13 14 15  8 "
            " 9 10 11\n");
  EXPECT_EQ(text(thread_value_table(layout("(2,2):(2,1)"), *parse_shape("(2,2)"))),
            "       0    1\n  +----------\n0 | T0V0 T1V0\n1 | T0V1 T1V1\n");
  EXPECT_EQ(text(thread_value_table(layout("(2,1):(0,0)"), *parse_shape("(1,2)"))),
            "        0     1\n  +------------\n0 | T0+V0     .\n");
}

TEST(Pictures, EveryElementHasItsCell) {
  const SymbolicLayout swizzled = layout("(8,64):(128,2) o Sw<3,4,3>");
  const std::string picture = text(svg(swizzled)), document = text(latex(swizzled));
  EXPECT_TRUE(well_formed(picture));
  EXPECT_EQ(occurrences(picture, "<path "), 512u);
  EXPECT_EQ(occurrences(document, "\\filldraw"), 512u);
  const std::map<std::string, char> cells = cells_of(picture);
  ASSERT_EQ(cells.size(), 512u);
  for (int64_t offset = 0; offset < 1024; offset += 2) EXPECT_TRUE(cells.contains(std::to_string(offset))) << offset;
  // The eight rows of one column of 16-byte units lie in eight banks: eight colours.
  std::set<char> colours;
  for (int64_t row = 0; row < 8; ++row)
    colours.insert(cells.at(print(*evaluate(swizzled, Coordinate{Coordinate(row), Coordinate(0)}))));
  EXPECT_EQ(colours.size(), 8u);

  const std::string fragment = text(thread_value_svg(layout("((4,8),2):((16,1),8)"), *parse_shape("(8,8)")));
  EXPECT_TRUE(well_formed(fragment));
  EXPECT_EQ(occurrences(fragment, "<path class=\"n\""), 0u);
  for (int thread = 0; thread < 32; ++thread)
    EXPECT_EQ(occurrences(fragment, ">T" + std::to_string(thread) + "</text>"), 2u) << thread;
  const std::string tikz = text(thread_value_latex(layout("((4,8),2):((16,1),8)"), *parse_shape("(8,8)")));
  EXPECT_EQ(occurrences(tikz, "T31\\\\V1"), 1u);
  EXPECT_EQ(occurrences(tikz, "\\begin"), occurrences(tikz, "\\end"));
}

TEST(Pictures, SayWhatCannotBeDrawn) {
  EXPECT_EQ(text(svg(layout("(2,2,2):(1,2,4)"))),
            "picture: (2,2,2):(1,2,4) has 3 modes; one or two: group() the others");
  EXPECT_EQ(text(svg(layout("(m,2):(1,m)"))),
            "picture: (m,2):(1,m) has a size that is not known; numbers for its symbols");
  EXPECT_EQ(text(svg(layout("(128,64):(64,1)"))), "picture: (128,64):(64,1) has 128 x 64 cells; at most 4096");
  EXPECT_EQ(
      text(thread_value_svg(layout("(2,4):(4,1)"), *parse_shape("(2,2)"))),
      "picture: (2,4):(4,1) of (2,2) gives value 0 of thread 1 the element 4, outside of the tile; a tile of more than "
      "4 elements");
}

TEST(Pictures, Json) {
  EXPECT_EQ(to_json(layout("(2,(m,1)):(1,(2@1,0))")),
            "{\n  \"layout\": \"(2,(m,1)):(1,(2@1,0))\",\n  \"rank\": 2,\n  \"shape\": [2, [\"m\", 1]],\n"
            "  \"stride\": [1, [\"2@1\", 0]],\n  \"size\": \"2*m\",\n  \"cosize\": \"(1+2*(-1+m))\"\n}");
  EXPECT_EQ(
      to_json(layout("(2,2):(2,1)")),
      "{\n  \"layout\": \"(2,2):(2,1)\",\n  \"rank\": 2,\n  \"shape\": [2, 2],\n  \"stride\": [2, 1],\n  \"size\": 4,\n"
      "  \"cosize\": 4,\n  \"offsets\": [0, 2, 1, 3]\n}");
}

}  // namespace
}  // namespace gemmsmith
