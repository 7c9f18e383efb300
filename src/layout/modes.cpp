// Modes and layouts as functions, and what changes their nesting only.
#include <algorithm>

#include "layout/detail.h"

namespace gemmsmith {

namespace {
using Terms = std::vector<detail::Term<SymInt>>;

// Leaves and the digit of a coordinate that falls on each of them.
Status add_terms(const SymbolicMode& mode, const Coordinate& at, Terms& terms) {
  GS_TRY(const Coordinate digits, coordinate_of(at, shape_of(mode)));
  const std::vector<SymInt> numbers = digits.leaves();
  const auto leaves = mode.leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const SymInt value = numbers[i] * leaves[i].stride.scale;
    if (leaves[i].stride.basis.empty() && value.constant() == 0) continue;  // the 0 of any module
    terms.push_back({leaves[i].stride.basis, value});
  }
  // Parts that no digit steps in are there all the same.
  for (const auto& leaf : leaves)
    if (!leaf.stride.basis.empty()) terms.push_back({leaf.stride.basis, SymInt(0)});
  return Done{};
}

Result<Coordinate> sum_of(const Terms& terms, const SymbolicMode& mode) {
  if (detail::plain(terms)) {
    SymInt sum(0);
    for (const auto& term : terms) sum = sum + term.value;
    if (sum.overflowed()) return Error{"evaluate", print(mode), "has an offset beyond 64 bits", "", {}};
    return Coordinate(sum);
  }
  Terms along;
  for (const auto& term : terms) {
    if (!term.basis.empty())
      along.push_back(term);
    else if (term.value.constant() != 0)
      return Error{"evaluate", print(mode), "mixes strides with and without a basis", "a basis for every stride", {}};
  }
  Coordinate::Parts parts;
  for (const Terms& part : detail::by_first_index(along)) {
    GS_TRY(Coordinate sum, sum_of(part, mode));
    parts.push_back(std::move(sum));
  }
  return Coordinate(std::move(parts));
}

Result<SymInt> cosize_of(const std::vector<detail::Term<SymbolicLeaf>>& leaves) {
  SymInt largest(1);
  if (detail::plain(leaves)) {
    for (const auto& leaf : leaves) {
      const SymInt& stride = leaf.value.stride.scale;
      if (stride.constant() && *stride.constant() <= 0) continue;
      largest = largest + (leaf.value.extent - SymInt(1)) * stride;
    }
    return largest;
  }
  std::vector<detail::Term<SymbolicLeaf>> along;
  for (const auto& leaf : leaves)
    if (!leaf.basis.empty()) along.push_back(leaf);
  for (const auto& part : detail::by_first_index(along)) {
    GS_TRY(const SymInt n, cosize_of(part));
    largest = largest * n;
  }
  return largest;
}

Error out_of_range(size_t begin, size_t end, const SymbolicMode& mode) {
  return {"group",
          concat("modes ", begin, " to ", end),
          concat("are not in ", print(mode)),
          concat("a range within 0 to ", mode.size()),
          {}};
}

Result<SymbolicMode> slice_into(const SymbolicMode& mode, const Nested<std::optional<SymInt>>& at, Terms& fixed,
                                bool& keeps) {
  keeps = true;
  if (at.is_leaf() && !at.leaf()) return mode;
  if (at.is_leaf()) {
    keeps = false;
    GS_CHECK(add_terms(mode, Coordinate(*at.leaf()), fixed));
    return SymbolicMode();
  }
  if (mode.is_leaf() || mode.size() != at.size())
    return Error{"slice",
                 concat("a coordinate of rank ", at.size()),
                 concat("does not fit ", print(mode)),
                 concat("rank ", mode.size()),
                 {}};
  SymbolicMode::Parts parts;
  for (size_t i = 0; i < at.size(); ++i) {
    bool kept = false;
    GS_TRY(SymbolicMode part, slice_into(mode[i], at[i], fixed, kept));
    if (kept) parts.push_back(std::move(part));
  }
  keeps = !parts.empty();
  return parts.size() == 1 ? parts[0] : SymbolicMode(std::move(parts));
}
}  // namespace

SymbolicMode symbolic(const Mode& mode) {
  return transform(mode, [](const Leaf& leaf) { return SymbolicLeaf{leaf.extent, leaf.stride}; });
}

SymbolicLayout symbolic(const Layout& layout) {
  SymbolicLayout out{symbolic(layout.modes), layout.swizzle, layout.element_bytes, {}, {}};
  out.start = transform(layout.start, [](int64_t n) { return SymInt(n); });
  for (const Mode& mode : layout.outer) out.outer.push_back(symbolic(mode));
  return out;
}

Result<Mode> known(const SymbolicMode& mode) {
  for (const SymbolicLeaf& leaf : mode.leaves())
    if (!leaf.extent.constant() || !leaf.stride.constant())
      return Error{"layout",
                   print(mode),
                   concat("is not made of numbers: ", leaf.extent.constant() ? leaf.stride.text() : leaf.extent.text()),
                   "a number in its place",
                   {}};
  return transform(mode,
                   [](const SymbolicLeaf& leaf) { return Leaf{*leaf.extent.constant(), *leaf.stride.constant()}; });
}

Result<Layout> known(const SymbolicLayout& layout) {
  GS_TRY(const Mode modes, known(layout.modes));
  Layout out{modes, layout.swizzle, layout.element_bytes, {}, {}};
  for (const SymInt& n : layout.start.leaves())
    if (!n.constant()) return Error{"layout", print(layout), concat("starts at ", n.text()), "a number", {}};
  out.start = transform(layout.start, [](const SymInt& n) { return *n.constant(); });
  for (const SymbolicMode& outer : layout.outer) {
    GS_TRY(const Mode mode, known(outer));
    out.outer.push_back(mode);
  }
  return out;
}

Result<Coordinate> evaluate(const SymbolicMode& mode, const Coordinate& at) {
  Terms terms;
  GS_CHECK(add_terms(mode, at, terms));
  return sum_of(terms, mode);
}

Result<Coordinate> evaluate(const SymbolicLayout& layout, const Coordinate& at) {
  GS_TRY(Coordinate value, evaluate(layout.modes, at));
  if (!layout.start.empty()) {
    GS_TRY(value, add(layout.start, value));
  }
  if (layout.swizzle.bits) {
    const auto number = value.is_leaf() ? value.leaf().constant() : std::nullopt;
    if (!number)
      return Error{"evaluate", print(layout), concat("swizzles ", print(value), ", which is no known number"), "", {}};
    value = Coordinate(SymInt(layout.swizzle(*number)));
  }
  if (layout.outer.empty()) return value;
  return evaluate(layout.outer[0], value);
}

Result<SymInt> cosize(const SymbolicMode& mode) {
  std::vector<detail::Term<SymbolicLeaf>> leaves;
  for (const SymbolicLeaf& leaf : mode.leaves()) leaves.push_back({leaf.stride.basis, leaf});
  GS_TRY(const SymInt n, cosize_of(leaves));
  if (n.overflowed()) return Error{"cosize", print(mode), "has offsets beyond 64 bits", "", {}};
  return n;
}

SymbolicMode flatten(const SymbolicMode& mode) { return mode.is_leaf() ? mode : SymbolicMode::tuple(mode.leaves()); }

Result<SymbolicMode> group(const SymbolicMode& mode, size_t begin, size_t end) {
  if (begin >= end || end > mode.size()) return out_of_range(begin, end, mode);
  SymbolicMode::Parts parts(mode.begin(), mode.begin() + begin);
  parts.emplace_back(SymbolicMode::Parts(mode.begin() + begin, mode.begin() + end));
  parts.insert(parts.end(), mode.begin() + end, mode.end());
  return SymbolicMode(std::move(parts));
}

Result<SymbolicMode> coalesce_by(const SymbolicMode& mode, const Nested<int64_t>& profile) {
  if (profile.is_leaf()) return detail::checked("coalesce", coalesce(mode), print(mode));
  if (profile.size() > mode.size())
    return Error{"coalesce", print(mode), concat("has fewer modes than the profile's ", profile.size()), "", {}};
  SymbolicMode::Parts parts;
  for (size_t i = 0; i < mode.size(); ++i) {
    if (i >= profile.size()) {
      parts.push_back(mode[i]);
      continue;
    }
    GS_TRY(SymbolicMode part, coalesce_by(mode[i], profile[i]));
    parts.push_back(std::move(part));
  }
  return SymbolicMode(std::move(parts));
}

SymbolicMode filter_zeros(const SymbolicMode& mode) {
  return transform(
      mode, [](const SymbolicLeaf& leaf) { return leaf.stride.scale.constant() == 0 ? SymbolicLeaf{1, 0} : leaf; });
}

SymbolicMode filter(const SymbolicMode& mode) {
  detail::SymbolicLeaves leaves;
  for (const SymbolicLeaf& leaf : mode.leaves())
    if (leaf.stride.scale.constant() != 0 && leaf.extent.constant() != 1) leaves.push_back(leaf);
  return coalesce(detail::mode_of(leaves));
}

SymbolicMode nullspace(const SymbolicMode& mode) {
  detail::SymbolicLeaves leaves;
  SymInt inner(1);
  for (const SymbolicLeaf& leaf : mode.leaves()) {
    if (leaf.stride.scale.constant() == 0) leaves.push_back({leaf.extent, inner});
    inner = inner * leaf.extent;
  }
  return detail::mode_of(leaves);
}

Result<Sliced> slice(const SymbolicMode& mode, const Nested<std::optional<SymInt>>& at) {
  Terms fixed;
  bool keeps = false;
  GS_TRY(const SymbolicMode rest, slice_into(mode, at, fixed, keeps));
  GS_TRY(const Coordinate offset, sum_of(fixed, mode));
  return Sliced{rest, offset};
}

}  // namespace gemmsmith
