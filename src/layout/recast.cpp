// The same bits counted in other units.
#include <bit>
#include <numeric>

#include "layout/detail.h"

namespace gemmsmith {

namespace {
Error uneven(const SymbolicMode& mode, const std::string& what, const std::string& remedy) {
  return {"recast", print(mode), what, remedy, {}};
}

// Units of `ratio` of the old ones.
Result<SymbolicLeaf> wider(const SymbolicLeaf& leaf, const SymInt& ratio, const SymbolicMode& mode) {
  const SymInt& stride = leaf.stride.scale;
  if (stride.constant() == 0) return leaf;
  if (const auto quotient = exact_quotient(stride, ratio))
    return SymbolicLeaf{leaf.extent, Stride(*quotient, leaf.stride.basis)};
  const auto together = exact_quotient(ratio, stride);  // so many elements of the leaf make a unit
  if (!together)
    return uneven(
        mode,
        concat("has a stride of ", stride.text(), ", which is neither a divisor nor a multiple of ", ratio.text()),
        concat("a multiple of ", ratio.text()));
  if (const auto units = exact_quotient(leaf.extent, *together))
    return SymbolicLeaf{*units, Stride(1, leaf.stride.basis)};
  if (leaf.extent.constant() && divides(leaf.extent, *together)) return SymbolicLeaf{1, Stride(1, leaf.stride.basis)};
  return uneven(mode, concat("has a leaf ", detail::print_leaf(leaf), ", of which ", together->text(), " make a unit"),
                concat("an extent that is a multiple of ", together->text()));
}

SymbolicLeaf narrower(const SymbolicLeaf& leaf, const SymInt& ratio) {
  if (leaf.stride.scale.constant() == 1) return {leaf.extent * ratio, leaf.stride};
  return {leaf.extent, ratio * leaf.stride};
}

Result<SymbolicMode> widened(const SymbolicMode& part, const SymInt& ratio, const SymbolicMode& mode) {
  if (part.is_leaf()) {
    GS_TRY(const SymbolicLeaf leaf, wider(part.leaf(), ratio, mode));
    return SymbolicMode(leaf);
  }
  SymbolicMode::Parts parts;
  for (const SymbolicMode& inner : part) {
    GS_TRY(SymbolicMode changed, widened(inner, ratio, mode));
    parts.push_back(std::move(changed));
  }
  return SymbolicMode(std::move(parts));
}
}  // namespace

Result<SymbolicMode> recast(const SymbolicMode& mode, int from_bits, int to_bits) {
  if (from_bits <= 0 || to_bits <= 0 || (from_bits % to_bits != 0 && to_bits % from_bits != 0))
    return Error{"recast",
                 concat(from_bits, " to ", to_bits, " bits"),
                 "does not come out even",
                 "sizes of which one divides the other",
                 {}};
  if (to_bits >= from_bits) {
    GS_TRY(const SymbolicMode changed, widened(mode, to_bits / from_bits, mode));
    return detail::checked("recast", changed, print(mode));
  }
  bool contiguous = false;
  for (const SymbolicLeaf& leaf : mode.leaves()) contiguous |= leaf.stride.scale.constant() == 1;
  if (!contiguous)
    return uneven(mode, "has no leaf of stride 1, whose elements could be split", "a leaf n:1 in it, or 1:1");
  const SymInt ratio(from_bits / to_bits);
  // Only one leaf takes the parts of an element as its own steps.
  bool split = false;
  const SymbolicMode changed = transform(mode, [&](const SymbolicLeaf& leaf) {
    if (leaf.stride.scale.constant() != 1) return narrower(leaf, ratio);
    if (split) return SymbolicLeaf{leaf.extent, ratio * leaf.stride};
    split = true;
    return narrower(leaf, ratio);
  });
  return detail::checked("recast", changed, print(mode));
}

Result<SymbolicLayout> recast(const SymbolicLayout& layout, int from_bits, int to_bits) {
  if (!layout.outer.empty() || !layout.start.empty())
    return Error{
        "recast", print(layout), "is composed, and its units are those of the outer layout", "recast the parts", {}};
  SymbolicLayout out = layout;
  GS_TRY(out.modes, recast(layout.modes, from_bits, to_bits));
  if (!layout.swizzle.bits) return out;
  const int ratio = to_bits > from_bits ? to_bits / from_bits : from_bits / to_bits;
  if (!std::has_single_bit(unsigned(ratio)))
    return Error{"recast",
                 print(layout),
                 concat("swizzles bits, and the sizes differ by a factor of ", ratio),
                 "a power of 2",
                 {}};
  const int moved = std::countr_zero(unsigned(ratio));
  out.swizzle.base += to_bits > from_bits ? -moved : moved;
  if (!out.swizzle.valid())
    return Error{"recast",
                 print(layout),
                 concat("swizzles parts of one unit of ", to_bits, " bits, or bits beyond 62"),
                 "other units",
                 {}};
  return out;
}

}  // namespace gemmsmith
