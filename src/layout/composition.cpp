// Composition: A o B leaf by leaf of B.
//
// Through A's coalesced leaves (s_0:d_0), (s_1:d_1), ... a leaf n:d of B walks 0, d, 2d, ... In mixed radix its steps stay
// within one digit if (n - 1) * d < s_0; pass a digit by if s_0 divides d; or fill it, if d divides s_0 and s_0 / d divides
// n, and go on with what is left of n in steps of 1. Everything else is no layout, and refused.
//
// The sum over B's leaves is A of the sum only if no digit carries: what the leaves can reach in one digit, together, has to
// stay below its extent. The last digit has none.
#include <map>

#include "layout/detail.h"

namespace gemmsmith {

namespace {
// The part of A that a basis direction of B points to, and how far B's leaves reach in its digits so far.
struct Left {
  detail::SymbolicLeaves leaves;
  std::vector<SymInt> reach;
  std::vector<int> users;
};

// The coalesced leaves, with a last leaf 1:d that says how offsets go on past the end. 1:0, which pads ranks, says nothing.
detail::SymbolicLeaves going_on(const SymbolicMode& mode) {
  detail::SymbolicLeaves all = mode.leaves();
  const auto pads = [](const SymbolicLeaf& leaf) {
    return leaf.extent.constant() == 1 && leaf.stride.scale.constant() == 0;
  };
  while (!all.empty() && pads(all.back())) all.pop_back();
  if (all.empty()) return {{1, 0}};
  detail::SymbolicLeaves leaves = coalesce(SymbolicMode::tuple(all)).leaves();
  const SymbolicLeaf& last = all.back();
  if (last.extent.constant() == 1 && !(leaves.back() == last) && !continues(leaves.back(), last.stride))
    leaves.push_back(last);
  return leaves;
}

class Composer {
 public:
  Composer(const SymbolicMode& a, const SymbolicMode& b) : a_(a), b_(b) {}

  Result<SymbolicMode> run() { return nested(b_); }

 private:
  Result<SymbolicMode> nested(const SymbolicMode& b) {
    if (b.is_leaf()) return leaf(b.leaf());
    SymbolicMode::Parts parts;
    for (const SymbolicMode& part : b) {
      GS_TRY(SymbolicMode composed, nested(part));
      parts.push_back(std::move(composed));
    }
    return SymbolicMode(std::move(parts));
  }

  Error refuse(const SymbolicLeaf& right, const std::string& limit, const std::string& remedy) const {
    return {"composition",
            concat(print(a_), " o ", print(b_)),
            concat("does not fit: leaf ", detail::print_leaf(right), " of the right side ", limit),
            remedy,
            {}};
  }

  Result<Left*> left_of(const SymbolicLeaf& right) {
    const auto found = lefts_.find(right.stride.basis);
    if (found != lefts_.end()) return &found->second;
    SymbolicMode part = a_;
    for (const int index : right.stride.basis) {
      if (part.is_leaf() || index < 0 || size_t(index) >= part.size())
        return refuse(right, "points to a mode that the left side does not have",
                      concat("an index below ", part.size()));
      part = SymbolicMode(part[size_t(index)]);
    }
    Left left;
    left.leaves = going_on(part);
    left.reach.assign(left.leaves.size(), SymInt(0));
    left.users.assign(left.leaves.size(), 0);
    return &lefts_.emplace(right.stride.basis, std::move(left)).first->second;
  }

  // One more leaf of B uses digit i, up to `reach`.
  Status use(Left& left, size_t i, const SymInt& reach, const SymbolicLeaf& right) {
    left.reach[i] = left.reach[i] + reach;
    if (++left.users[i] == 1) return Done{};
    const auto all = left.reach[i].constant(), extent = left.leaves[i].extent.constant();
    if (all && extent && *all < *extent) return Done{};
    return refuse(right,
                  concat("carries: with the leaves before it, it reaches ", left.reach[i].text(), " in the leaf ",
                         detail::print_leaf(left.leaves[i]), " of the left side"),
                  concat("leaves that stay below ", left.leaves[i].extent.text(), " together"));
  }

  Result<SymbolicMode> leaf(const SymbolicLeaf& right) {
    GS_TRY(Left* const left, left_of(right));
    SymInt n = right.extent, d = right.stride.scale;
    const auto& leaves = left->leaves;
    const size_t last = leaves.size() - 1;
    if (last == 0) return SymbolicMode(SymbolicLeaf{n, d * leaves[0].stride});
    if (d.constant() == 0 || n.constant() == 1) return SymbolicMode(SymbolicLeaf{n, 0});
    if (d.constant() && *d.constant() < 0)
      return refuse(right, concat("steps backwards through the ", leaves.size(), " leaves of the left side"),
                    "a left side of one leaf, or a positive stride");
    detail::SymbolicLeaves out;
    for (size_t i = 0; i < last; ++i) {
      const SymInt& extent = leaves[i].extent;
      const SymInt reach = (n - SymInt(1)) * d;
      if (reach.constant() && extent.constant() && *reach.constant() < *extent.constant()) {
        GS_CHECK(use(*left, i, max(reach, SymInt(0)), right));
        out.push_back({n, d * leaves[i].stride});
        return detail::mode_of(out);
      }
      if (const auto passed = exact_quotient(d, extent)) {
        d = *passed;
        continue;
      }
      const auto width = exact_quotient(extent, d);
      if (!width) return refuse(right, stride_limit(d, leaves[i]), stride_remedy(d, extent));
      const auto rest = exact_quotient(n, *width);
      if (!rest)
        return refuse(right,
                      concat("has ", n.text(), " steps of ", d.text(), " where the leaf ",
                             detail::print_leaf(leaves[i]), " of the left side has room for ", width->text()),
                      concat("an extent that divides ", width->text(), " or is a multiple of it"));
      GS_CHECK(use(*left, i, extent - d, right));
      out.push_back({*width, d * leaves[i].stride});
      n = *rest;
      d = SymInt(1);
      if (n.constant() == 1) return detail::mode_of(out);
    }
    out.push_back({n, d * leaves[last].stride});
    return detail::mode_of(out);
  }

  static std::string stride_limit(const SymInt& d, const SymbolicLeaf& leaf) {
    const bool known = d.constant() && leaf.extent.constant();
    return concat("steps by ", d.text(), " through the leaf ", detail::print_leaf(leaf),
                  " of the left side, and neither ", d.text(), " nor ", leaf.extent.text(),
                  known ? " divides the other" : " is known to divide the other");
  }
  static std::string stride_remedy(const SymInt& d, const SymInt& extent) {
    const auto n = extent.constant(), step = d.constant();
    if (!n || !step) return concat("steps of 1, or a multiple of ", extent.text());
    int64_t below = *step, above = *step;
    while (below > 1 && *n % below != 0) --below;
    while (above < *n && *n % above != 0) ++above;
    if (*step > *n) return concat("steps that are a multiple of ", *n);
    return concat("steps of ", below, " or ", above);
  }

  const SymbolicMode& a_;
  const SymbolicMode& b_;
  std::map<std::vector<int>, Left> lefts_;
};
}  // namespace

Result<SymbolicMode> composition(const SymbolicMode& a, const SymbolicMode& b) {
  GS_TRY(const SymbolicMode composed, Composer(a, b).run());
  return detail::checked("composition", composed, concat(print(a), " o ", print(b)));
}

}  // namespace gemmsmith
