// Reported faults of other implementations, refusals with their whole texts, overflow.
#include <gtest/gtest.h>

#include "gemmsmith/layout_text.h"

namespace gemmsmith {
namespace {

SymbolicMode mode(const char* text) {
  const auto parsed = parse_mode(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}
template <class T>
std::string text(const Result<T>& result) {
  return result.ok() ? print(*result) : result.error().text();
}
std::vector<int64_t> offsets(const SymbolicMode& m) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < *size(m).constant(); ++i) out.push_back(*evaluate(m, Coordinate(i))->leaf().constant());
  return out;
}

// Y03, NVIDIA/cutlass#2113: a valid composition was rejected.
TEST(Reported, Y03CompositionThroughPartOfALeaf) {
  const auto r = composition(mode("(10,2):(16,4)"), mode("(3,4):(1,5)"));
  EXPECT_EQ(text(r), "(3,(2,2)):(16,(80,4))");
  EXPECT_EQ(offsets(*r), (std::vector<int64_t>{0, 16, 32, 80, 96, 112, 4, 20, 36, 84, 100, 116}));
}

// Y04, NVIDIA/cutlass#2432: the first 30 of 32 rows.
TEST(Reported, Y04FirstRowsOfATile) {
  EXPECT_EQ(text(composition(mode("(32,128):(128,1)"), mode("(30,128):(1,32)"))), "(30,128):(128,1)");
}

// Y05, NVIDIA/cutlass#1353: a left side that coalesces to the identity.
TEST(Reported, Y05CoalescedLeftSide) {
  const auto r = composition(mode("(2,3):(1,2)"), mode("(2,3):(3,1)"));
  EXPECT_EQ(text(r), "(2,3):(3,1)");
  EXPECT_EQ(offsets(*r), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
}

// Y09, ROCm/FlyDSL#46: sizes and strides of 0 and symbols were not looked at. Symbols stand for positive numbers.
TEST(Reported, Y09ComplementOfZerosAndSymbols) {
  EXPECT_EQ(text(complement(mode("4:0"), Shape(24))), "24:1");
  EXPECT_EQ(text(complement(mode("(2,0):(1,2)"))),
            "complement: (2,0):(1,2) has a leaf of extent 0, which has no indices; extents of 1 or more");
  EXPECT_EQ(text(complement(mode("(2,n):(1,d)"))),
            "complement: (2,n):(1,d) steps by d, which is not known to be a multiple of 2; a multiple of 2");
  EXPECT_EQ(text(complement(mode("(2,n):(1,2*d)"), parse_shape("m").value())), "(d,ceil(m/(2*d*n))):(2,2*d*n)");
}

TEST(Refused, CompositionsThatAreNoLayout) {
  EXPECT_EQ(
      text(composition(mode("(8,8):(8,1)"), mode("4:3"))),
      "composition: (8,8):(8,1) o 4:3 does not fit: leaf 4:3 of the right side steps by 3 through the leaf 8:8 of the "
      "left side, and neither 3 nor 8 divides the other; steps of 2 or 4");
  EXPECT_EQ(
      text(composition(mode("(8,8):(8,1)"), mode("12:1"))),
      "composition: (8,8):(8,1) o 12:1 does not fit: leaf 12:1 of the right side has 12 steps of 1 where the leaf 8:8 "
      "of the left side has room for 8; an extent that divides 8 or is a multiple of it");
  EXPECT_EQ(text(composition(mode("(4,4):(1,10)"), mode("(3,3):(1,1)"))),
            "composition: (4,4):(1,10) o (3,3):(1,1) does not fit: leaf 3:1 of the right side carries: with the leaves "
            "before it, it reaches 4 in the leaf 4:1 of the left side; leaves that stay below 4 together");
  EXPECT_EQ(
      text(composition(mode("(m,4):(4,1)"), mode("8:1"))),
      "composition: (m,4):(4,1) o 8:1 does not fit: leaf 8:1 of the right side has 8 steps of 1 where the leaf m:4 of "
      "the left side has room for m; an extent that divides m or is a multiple of it");
  EXPECT_EQ(
      text(composition(mode("(4,4):(1,10)"), mode("2:-1"))),
      "composition: (4,4):(1,10) o 2:-1 does not fit: leaf 2:-1 of the right side steps backwards through the 2 leaves "
      "of the left side; a left side of one leaf, or a positive stride");
  EXPECT_EQ(
      text(composition(mode("(4,4):(1,10)"), mode("2:1@2"))),
      "composition: (4,4):(1,10) o 2:1@2 does not fit: leaf 2:1@2 of the right side points to a mode that the left "
      "side does not have; an index below 2");
}

TEST(Refused, DividesAndProducts) {
  EXPECT_EQ(
      text(logical_divide(mode("(6,4):(1,10)"), tiler(mode("4:1")))),
      "composition: (6,4):(1,10) o (4,6):(1,4) does not fit: leaf 6:4 of the right side steps by 4 through the leaf "
      "6:1 of the left side, and neither 4 nor 6 divides the other; steps of 3 or 6\n"
      "  while dividing (6,4):(1,10) by 4:1");
  EXPECT_EQ(text(zipped_divide(mode("8:1"), tiler(Shape{Shape(2), Shape(2)}))),
            "divide: 8:1 has 1 modes for a tiler of 2; at most 1");
  EXPECT_EQ(
      text(tile_to_shape(mode("(4,8):(8,1)"), Shape{Shape(10), Shape(16)}, {})),
      "tile_to_shape: (4,8):(8,1) does not fill (10,16): 4 of mode 0 does not divide 10; a multiple of 4 in mode 0");
  EXPECT_EQ(
      text(logical_product(mode("(4,4):(1,2)"), mode("2:1"))),
      "complement: (4,4):(1,2) has leaves that overlap: 4:1 reaches 4, and 4:2 steps by 2; strides of at least 4, or "
      "coalesce() and filter() first\n"
      "  while multiplying (4,4):(1,2) by 2:1");
}

TEST(Refused, InversesAndOthers) {
  EXPECT_EQ(text(left_inverse(mode("(4,2):(1,6)"))), "(6,2):(1,4)");
  EXPECT_EQ(text(left_inverse(mode("(4,2):(2,7)"))),
            "left_inverse: (4,2):(2,7) has leaves 4:2 and 2:7, and 7 is not a multiple of 2 of at least 8; a multiple "
            "of 8 as "
            "the larger stride");
  EXPECT_EQ(text(left_inverse(mode("4:-1"))),
            "left_inverse: 4:-1 has a leaf that steps backwards, 4:-1; strides of 0 or more");
  EXPECT_EQ(text(recast(mode("(3,4):(1,4)"), 8, 16)),
            "recast: (3,4):(1,4) has a leaf 3:1, of which 2 make a unit; an extent that is a multiple of 2");
  EXPECT_EQ(text(recast(mode("(4,3):(1,5)"), 8, 16)),
            "recast: (4,3):(1,5) has a stride of 5, which is neither a divisor nor a multiple of 2; a multiple of 2");
  EXPECT_EQ(text(recast(mode("4:2"), 32, 16)),
            "recast: 4:2 has no leaf of stride 1, whose elements could be split; a leaf n:1 in it, or 1:1");
  EXPECT_EQ(text(recast(mode("4:1"), 24, 16)),
            "recast: 24 to 16 bits does not come out even; sizes of which one divides the other");
  EXPECT_EQ(text(group(mode("(2,3):(1,2)"), 1, 3)),
            "group: modes 1 to 3 are not in (2,3):(1,2); a range within 0 to 2");
  EXPECT_EQ(text(ordered(Shape{Shape(2), Shape(3)}, {0, 1, 2})),
            "ordered: an order of (0,1,2) is not nested like the shape (2,3); one number for each mode");
  EXPECT_EQ(text(evaluate(mode("(2,3):(1,2)"), *parse_shape("(1,2,3)"))),
            "coordinate_of: (1,2,3) is not nested like (2,3); a number, or a tuple of the same rank");
  EXPECT_EQ(text(shape_div(Shape(10), Shape(4))),
            "shape_div: 10 by 4 does not come out even; a divisor or a multiple of 10");
}

TEST(Overflow, IsAnErrorAndNeverWraps) {
  const SymbolicMode wide = mode("(4294967296,2):(4294967296,1)");
  EXPECT_EQ(text(composition(wide, mode("1:4294967296"))), "1:0");  // one index, at 0
  EXPECT_EQ(text(composition(mode("2:4294967296"), mode("2:4294967296"))),
            "composition: 2:4294967296 o 2:4294967296 has a result beyond 64 bits; smaller extents or strides");
  EXPECT_EQ(text(evaluate(mode("8:4611686018427387904"), Coordinate(2))),
            "evaluate: 8:4611686018427387904 has an offset beyond 64 bits");
  EXPECT_EQ(cosize(mode("4:4611686018427387904")).error().text(),
            "cosize: 4:4611686018427387904 has offsets beyond 64 bits");
  EXPECT_EQ(text(logical_product(mode("4294967296:1"), mode("2:4294967296"))),
            "complement: 4294967296:1 has a result beyond 64 bits; smaller extents or strides\n"
            "  while multiplying 4294967296:1 by 2:4294967296");
  EXPECT_EQ(text(recast(mode("9223372036854775807:1"), 16, 8)),
            "recast: 9223372036854775807:1 has a result beyond 64 bits; smaller extents or strides");
  EXPECT_TRUE(size(mode("(4294967296,4294967296):(1,0)")).overflowed());
  EXPECT_EQ(parse_layout("9223372036854775808:1").error().text(),
            "layout, column 1: 9223372036854775808:1 has a number beyond 64 bits; at most 2^63 - 1");
}

TEST(SymInts, AreInNormalForm) {
  const SymInt m = SymInt::symbol("m"), n = SymInt::symbol("n");
  EXPECT_EQ(m * n, n * m);
  EXPECT_EQ(6 * m / 3, 2 * m);
  EXPECT_EQ(m * n / m, n);
  EXPECT_EQ(m * 0, 0);
  EXPECT_EQ(m + n, n + m);
  EXPECT_EQ(m - m, 0);
  EXPECT_EQ(ceil_div(8 * m, 4), 2 * m);
  EXPECT_EQ((8 * m) % 4, 0);
  EXPECT_EQ((m / 3).text(), "floor(m/3)");
  EXPECT_FALSE(m / 3 == m);
  EXPECT_FALSE(m == n);
  EXPECT_TRUE(divides(m, 4 * m * n));
  EXPECT_FALSE(divides(n, m));
  const auto values = [](const std::string& name) { return name == "m" ? std::optional<int64_t>(10) : std::nullopt; };
  EXPECT_EQ(ceil_div(m, 4).evaluate(values), 3);
  EXPECT_EQ((m * n).evaluate(values), std::nullopt);
  const SymInt largest(INT64_MAX), smallest(INT64_MIN);
  EXPECT_TRUE((largest + 1).overflowed());
  EXPECT_TRUE((largest * m * 2).overflowed());
  EXPECT_TRUE((smallest / -1).overflowed());
  EXPECT_TRUE((smallest % -1).overflowed() || smallest % -1 == 0);
  EXPECT_TRUE((SymInt(1) / 0).overflowed());
  EXPECT_TRUE((SymInt(1) % 0).overflowed());
  EXPECT_TRUE(((largest + 1) - 1).overflowed());
}

}  // namespace
}  // namespace gemmsmith
