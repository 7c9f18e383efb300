// A nested tuple: a leaf, or a tuple of nested tuples. Shapes (4,(2,8)), coordinates (1,(0,3)), tilers and the modes of
// layouts are all of this form; CuTe calls it an IntTuple or, of layouts, a hierarchical layout.
#pragma once
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gemmsmith/result.h"

namespace gemmsmith {

template <class T>
class Nested {
 public:
  using Parts = std::vector<Nested>;

  Nested() = default;  // the empty tuple ()
  Nested(T leaf) : state_(std::in_place_index<1>, std::move(leaf)) {}
  Nested(Parts parts) : state_(std::in_place_index<0>, std::move(parts)) {}
  Nested(std::initializer_list<Nested> parts) : state_(std::in_place_index<0>, parts) {}
  // A leaf from its members, so that {{64, 2}, {2, 16384}} is a tuple of two (extent, stride) leaves.
  template <class A, class B>
    requires requires(A&& a, B&& b) { T{std::forward<A>(a), std::forward<B>(b)}; }
  Nested(A&& a, B&& b) : state_(std::in_place_index<1>, T{std::forward<A>(a), std::forward<B>(b)}) {}
  static Nested tuple(const std::vector<T>& leaves) { return Nested(Parts(leaves.begin(), leaves.end())); }

  bool is_leaf() const { return state_.index() == 1; }
  const T& leaf() const {
    GS_ASSERT(is_leaf(), "a tuple is not a leaf");
    return *std::get_if<1>(&state_);
  }

  // As a tuple. A leaf counts as its own only part, so that rank and [] need no case for it.
  size_t size() const { return is_leaf() ? 1 : parts().size(); }
  bool empty() const { return size() == 0; }
  const Nested& operator[](size_t i) const {
    GS_ASSERT(i < size(), "a part of the tuple");
    return is_leaf() ? *this : parts()[i];
  }
  const Nested* begin() const { return is_leaf() ? this : parts().data(); }
  const Nested* end() const { return begin() + size(); }
  void push_back(Nested part) {
    GS_ASSERT(!is_leaf(), "only a tuple can grow");
    std::get_if<0>(&state_)->push_back(std::move(part));
  }

  // All leaves from left to right.
  std::vector<T> leaves() const {
    std::vector<T> out;
    append_leaves(out);
    return out;
  }
  // 0 for a leaf, else one more than the deepest part.
  int depth() const {
    if (is_leaf()) return 0;
    int deepest = 0;
    for (const Nested& part : parts()) deepest = part.depth() > deepest ? part.depth() : deepest;
    return deepest + 1;
  }

  friend bool operator==(const Nested& a, const Nested& b)
    requires std::equality_comparable<T>
  {
    if (a.is_leaf() != b.is_leaf()) return false;
    return a.is_leaf() ? a.leaf() == b.leaf() : a.parts() == b.parts();
  }

 private:
  const Parts& parts() const { return *std::get_if<0>(&state_); }
  void append_leaves(std::vector<T>& out) const {
    if (is_leaf()) return out.push_back(leaf());
    for (const Nested& part : parts()) part.append_leaves(out);
  }

  std::variant<Parts, T> state_;
};

// The same tuple with f(leaf) in place of each leaf.
template <class T, class F>
auto transform(const Nested<T>& tuple, const F& f) -> Nested<std::decay_t<std::invoke_result_t<F, const T&>>> {
  using Out = Nested<std::decay_t<std::invoke_result_t<F, const T&>>>;
  if (tuple.is_leaf()) return Out(f(tuple.leaf()));
  typename Out::Parts parts;
  for (const Nested<T>& part : tuple) parts.push_back(transform(part, f));
  return Out(std::move(parts));
}

// The same nesting, whatever the leaves are: CuTe's congruent.
template <class A, class B>
bool congruent(const Nested<A>& a, const Nested<B>& b) {
  if (a.is_leaf() || b.is_leaf()) return a.is_leaf() && b.is_leaf();
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!congruent(a[i], b[i])) return false;
  return true;
}

// `b` is nested like `a` or deeper: a leaf of `a` takes any part of `b`.
template <class A, class B>
bool weakly_congruent(const Nested<A>& a, const Nested<B>& b) {
  if (a.is_leaf()) return true;
  if (b.is_leaf() || a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!weakly_congruent(a[i], b[i])) return false;
  return true;
}

}  // namespace gemmsmith
