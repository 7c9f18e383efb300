// What the files of the algebra share.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "gemmsmith/layout_algebra.h"
#include "gemmsmith/layout_text.h"
#include "support/text.h"

namespace gemmsmith::detail {

using SymbolicLeaves = std::vector<SymbolicLeaf>;

inline std::string print_leaf(const SymbolicLeaf& leaf) { return concat(leaf.extent.text(), ':', leaf.stride.text()); }

// One leaf bare, several as a tuple, none as 1:0.
inline SymbolicMode mode_of(const SymbolicLeaves& leaves) {
  if (leaves.empty()) return SymbolicLeaf{1, 0};
  return leaves.size() == 1 ? SymbolicMode(leaves[0]) : SymbolicMode::tuple(leaves);
}

// The result of an operation, unless one of its numbers left 64 bits.
inline Result<SymbolicMode> checked(const char* operation, const SymbolicMode& mode, const std::string& operands) {
  for (const SymbolicLeaf& leaf : mode.leaves())
    if (leaf.extent.overflowed() || leaf.stride.scale.overflowed())
      return Error{operation, operands, "has a result beyond 64 bits", "smaller extents or strides", {}};
  return mode;
}

// Terms along basis directions, as one tree: what is without a basis at a level is the only term there.
template <class T>
struct Term {
  std::vector<int> basis;
  T value;
};
template <class T>
bool plain(const std::vector<Term<T>>& terms) {
  for (const auto& term : terms)
    if (!term.basis.empty()) return false;
  return true;
}
// The terms that begin with each index, with that index taken off. Every part up to the largest index has a place.
template <class T>
std::vector<std::vector<Term<T>>> by_first_index(const std::vector<Term<T>>& terms) {
  std::vector<std::vector<Term<T>>> parts;
  for (const auto& term : terms) {
    const size_t index = size_t(term.basis.front());
    if (parts.size() <= index) parts.resize(index + 1);
    parts[index].push_back({{term.basis.begin() + 1, term.basis.end()}, term.value});
  }
  return parts;
}

// A strict order of positive numbers: known ones by value, symbolic ones by divisibility (1 before m before m*n).
// False both ways where it cannot be told.
inline bool known_less(const SymInt& a, const SymInt& b) {
  if (a.constant() && b.constant()) return *a.constant() < *b.constant();
  return !(a == b) && divides(a, b);
}

}  // namespace gemmsmith::detail
