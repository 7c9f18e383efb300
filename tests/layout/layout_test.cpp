// Laws of layouts at every coordinate, over seeded random ones.
#include "gemmsmith/layout.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "gemmsmith/layout_text.h"

namespace gemmsmith {
namespace {

std::vector<Leaf> random_leaves(std::mt19937& random, size_t count) {
  std::vector<Leaf> leaves;
  for (size_t i = 0; i < count; ++i) leaves.push_back({int64_t(1 + random() % 6), int64_t(random() % 9) * 4});
  return leaves;
}
Mode random_mode(std::mt19937& random, size_t leaves) { return Mode::tuple(random_leaves(random, leaves)); }
std::vector<int64_t> divisors(int64_t n) {
  std::vector<int64_t> out;
  for (int64_t d = 1; d <= n; ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

TEST(Layout, OffsetIsTheSumOfItsLeaves) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<Leaf> leaves = random_leaves(random, 1 + trial % 4);
    const Mode mode = Mode::tuple(leaves);
    for (int64_t i = 0; i < size(mode) + 5; ++i) {
      int64_t rest = i, expected = 0;
      for (size_t l = 0; l < leaves.size(); ++l) {
        const int64_t digit = l + 1 < leaves.size() ? rest % leaves[l].extent : rest;
        expected += digit * leaves[l].stride;
        rest /= leaves[l].extent;
      }
      ASSERT_EQ(offset(mode, i), expected);
    }
  }
}

TEST(Layout, CoalesceIsTheSameFunctionWithNoMoreLeaves) {
  std::mt19937 random(2);
  int fewer = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<Leaf> leaves = random_leaves(random, 1 + trial % 4);
    for (size_t l = 1; l < leaves.size(); ++l)
      if (random() % 2) leaves[l].stride = leaves[l - 1].extent * leaves[l - 1].stride;  // goes on where the last ended
    const Mode mode = Mode::tuple(leaves);
    const Mode simple = coalesce(mode);
    ASSERT_LE(simple.size(), mode.size());
    ASSERT_EQ(size(simple), size(mode));
    ASSERT_EQ(coalesce(simple), simple);
    fewer += simple.size() < mode.size();
    for (int64_t i = 0; i < size(mode); ++i)
      ASSERT_EQ(offset(simple, i), offset(mode, i)) << print(symbolic(mode)) << " " << print(symbolic(simple));
  }
  EXPECT_GT(fewer, 100);
}

TEST(Layout, DivideSplitsEveryIndex) {
  std::mt19937 random(3);
  int divided = 0, refused = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Mode mode = random_mode(random, 1 + trial % 3);
    for (int64_t n = 1; n <= size(mode); ++n) {
      const auto parts = divide(mode, n);
      if (!parts.ok()) {
        ++refused;
        continue;
      }
      ++divided;
      ASSERT_EQ(size(parts->tile), n);
      ASSERT_EQ(size(parts->tiles), (size(mode) + n - 1) / n);
      for (int64_t i = 0; i < size(mode); ++i)
        ASSERT_EQ(offset(mode, i), offset(parts->tile, i % n) + offset(parts->tiles, i / n))
            << print(symbolic(mode)) << " by " << n;
    }
  }
  EXPECT_GT(divided, 300);
  EXPECT_GT(refused, 300);
}

// Tiles that go through whole leaves, or divide the leaf in which they end, are never refused.
TEST(Layout, DivideTakesEveryTileThatFitsTheLeaves) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 200; ++trial) {
    const Mode mode = random_mode(random, 3);
    int64_t inner = 1;
    for (const Leaf& leaf : mode.leaves()) {
      for (int64_t d : divisors(leaf.extent)) ASSERT_TRUE(divide(mode, inner * d).ok());
      inner *= leaf.extent;
    }
  }
}

TEST(Layout, DivideSaysWhatItCannot) {
  const Mode mode{{16, 4}, {3, 256}};
  EXPECT_EQ(divide(mode, 24).error().text(),
            "divide: a tile of 24 does not divide the inner leaf of the mode, which has 16 elements; a divisor or a "
            "multiple of 16");
  EXPECT_EQ(divide(mode, 0).error().text(), "divide: a tile of 0 is not positive");
  EXPECT_EQ(divide(Mode{}, 2).error().text(), "divide: a tile of 2 does not divide a mode without leaves; a tile of 1");
}

// A tile in memory: every element has a place of its own, and span_bytes() is what they take.
void expect_injective(const Layout& layout) {
  ASSERT_TRUE(validate(layout).ok());
  std::set<int64_t> used;
  for (int64_t r = 0; r < layout.extent(0); ++r)
    for (int64_t c = 0; c < layout.extent(1); ++c) {
      const int64_t byte = byte_of(layout, {r, c});
      ASSERT_TRUE(used.insert(byte).second) << print(layout) << " at " << r << "," << c;
      ASSERT_TRUE(byte >= 0 && byte + layout.element_bytes <= span_bytes(layout) && byte % layout.element_bytes == 0);
    }
  ASSERT_EQ(int64_t(used.size()), elements(layout));
}

TEST(Layout, TilesAreInjective) {
  for (int bytes : {1, 2, 4}) {
    for (int64_t rows : {8, 64, 100})
      for (int64_t columns : {8, 16, 32, 64, 128})
        for (int max : {16, 32, 64, 128})
          for (Major major : {Major::row, Major::column}) {
            const Layout tile = swizzled_tile(rows, columns, bytes, major, max);
            expect_injective(tile);
            ASSERT_EQ(tile.extent(0), rows);
            ASSERT_EQ(tile.extent(1), columns);
          }
    expect_injective(padded_tile(7, 9, bytes, 4 * bytes));
    for (int64_t panel : {1, 6, 16})
      for (int group : {1, 2, 4}) {
        const Layout layout = panels(2 * panel + 1, 24, panel, bytes, group);
        expect_injective(layout);
        ASSERT_EQ(layout.extent(0), 3 * panel);         // rounded up to whole panels
        for (int64_t r = 0; r < layout.extent(0); ++r)  // the columns of a group lie side by side
          for (int64_t c = 0; c < 24; ++c)
            ASSERT_EQ(layout.linear({r, c}), layout.linear({r, c - c % group}) + c % group * bytes);
      }
  }
}

// A swizzle spreads the 16-byte units of one column over the banks: 8 rows of 128 bytes touch all 8.
TEST(Layout, SwizzlesSpreadColumns) {
  for (Major major : {Major::row, Major::column}) {
    const Layout tile = swizzled_tile(64, 64, 2, major);
    ASSERT_EQ(tile.swizzle.width_bytes(), 128);
    std::set<int64_t> units;
    for (int64_t i = 0; i < 8; ++i)
      units.insert(byte_of(tile, major == Major::row ? std::vector<int64_t>{i, 0} : std::vector<int64_t>{0, i}) % 128 /
                   16);
    EXPECT_EQ(units.size(), 8u);
  }
  EXPECT_EQ(swizzled_tile(64, 24, 2).swizzle.bits, 0);  // 48 bytes: a multiple of 16 only
}

TEST(Layout, Prints) {
  EXPECT_EQ(print(swizzled_tile(128, 128, 2)), "((128),(64,2)):((128),(2,16384)) o Sw<3,4,3>");
  EXPECT_EQ(print(panels(28, 384, 14, 4)), "((14,2),(384)):((4,21504),(56))");
  EXPECT_EQ(print(panels(32, 8, 16, 2, 2)), "((16,2),(2,4)):((4,256),(2,64))");
  EXPECT_EQ(print(padded_tile(2, 3, 4, 4)), "((2),(3)):((16),(4))");
  EXPECT_EQ(print(Layout{}), "():()");
}

TEST(Layout, ValidateRefusesWhatCannotBeAddressed) {
  const auto text = [](const Layout& l) {
    const auto status = validate(l);
    return status.ok() ? "valid" : status.error().text();
  };
  EXPECT_EQ(text(padded_tile(3, 4, 4)), "valid");
  EXPECT_EQ(text(Layout{{{{4, 4}}}, {}, 0}), "layout: ((4)):((4)) has elements of 0 bytes; 1 or more");
  EXPECT_EQ(text(Layout{{{{4, 4}}}, {4}, 4}),
            "layout: ((4)):((4)) o Sw<4,4,3> has a swizzle of 4 bits; 0 to 3: 16, 32, 64 or 128 bytes");
  EXPECT_EQ(text(Layout{{{}}, {}, 4}), "layout: (()):(()) has a mode without leaves; a leaf 1:0");
  EXPECT_EQ(text(Layout{{{{-1, 4}}}, {}, 4}), "layout: ((-1)):((4)) has an extent of -1; 1 or more");
  EXPECT_EQ(text(Layout{{{{2, -4}}}, {}, 4}), "layout: ((2)):((-4)) has a stride of -4; 0 or more");
  EXPECT_EQ(text(Layout{{{{64, 4}}}, {2, 3, 3}, 4}),
            "layout: ((64)):((4)) o Sw<2,3,3> has a swizzle that moves units of other than 16 bytes by other than 128; "
            "Sw<1..3,4,3>");
  EXPECT_EQ(
      text(Layout{{{{64, 4}}}, {}, 4, 2}),
      "layout: Sw<0,4,3> o 2 o ((64)):((4)) is composed with another layout or starts elsewhere; composition() of "
      "the two, or a moved pointer");
  const int64_t big = int64_t(1) << 40;
  EXPECT_EQ(text(Layout{{{{big, 0}}, {{big, 0}}}, {}, 4}),
            "layout: ((1099511627776),(1099511627776)):((0),(0)) has more than 2^63 elements");
  EXPECT_EQ(text(Layout{{{{big, big}}}, {}, 4}),
            "layout: ((1099511627776)):((1099511627776)) spans more than 2^63 bytes");
}

}  // namespace
}  // namespace gemmsmith
