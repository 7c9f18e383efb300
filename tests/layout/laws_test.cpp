// The definitions of layout_algebra.h at every coordinate, over seeded random layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "gemmsmith/layout_text.h"

namespace gemmsmith {
namespace {

class Laws : public testing::Test {
 protected:
  int64_t below(int64_t n) { return int64_t(random_() % uint64_t(n)); }

  Shape random_shape(int leaves, int depth = 2) {
    if (leaves == 1 && below(2)) return Shape(1 + below(6));
    if (depth == 0 || leaves == 1) {
      Shape::Parts flat;
      for (int i = 0; i < leaves; ++i) flat.push_back(Shape(1 + below(6)));
      return Shape(std::move(flat));
    }
    const int first = 1 + int(below(leaves - 1));
    return Shape(Shape::Parts{random_shape(first, depth - 1), random_shape(leaves - first, depth - 1)});
  }
  SymbolicMode with_random_strides(const Shape& shape) {
    return transform(shape, [&](const SymInt& n) { return SymbolicLeaf{n, below(9)}; });
  }
  // Injective: compact in a random order, with gaps in between.
  SymbolicMode injective(int leaves, bool gaps) {
    const Shape shape = random_shape(leaves);
    const std::vector<SymInt> extents = shape.leaves();
    std::vector<size_t> order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<int64_t> strides(extents.size());
    int64_t next = gaps ? 1 + below(3) : 1;
    for (const size_t i : order) {
      strides[i] = next;
      next *= *extents[i].constant() * (gaps ? 1 + below(2) : 1);
    }
    size_t leaf = 0;
    return transform(shape, [&](const SymInt& n) { return SymbolicLeaf{n, strides[leaf++]}; });
  }
  SymbolicMode any(int trial) {
    const int leaves = 1 + trial % 4;
    if (trial % 3 == 0) return with_random_strides(random_shape(leaves));
    return injective(leaves, trial % 3 == 1);
  }
  std::mt19937_64 random_{7};
};

int64_t at(const SymbolicMode& mode, int64_t index) {
  const auto value = evaluate(mode, Coordinate(index));
  GS_ASSERT(value.ok() && value->is_leaf(), "plain strides have plain offsets");
  return *value->leaf().constant();
}
int64_t count(const SymbolicMode& mode) { return *size(mode).constant(); }
// Past its size, where last leaves 1:0 count as not there.
int64_t at_or_past(const SymbolicMode& mode, int64_t index) {
  std::vector<SymbolicLeaf> leaves = mode.leaves();
  while (leaves.size() > 1 && leaves.back() == SymbolicLeaf{1, 0}) leaves.pop_back();
  return at(SymbolicMode::tuple(leaves), index);
}
std::vector<int64_t> offsets(const SymbolicMode& mode) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count(mode); ++i) out.push_back(at(mode, i));
  return out;
}

TEST_F(Laws, IndicesAndCoordinatesNameEachOther) {
  for (int trial = 0; trial < 200; ++trial) {
    const Shape shape = random_shape(1 + trial % 5);
    int64_t expected = 0;
    const auto done = for_each_coordinate(shape, [&](const Coordinate& c) {
      EXPECT_EQ(*index_of(c, shape), SymInt(expected)) << print(c);
      EXPECT_EQ(*coordinate_of(Coordinate(expected), shape), c) << print(c);
      ++expected;
    });
    ASSERT_TRUE(done.ok());
    ASSERT_EQ(product(shape), SymInt(expected));
  }
}

TEST_F(Laws, AnOffsetIsThatOfTheIndex) {
  for (int trial = 0; trial < 200; ++trial) {
    const SymbolicMode mode = any(trial);
    const Mode numbers = *known(mode);
    for (int64_t i = 0; i < count(mode) + 7; ++i) {
      ASSERT_EQ(at(mode, i), offset(numbers, i)) << print(mode);
      if (i < count(mode)) {
        ASSERT_EQ(*evaluate(mode, *coordinate_of(Coordinate(i), shape_of(mode))), Coordinate(at(mode, i)));
      }
    }
  }
}

TEST_F(Laws, NestingChangesNoFunction) {
  for (int trial = 0; trial < 300; ++trial) {
    const SymbolicMode mode = any(trial);
    ASSERT_EQ(offsets(flatten(mode)), offsets(mode));
    ASSERT_EQ(offsets(coalesce(mode)), offsets(mode)) << print(mode);
    ASSERT_LE(coalesce(mode).leaves().size(), std::max(size_t(1), mode.leaves().size()));
    if (mode.size() < 2) continue;
    const size_t begin = size_t(below(int64_t(mode.size()) - 1)),
                 end = begin + 1 + size_t(below(int64_t(mode.size() - begin)));
    const auto grouped = group(mode, begin, end);
    ASSERT_TRUE(grouped.ok());
    ASSERT_EQ(offsets(*grouped), offsets(mode)) << print(mode);
    ASSERT_EQ(grouped->size(), mode.size() - (end - begin) + 1);
    const auto parts = coalesce_by(mode, Nested<int64_t>{1, 1});
    ASSERT_TRUE(parts.ok());
    for (size_t i = 0; i < 2; ++i) ASSERT_EQ(offsets((*parts)[i]), offsets(mode[i]));
    ASSERT_TRUE(compatible(Shape(product(shape_of(mode))), shape_of(mode)));
    ASSERT_TRUE(compatible(product_each(shape_of(mode)), shape_of(mode)));
  }
}

// R(c) = A(B(c)) wherever composition does not refuse; and it does not refuse what is a layout obviously.
TEST_F(Laws, CompositionIsOneFunctionAfterTheOther) {
  int composed = 0, refused = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    const SymbolicMode a = any(trial), b = any(trial / 3);
    const auto r = composition(a, b);
    if (!r.ok()) {
      ++refused;
      continue;
    }
    ++composed;
    ASSERT_TRUE(weakly_congruent(b, *r));
    const auto of_b = offsets(b), of_r = offsets(*r);
    ASSERT_EQ(of_b.size(), of_r.size());
    for (size_t i = 0; i < of_b.size(); ++i)
      ASSERT_EQ(of_r[i], at_or_past(a, of_b[i])) << print(a) << " o " << print(b) << " = " << print(*r) << " at " << i;
  }
  EXPECT_GT(composed, 2000);
  EXPECT_GT(refused, 500);
  for (int trial = 0; trial < 300; ++trial) {
    const SymbolicMode a = any(trial);
    const auto same = composition(a, compact(shape_of(a)));
    ASSERT_TRUE(same.ok()) << print(a);
    ASSERT_EQ(offsets(*same), offsets(a));
    const auto identity = composition(compact(shape_of(a)), a);
    ASSERT_TRUE(!identity.ok() || offsets(*identity) == offsets(a)) << print(a);
  }
}

TEST_F(Laws, ComplementIsDisjointOrderedAndCovers) {
  int covering = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const SymbolicMode a = injective(1 + trial % 4, trial % 2);
    const int64_t end = 1 + below(200);
    const auto r = complement(a, Shape(end));
    ASSERT_TRUE(r.ok()) << print(a);
    const auto of_a = offsets(a), of_r = offsets(*r);
    ASSERT_TRUE(std::is_sorted(of_r.begin(), of_r.end())) << print(*r);
    std::set<int64_t> reached;
    for (const int64_t x : of_a)
      for (const int64_t y : of_r) ASSERT_TRUE(reached.insert(x + y).second) << print(a) << " and " << print(*r);
    for (int64_t i = 0; i < end; ++i)
      ASSERT_TRUE(reached.contains(i)) << i << " by " << print(a) << " and " << print(*r);
    covering += int64_t(reached.size()) < 2 * end;
  }
  EXPECT_GT(covering, 100);
}

// Gaps that are no multiple of what lies below stay uncovered, but what is reached is reached once.
TEST_F(Laws, ComplementOfUnevenStridesIsDisjoint) {
  for (int64_t stride = 4; stride < 40; ++stride) {
    const SymbolicMode a = SymbolicMode{{4, 1}, {2, stride}};
    const auto r = complement(a, Shape(50));
    ASSERT_TRUE(r.ok());
    std::set<int64_t> reached;
    for (const int64_t x : offsets(a))
      for (const int64_t y : offsets(*r)) ASSERT_TRUE(reached.insert(x + y).second) << print(*r);
  }
}

TEST_F(Laws, RightInverseUndoesFromTheRight) {
  for (int trial = 0; trial < 600; ++trial) {
    const SymbolicMode a = any(trial);
    const auto r = right_inverse(a);
    ASSERT_TRUE(r.ok());
    for (int64_t i = 0; i < count(*r); ++i) ASSERT_EQ(at(a, at(*r, i)), i) << print(a) << " " << print(*r);
    if (trial % 3 == 2) {
      ASSERT_EQ(count(*r), count(a)) << print(a);  // compact: all of it
    }
  }
}

TEST_F(Laws, LeftInverseUndoesFromTheLeft) {
  int inverted = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const SymbolicMode a = any(trial);
    const auto l = left_inverse(a);
    if (trial % 3 != 0) {
      ASSERT_TRUE(l.ok()) << print(a) << l.error().text();
    }
    if (!l.ok()) continue;
    ++inverted;
    const bool injective = trial % 3 != 0;
    for (int64_t i = 0; i < count(a); ++i) {
      ASSERT_EQ(at(a, at(*l, at(a, i))), at(a, i)) << print(a) << " " << print(*l);
      if (injective) {
        ASSERT_EQ(at(*l, at(a, i)), i) << print(a) << " " << print(*l);
      }
    }
  }
  EXPECT_GT(inverted, 400);
}

// Tiles first, then what is left: all four arrangements hold the same offsets as the definition.
TEST_F(Laws, DividesAreCompositionsWithTheComplement) {
  int divided = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const SymbolicMode a = any(trial), by = injective(1 + trial % 2, trial % 2);
    const auto d = logical_divide(a, tiler(by));
    if (!d.ok()) continue;
    ++divided;
    const auto rest = complement(by, shape_of(a));
    ASSERT_TRUE(rest.ok());
    ASSERT_EQ(d->size(), 2u);
    const auto tile = offsets((*d)[0]), tiles = offsets((*d)[1]), steps = offsets(by), starts = offsets(*rest);
    ASSERT_EQ(tile.size(), steps.size());
    ASSERT_EQ(tiles.size(), starts.size());
    for (size_t t = 0; t < starts.size(); ++t)
      for (size_t i = 0; i < steps.size(); ++i)
        ASSERT_EQ(tiles[t] + tile[i], at_or_past(a, starts[t] + steps[i]))
            << print(a) << " / " << print(by) << " = " << print(*d);
    ASSERT_EQ(offsets(*zipped_divide(a, tiler(by))), offsets(*d));
    ASSERT_EQ(offsets(*tiled_divide(a, tiler(by))), offsets(*d));
    ASSERT_EQ(offsets(*flat_divide(a, tiler(by))), offsets(*d));
  }
  EXPECT_GT(divided, 800);
}

TEST_F(Laws, DividesByModeTileTheModes) {
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t m = 1 + below(4), n = 1 + below(4), tiles_m = 1 + below(4), tiles_n = 1 + below(4);
    const SymbolicMode a = with_random_strides(Shape{Shape(m * tiles_m), Shape(n * tiles_n)});
    const Tiler by = tiler(Shape{Shape(m), Shape(n)});
    const auto logical = logical_divide(a, by), zipped = zipped_divide(a, by), tiled = tiled_divide(a, by),
               flat = flat_divide(a, by);
    ASSERT_TRUE(logical.ok() && zipped.ok() && tiled.ok() && flat.ok());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t x = 0; x < tiles_m; ++x)
          for (int64_t y = 0; y < tiles_n; ++y) {
            const Coordinate expected = *evaluate(a, Coordinate{Coordinate(i + m * x), Coordinate(j + n * y)});
            const Coordinate ci(i), cj(j), cx(x), cy(y);
            ASSERT_EQ(*evaluate(*logical, Coordinate{Coordinate{ci, cx}, Coordinate{cj, cy}}), expected);
            ASSERT_EQ(*evaluate(*zipped, Coordinate{Coordinate{ci, cj}, Coordinate{cx, cy}}), expected);
            ASSERT_EQ(*evaluate(*tiled, Coordinate{Coordinate{ci, cj}, cx, cy}), expected);
            ASSERT_EQ(*evaluate(*flat, Coordinate{ci, cj, cx, cy}), expected);
          }
  }
}

// Copies of a block: the block itself first, the copies disjoint, in the order of the second factor.
TEST_F(Laws, ProductsLayOutDisjointCopies) {
  int multiplied = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    const SymbolicMode a = injective(1 + trial % 3, trial % 2), b = injective(1 + trial % 2, false);
    const auto p = logical_product(a, b);
    if (!p.ok()) continue;
    ++multiplied;
    ASSERT_EQ((*p)[0], a);
    ASSERT_TRUE(weakly_congruent(b, (*p)[1]));
    const auto gaps = complement(a, Shape(size(a) * *cosize(b)));
    for (int64_t t = 0; t < count(b); ++t) ASSERT_EQ(at((*p)[1], t), at(*gaps, at(b, t)));
    std::set<int64_t> reached;
    for (const int64_t x : offsets(*p)) ASSERT_TRUE(reached.insert(x).second) << print(a) << " * " << print(b);
    const auto sorted = [](std::vector<int64_t> v) { return std::sort(v.begin(), v.end()), v; };
    ASSERT_EQ(offsets(*zipped_product(a, b)), offsets(*p));
    ASSERT_EQ(offsets(*tiled_product(a, b)), offsets(*p));
    ASSERT_EQ(offsets(*flat_product(a, b)), offsets(*p));
    const SymbolicMode blocked = *blocked_product(a, b), raked = *raked_product(a, b);
    ASSERT_EQ(sorted(offsets(blocked)), sorted(offsets(*p)));
    for (size_t mode = 0; mode < blocked.size(); ++mode) {
      ASSERT_EQ(blocked[mode][0], raked[mode][1]);
      ASSERT_EQ(blocked[mode][1], raked[mode][0]);
      if (mode < a.size()) {
        ASSERT_EQ(blocked[mode][0], a[mode]);
      }
    }
  }
  EXPECT_GT(multiplied, 500);
}

TEST_F(Laws, TileToShapeRepeatsTheBlock) {
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t m = 1 + below(4), n = 1 + below(4), x = 1 + below(4), y = 1 + below(4);
    const SymbolicMode block =
        trial % 2 ? compact(Shape{Shape(m), Shape(n)}) : *ordered(Shape{Shape(m), Shape(n)}, {1, 0});
    const bool columns_first = trial % 3 == 0;
    const auto whole = tile_to_shape(block, Shape{Shape(m * x), Shape(n * y)},
                                     columns_first ? std::optional(Nested<int64_t>{1, 0}) : std::nullopt);
    ASSERT_TRUE(whole.ok());
    for (int64_t i = 0; i < m * x; ++i)
      for (int64_t j = 0; j < n * y; ++j) {
        const int64_t number = columns_first ? j / n + y * (i / m) : i / m + x * (j / n);
        const Coordinate inner = *evaluate(block, Coordinate{Coordinate(i % m), Coordinate(j % n)});
        ASSERT_EQ(*evaluate(*whole, Coordinate{Coordinate(i), Coordinate(j)}),
                  Coordinate(inner.leaf() + SymInt(number * m * n)));
      }
  }
}

TEST_F(Laws, FilterKeepsTheOffsetsAndNullspaceTheRest) {
  for (int trial = 0; trial < 300; ++trial) {
    const SymbolicMode a = with_random_strides(random_shape(1 + trial % 4));
    const auto all = offsets(a), filtered = offsets(filter(a)), zeroless = offsets(filter_zeros(a));
    ASSERT_EQ(std::set(all.begin(), all.end()), std::set(filtered.begin(), filtered.end())) << print(a);
    ASSERT_EQ(filtered, zeroless);
    ASSERT_TRUE(congruent(filter_zeros(a), a));
    const SymbolicMode null = nullspace(a);
    for (int64_t j = 0; j < count(null); ++j) ASSERT_EQ(at(a, at(null, j)), 0) << print(a) << " " << print(null);
    ASSERT_EQ(count(null) * int64_t(zeroless.size()), count(a));
  }
}

TEST_F(Laws, MaxCommonLayoutIsTheIdentityThroughBoth) {
  int longer = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const SymbolicMode a = injective(2, false), b = trial % 2 ? injective(2, false) : a;
    const auto common = max_common_layout(a, b);
    ASSERT_TRUE(common.ok());
    const int64_t n = count(*common);
    ASSERT_EQ(*max_common_vector(a, b), SymInt(n));
    longer += n > 1;
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(at(a, at(*common, i)), i);
      ASSERT_EQ(at(b, at(*common, i)), i);
    }
    if (trial % 2 == 0) {
      ASSERT_EQ(n, count(a));
    }
  }
  EXPECT_GT(longer, 200);
}

// The units of the one size that lie in the units of the other.
TEST_F(Laws, RecastKeepsTheBits) {
  const auto bits = [](const SymbolicMode& mode, int unit) {
    std::multiset<int64_t> out;
    for (const int64_t x : offsets(mode))
      for (int b = 0; b < unit; ++b) out.insert(x * unit + b);
    return out;
  };
  int widened = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const SymbolicMode a = injective(1 + trial % 3, trial % 2);
    const auto narrow = recast(a, 32, 8), wide = recast(a, 8, 16);
    if (narrow.ok()) {
      ASSERT_EQ(bits(*narrow, 8), bits(a, 32)) << print(a) << " " << print(*narrow);
      ASSERT_EQ(offsets(*recast(*narrow, 8, 32)), offsets(a));
    }
    if (!wide.ok()) continue;
    const auto before = bits(a, 8), after = bits(*wide, 16);
    ASSERT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end())) << print(a) << print(*wide);
    widened += before == after;
  }
  EXPECT_GT(widened, 30);
}

TEST_F(Laws, SlicesAddUp) {
  using Index = std::optional<SymInt>;
  for (int trial = 0; trial < 200; ++trial) {
    const SymbolicMode a{any(trial), any(trial + 1), any(trial + 2)};
    const int64_t i = below(count(a[0])), k = below(count(a[2]));
    const auto sliced =
        slice(a, Nested<Index>{Nested<Index>(Index(i)), Nested<Index>(Index()), Nested<Index>(Index(k))});
    ASSERT_TRUE(sliced.ok());
    ASSERT_EQ(sliced->rest, a[1]);
    for (int64_t j = 0; j < count(a[1]); ++j)
      ASSERT_EQ(*evaluate(a, Coordinate{Coordinate(i), Coordinate(j), Coordinate(k)}),
                *add(sliced->offset, *evaluate(sliced->rest, Coordinate(j))));
  }
}

TEST_F(Laws, SwizzlesAreTheirOwnInverse) {
  for (int bits = 0; bits <= 3; ++bits)
    for (int base : {0, 2, 4})
      for (int shift : {3, 4, -3, -4}) {
        const Swizzle swizzle{bits, base, shift};
        std::set<int64_t> reached;
        for (int64_t x = 0; x < 4096; ++x) {
          ASSERT_EQ(swizzle(swizzle(x)), x);
          reached.insert(swizzle(x));
        }
        ASSERT_EQ(reached.size(), 4096u);
        ASSERT_EQ(*reached.rbegin(), 4095);
      }
}

// What symbols give, with numbers put in for them afterwards, is what those numbers give.
TEST_F(Laws, SymbolsStandForEveryNumber) {
  const auto put = [](const SymbolicMode& mode, int64_t m, int64_t n) {
    return transform(mode, [&](const SymbolicLeaf& leaf) {
      const auto values = [&](const std::string& name) { return std::optional(name == "m" ? m : n); };
      return SymbolicLeaf{*leaf.extent.evaluate(values), *leaf.stride.scale.evaluate(values)};
    });
  };
  const SymbolicMode row = *parse_mode("(m,n):(n,1)"), column = *parse_mode("(m,n):(1,m)");
  for (const SymbolicMode& a : {row, column}) {
    const Tiler by = tiler(Shape{Shape(4), Shape(8)});
    const auto tiled = zipped_divide(a, by), blocked = blocked_product(*parse_mode("(2,3):(3,1)"), a),
               inverse = right_inverse(a);
    ASSERT_TRUE(tiled.ok() && inverse.ok());
    for (int64_t m = 1; m < 12; ++m)
      for (int64_t n : {1, 7, 8, 16}) {
        ASSERT_EQ(offsets(put(*tiled, m, n)), offsets(*zipped_divide(put(a, m, n), by))) << m << "x" << n;
        ASSERT_EQ(offsets(put(*inverse, m, n)), offsets(*right_inverse(put(a, m, n)))) << print(*inverse);
        if (blocked.ok()) {
          ASSERT_EQ(offsets(put(*blocked, m, n)), offsets(*blocked_product(*parse_mode("(2,3):(3,1)"), put(a, m, n))));
        }
      }
  }
  EXPECT_EQ(print(*zipped_divide(row, tiler(Shape{Shape(4), Shape(8)}))),
            "((4,8),(ceil(m/4),ceil(n/8))):((n,1),(4*n,8))");
  EXPECT_EQ(print(*right_inverse(row)), "(n,m):(m,1)");
  EXPECT_EQ(print(coalesce(column)), "m*n:1");
}

}  // namespace
}  // namespace gemmsmith
