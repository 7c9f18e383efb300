// Complements and inverses: what the sorted leaves of a mode reach, and what they leave out.
#include <algorithm>

#include "layout/detail.h"

namespace gemmsmith {

namespace {
using LeafList = detail::SymbolicLeaves;

// A leaf with the index stride at which it stands in its mode: step `extent.stride` times from index to index + prefix.
struct Placed {
  SymInt extent, stride, prefix;
  friend std::string print_leaf(const Placed& p) { return concat(p.extent.text(), ':', p.stride.text()); }
};
using Terms = std::vector<detail::Term<Placed>>;

// The leaves that step at all, with their directions.
Result<Terms> stepping(const char* where, const SymbolicMode& mode, bool backwards) {
  Terms terms;
  SymInt prefix(1);
  for (const SymbolicLeaf& leaf : mode.leaves()) {
    const auto extent = leaf.extent.constant(), stride = leaf.stride.scale.constant();
    if (extent && *extent <= 0)
      return Error{where,
                   print(mode),
                   concat("has a leaf of extent ", *extent, ", which has no indices"),
                   "extents of 1 or more",
                   {}};
    if (stride && *stride < 0 && !backwards)
      return Error{where,
                   print(mode),
                   concat("has a leaf that steps backwards, ", detail::print_leaf(leaf)),
                   "strides of 0 or more",
                   {}};
    if (extent != 1 && !(stride && *stride <= 0))
      terms.push_back({leaf.stride.basis, {leaf.extent, leaf.stride.scale, prefix}});
    // Extents of 1 have no steps, but their basis directions are there.
    if (extent == 1 && stride != 0 && !leaf.stride.basis.empty()) terms.push_back({leaf.stride.basis, {1, 0, prefix}});
    prefix = prefix * leaf.extent;
  }
  return terms;
}

// Without directions: what is left of the leaves, by growing stride.
Result<std::vector<Placed>> by_stride(const char* where, const Terms& terms, const SymbolicMode& mode) {
  std::vector<Placed> sorted;
  for (const auto& term : terms)
    if (term.value.extent.constant() != 1) sorted.push_back(term.value);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Placed& a, const Placed& b) { return detail::known_less(a.stride, b.stride); });
  for (size_t i = 1; i < sorted.size(); ++i) {
    const SymInt &low = sorted[i - 1].stride, &high = sorted[i].stride;
    if (detail::known_less(low, high) || low == high) continue;
    return Error{where,
                 print(mode),
                 concat("has strides ", low.text(), " and ", high.text(), " whose order is not known"),
                 "numbers, or multiples of each other",
                 {}};
  }
  return sorted;
}

using Plain = Result<SymbolicMode> (*)(const Terms&, const SymbolicMode& whole);

// `plain` of the terms along each direction, as a tuple; one part where there are no directions.
Result<SymbolicMode> along_each(const Terms& terms, const SymbolicMode& mode, Plain plain) {
  if (detail::plain(terms)) return plain(terms, mode);
  Terms along;
  for (const auto& term : terms) {
    if (term.basis.empty())
      return Error{"layout", print(mode), "mixes strides with and without a basis", "a basis for every stride", {}};
    along.push_back(term);
  }
  SymbolicMode::Parts parts;
  for (const Terms& part : detail::by_first_index(along)) {
    GS_TRY(SymbolicMode inverse, along_each(part, mode, plain));
    parts.push_back(std::move(inverse));
  }
  return SymbolicMode(std::move(parts));
}

Result<SymbolicMode> right_inverse_of(const Terms& terms, const SymbolicMode& mode) {
  LeafList out;
  SymInt reached(1);
  for (bool found = true; found;) {
    found = false;
    for (const auto& term : terms) {
      const Placed& leaf = term.value;
      if (leaf.extent.constant() == 1 || !(leaf.stride == reached)) continue;
      out.push_back({leaf.extent, Stride(leaf.prefix)});
      reached = reached * leaf.extent;
      found = true;
      break;
    }
  }
  return detail::checked("right_inverse", coalesce(detail::mode_of(out)), print(mode));
}

Result<SymbolicMode> left_inverse_of(const Terms& terms, const SymbolicMode& mode) {
  GS_TRY(const std::vector<Placed> sorted, by_stride("left_inverse", terms, mode));
  LeafList out;
  if (!sorted.empty() && sorted[0].stride.constant() != 1) out.push_back({sorted[0].stride, 0});
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i + 1 == sorted.size()) {
      out.push_back({sorted[i].extent, Stride(sorted[i].prefix)});
      break;
    }
    const auto room = exact_quotient(sorted[i + 1].stride, sorted[i].stride);
    const bool fits = room && (divides(sorted[i].extent, *room) || (room->constant() && sorted[i].extent.constant() &&
                                                                    *room->constant() >= *sorted[i].extent.constant()));
    if (!fits)
      return Error{"left_inverse",
                   print(mode),
                   concat("has leaves ", print_leaf(sorted[i]), " and ", print_leaf(sorted[i + 1]), ", and ",
                          sorted[i + 1].stride.text(), " is not a multiple of ", sorted[i].stride.text(),
                          " of at least ", (sorted[i].extent * sorted[i].stride).text()),
                   concat("a multiple of ", (sorted[i].extent * sorted[i].stride).text(), " as the larger stride"),
                   {}};
    out.push_back({*room, Stride(sorted[i].prefix)});
  }
  return detail::checked("left_inverse", coalesce(detail::mode_of(out)), print(mode));
}

Result<SymbolicMode> plain_complement(const Terms& terms, const std::optional<Shape>& end, const SymbolicMode& mode) {
  GS_TRY(const std::vector<Placed> sorted, by_stride("complement", terms, mode));
  LeafList out;
  SymInt current(1);
  const Placed* below = nullptr;
  for (const Placed& leaf : sorted) {
    const auto step = leaf.stride.constant(), reached = current.constant();
    if (step && reached && *step < *reached)
      return Error{"complement",
                   print(mode),
                   concat("has leaves that overlap: ", below ? print_leaf(*below) : "", " reaches ", current.text(),
                          ", and ", print_leaf(leaf), " steps by ", leaf.stride.text()),
                   concat("strides of at least ", current.text(), ", or coalesce() and filter() first"),
                   {}};
    const auto gap = exact_quotient(leaf.stride, current);
    if (!gap && !(step && reached))
      return Error{"complement",
                   print(mode),
                   concat("steps by ", leaf.stride.text(), ", which is not known to be a multiple of ", current.text()),
                   concat("a multiple of ", current.text()),
                   {}};
    out.push_back({gap ? *gap : leaf.stride / current, Stride(current)});
    current = leaf.stride * leaf.extent;
    below = &leaf;
  }
  if (end) {
    out.push_back({ceil_div(product(*end), current), Stride(current)});
    return detail::checked("complement", coalesce(detail::mode_of(out)), print(mode));
  }
  // Without an end the last leaf says where copies go on.
  const SymbolicLeaf last{1, Stride(current)};
  LeafList gaps = out.empty() ? LeafList{} : coalesce(detail::mode_of(out)).leaves();
  if (gaps.size() == 1 && gaps[0].extent.constant() == 1) gaps.clear();
  gaps.push_back(last);
  return detail::checked("complement", detail::mode_of(gaps), print(mode));
}

SymbolicMode along(int index, const SymbolicMode& mode) {
  return transform(mode, [&](const SymbolicLeaf& leaf) {
    std::vector<int> basis{index};
    basis.insert(basis.end(), leaf.stride.basis.begin(), leaf.stride.basis.end());
    return SymbolicLeaf{leaf.extent, Stride(leaf.stride.scale, std::move(basis))};
  });
}

Result<SymbolicMode> complement_of(const Terms& terms, const std::optional<Shape>& end, const SymbolicMode& mode) {
  if (detail::plain(terms)) return plain_complement(terms, end, mode);
  if (end && end->is_leaf())
    return Error{"complement",
                 print(mode),
                 concat("has basis directions, and ", print(*end), " gives one end"),
                 "an end for each direction",
                 {}};
  auto parts = detail::by_first_index(terms);
  if (end && end->size() > parts.size()) parts.resize(end->size());
  SymbolicMode::Parts out;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto part_end = end && i < end->size() ? std::optional((*end)[i]) : std::nullopt;
    GS_TRY(const SymbolicMode part, complement_of(parts[i], part_end, mode));
    out.push_back(along(int(i), part));
  }
  return SymbolicMode(std::move(out));
}
}  // namespace

Result<SymbolicMode> complement(const SymbolicMode& mode, const std::optional<Shape>& end) {
  GS_TRY(const Terms terms, stepping("complement", mode, false));
  for (const auto& term : terms)
    if (term.basis.empty() && !detail::plain(terms))
      return Error{"complement", print(mode), "mixes strides with and without a basis", "a basis for every stride", {}};
  return complement_of(terms, end, mode);
}

Result<SymbolicMode> right_inverse(const SymbolicMode& mode) {
  GS_TRY(const Terms terms, stepping("right_inverse", mode, true));
  return along_each(terms, mode, right_inverse_of);
}

Result<SymbolicMode> left_inverse(const SymbolicMode& mode) {
  GS_TRY(const Terms terms, stepping("left_inverse", mode, false));
  return along_each(terms, mode, left_inverse_of);
}

Result<SymbolicMode> max_common_layout(const SymbolicMode& a, const SymbolicMode& b) {
  const SymbolicMode one = SymbolicLeaf{1, 0};
  GS_TRY(const SymbolicMode inverse, right_inverse(b));
  const auto common = composition(a, inverse);
  if (!common.ok()) return one;  // not even leaf by leaf
  const LeafList leaves = coalesce(*common).leaves();
  if (leaves.empty() || leaves[0].extent.constant() == 1 || leaves[0].stride.constant() != 1) return one;
  return composition(inverse, SymbolicLeaf{leaves[0].extent, 1});
}

Result<SymInt> max_common_vector(const SymbolicMode& a, const SymbolicMode& b) {
  GS_TRY(const SymbolicMode common, max_common_layout(a, b));
  return size(common);
}

}  // namespace gemmsmith
