// Divides and products: composition with a complement, in the four arrangements that CuTe names.
#include <algorithm>

#include "layout/detail.h"

namespace gemmsmith {

namespace {
SymbolicMode pair(SymbolicMode a, SymbolicMode b) {
  return SymbolicMode(SymbolicMode::Parts{std::move(a), std::move(b)});
}

Error too_many(const char* where, const SymbolicMode& mode, size_t rank) {
  return {where,
          print(mode),
          concat("has ", mode.size(), " modes for a tiler of ", rank),
          concat("at most ", mode.size()),
          {}};
}

struct Split {
  SymbolicMode tile, tiles;
};

Result<Split> split(const SymbolicMode& mode, const SymbolicMode& tile) {
  auto rest = complement(tile, shape_of(mode));
  if (!rest.ok()) return std::move(rest).error().note(concat("while dividing ", print(mode), " by ", print(tile)));
  auto both = composition(mode, pair(tile, *rest));
  if (!both.ok()) return std::move(both).error().note(concat("while dividing ", print(mode), " by ", print(tile)));
  return Split{(*both)[0], (*both)[1]};
}

// Tiles and rests apart, for all parts.
Result<Split> unzip(const SymbolicMode& mode, const Tiler& by) {
  if (by.is_leaf() && by.leaf()) return split(mode, *by.leaf());
  if (by.is_leaf()) {
    if (mode.is_leaf() || mode.size() != 2)
      return Error{"divide", print(mode), "is kept as it is, but no pair of a tile and its rest", "a tiler for it", {}};
    return Split{mode[0], mode[1]};
  }
  if (by.size() > mode.size()) return too_many("divide", mode, by.size());
  SymbolicMode::Parts tile, tiles;
  for (size_t i = 0; i < by.size(); ++i) {
    GS_TRY(Split part, unzip(mode[i], by[i]));
    tile.push_back(std::move(part.tile));
    tiles.push_back(std::move(part.tiles));
  }
  for (size_t i = by.size(); i < mode.size(); ++i) tiles.push_back(mode[i]);
  return Split{SymbolicMode(std::move(tile)), SymbolicMode(std::move(tiles))};
}

void append_parts(SymbolicMode::Parts& parts, const SymbolicMode& mode) {
  parts.insert(parts.end(), mode.begin(), mode.end());
}

SymbolicMode::Parts padded(const SymbolicMode& mode, size_t rank) {
  SymbolicMode::Parts parts(mode.begin(), mode.end());
  while (parts.size() < rank) parts.push_back(SymbolicLeaf{1, 0});
  return parts;
}

// What follows an extent of 1 is never reached, so its stride is free.
Result<SymbolicMode> interleaved(const SymbolicMode& block, const SymbolicMode& copies, bool block_first) {
  const size_t rank = std::max(block.size(), copies.size());
  GS_TRY(const SymbolicMode both,
         logical_product(SymbolicMode(padded(block, rank)), SymbolicMode(padded(copies, rank))));
  SymbolicMode::Parts parts;
  for (size_t i = 0; i < rank; ++i)
    parts.push_back(block_first ? pair(both[0][i], both[1][i]) : pair(both[1][i], both[0][i]));
  return SymbolicMode(std::move(parts));
}
}  // namespace

Tiler tiler(const SymbolicMode& mode) { return Tiler(std::optional(mode)); }

Tiler tiler(const Shape& shape) {
  return transform(shape, [](const SymInt& n) { return std::optional(SymbolicMode(SymbolicLeaf{n, 1})); });
}

Result<SymbolicMode> composition(const SymbolicMode& a, const Tiler& by) {
  if (by.is_leaf()) return by.leaf() ? composition(a, *by.leaf()) : Result<SymbolicMode>(a);
  if (by.size() > a.size()) return too_many("composition", a, by.size());
  SymbolicMode::Parts parts;
  for (size_t i = 0; i < by.size(); ++i) {
    GS_TRY(SymbolicMode part, composition(a[i], by[i]));
    parts.push_back(std::move(part));
  }
  return SymbolicMode(std::move(parts));
}

Result<SymbolicMode> logical_divide(const SymbolicMode& a, const Tiler& by) {
  if (by.is_leaf()) {
    if (!by.leaf()) return a;
    GS_TRY(Split parts, split(a, *by.leaf()));
    return pair(std::move(parts.tile), std::move(parts.tiles));
  }
  if (by.size() > a.size()) return too_many("logical_divide", a, by.size());
  SymbolicMode::Parts parts;
  for (size_t i = 0; i < a.size(); ++i) {
    GS_TRY(SymbolicMode part, i < by.size() ? logical_divide(a[i], by[i]) : Result<SymbolicMode>(a[i]));
    parts.push_back(std::move(part));
  }
  return SymbolicMode(std::move(parts));
}

Result<SymbolicMode> zipped_divide(const SymbolicMode& a, const Tiler& by) {
  GS_TRY(Split parts, unzip(a, by));
  return pair(std::move(parts.tile), std::move(parts.tiles));
}

Result<SymbolicMode> tiled_divide(const SymbolicMode& a, const Tiler& by) {
  GS_TRY(const Split both, unzip(a, by));
  SymbolicMode::Parts parts{both.tile};
  append_parts(parts, both.tiles);
  return SymbolicMode(std::move(parts));
}

Result<SymbolicMode> flat_divide(const SymbolicMode& a, const Tiler& by) {
  GS_TRY(const Split both, unzip(a, by));
  SymbolicMode::Parts parts;
  append_parts(parts, both.tile);
  append_parts(parts, both.tiles);
  return SymbolicMode(std::move(parts));
}

Result<SymbolicMode> logical_product(const SymbolicMode& block, const SymbolicMode& copies) {
  bool plain = true;
  for (const SymbolicLeaf& leaf : block.leaves()) plain &= leaf.stride.basis.empty();
  GS_TRY(const SymInt reach, cosize(copies));
  // Along basis directions the complement has no end: its last leaf goes on.
  auto gaps = complement(block, plain ? std::optional(Shape(size(block) * reach)) : std::nullopt);
  if (!gaps.ok())
    return std::move(gaps).error().note(concat("while multiplying ", print(block), " by ", print(copies)));
  auto placed = composition(*gaps, copies);
  if (!placed.ok())
    return std::move(placed).error().note(concat("while multiplying ", print(block), " by ", print(copies)));
  return pair(block, std::move(*placed));
}

Result<SymbolicMode> zipped_product(const SymbolicMode& block, const SymbolicMode& copies) {
  return logical_product(block, copies);
}

Result<SymbolicMode> tiled_product(const SymbolicMode& block, const SymbolicMode& copies) {
  GS_TRY(const SymbolicMode both, logical_product(block, copies));
  SymbolicMode::Parts parts{both[0]};
  append_parts(parts, both[1]);
  return SymbolicMode(std::move(parts));
}

Result<SymbolicMode> flat_product(const SymbolicMode& block, const SymbolicMode& copies) {
  GS_TRY(const SymbolicMode both, logical_product(block, copies));
  SymbolicMode::Parts parts;
  append_parts(parts, both[0]);
  append_parts(parts, both[1]);
  return SymbolicMode(std::move(parts));
}

Result<SymbolicMode> blocked_product(const SymbolicMode& block, const SymbolicMode& copies) {
  return interleaved(block, copies, true);
}

Result<SymbolicMode> raked_product(const SymbolicMode& block, const SymbolicMode& copies) {
  return interleaved(block, copies, false);
}

Result<SymbolicMode> tile_to_shape(const SymbolicMode& block, const Shape& shape,
                                   const std::optional<Nested<int64_t>>& order) {
  if (block.size() > shape.size()) return too_many("tile_to_shape", block, shape.size());
  const SymbolicMode padded_block(padded(block, shape.size()));
  Shape::Parts copies;
  std::vector<int64_t> first_to_last;
  for (size_t i = 0; i < shape.size(); ++i) {
    const SymInt whole = product(shape[i]), part = size(padded_block[i]);
    if (whole.constant() && part.constant() && !divides(part, whole))
      return Error{
          "tile_to_shape",
          print(block),
          concat("does not fill ", print(shape), ": ", part.text(), " of mode ", i, " does not divide ", whole.text()),
          concat("a multiple of ", part.text(), " in mode ", i),
          {}};
    copies.push_back(ceil_div(whole, part));
    first_to_last.push_back(int64_t(i));
  }
  GS_TRY(const SymbolicMode tiles, ordered(Shape(copies), order ? *order : Nested<int64_t>::tuple(first_to_last)));
  return blocked_product(padded_block, tiles);
}

}  // namespace gemmsmith
