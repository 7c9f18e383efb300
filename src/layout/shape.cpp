// Shapes and coordinates: products, quotients, indices, iteration.
#include <algorithm>
#include <numeric>

#include "layout/detail.h"

namespace gemmsmith {

namespace {
Error does_not_fit(const char* where, const Shape& given, const Shape& shape) {
  return {where, print(given), "is not nested like " + print(shape), "a number, or a tuple of the same rank", {}};
}

using Combine = Result<SymInt> (*)(const SymInt&, const SymInt&);

// Part by part; a part that one side lacks is 0.
Result<Coordinate> combine(const char* where, const Coordinate& a, const Coordinate& b, Combine f) {
  if (a.is_leaf() && b.is_leaf()) {
    GS_TRY(const SymInt n, f(a.leaf(), b.leaf()));
    return Coordinate(n);
  }
  const bool zero_a = a.is_leaf() && a.leaf().constant() == 0, zero_b = b.is_leaf() && b.leaf().constant() == 0;
  if ((a.is_leaf() && !zero_a) || (b.is_leaf() && !zero_b)) return does_not_fit(where, b, a);
  const size_t parts_a = zero_a ? 0 : a.size(), parts_b = zero_b ? 0 : b.size();
  Coordinate::Parts parts;
  for (size_t i = 0; i < std::max(parts_a, parts_b); ++i) {
    GS_TRY(Coordinate part, combine(where, i < parts_a ? a[i] : Coordinate(0), i < parts_b ? b[i] : Coordinate(0), f));
    parts.push_back(std::move(part));
  }
  return Coordinate(std::move(parts));
}

Result<SymInt> in_range(const SymInt& n) {
  if (n.overflowed()) return Error{"layout", "a coordinate", "is beyond 64 bits", "", {}};
  return n;
}

// A number into the parts of a tuple, the first part first: what is left of it goes on to the next.
template <class Divide>
Result<Shape> divide_shapes(const char* where, const Shape& a, const Shape& b, const Divide& divide) {
  if (a.is_leaf() && b.is_leaf()) {
    GS_TRY(const SymInt n, divide(a.leaf(), b.leaf()));
    return Shape(n);
  }
  if (a.is_leaf()) {
    GS_TRY(const SymInt n, divide(a.leaf(), product(b)));
    return Shape(n);
  }
  if (!b.is_leaf() && b.size() > a.size()) return does_not_fit(where, b, a);
  Shape::Parts parts;
  SymInt left = b.is_leaf() ? b.leaf() : SymInt(1);
  for (size_t i = 0; i < a.size(); ++i) {
    const Shape by = b.is_leaf() ? Shape(left) : i < b.size() ? b[i] : Shape(1);
    GS_TRY(Shape part, divide_shapes(where, a[i], by, divide));
    parts.push_back(std::move(part));
    if (b.is_leaf()) left = ceil_div(left, product(a[i]));
  }
  return Shape(std::move(parts));
}

struct OrderedLeaf {
  size_t position;
  int64_t order;
};
Status collect_order(const Shape& shape, const Nested<int64_t>& order, std::vector<OrderedLeaf>& out) {
  if (order.is_leaf()) {
    const size_t first = out.size(), count = shape.leaves().size();
    for (size_t i = 0; i < count; ++i) out.push_back({first + i, order.leaf()});
    return Done{};
  }
  if (shape.is_leaf() || shape.size() != order.size()) {
    const Shape given = transform(order, [](int64_t n) { return SymInt(n); });
    return Error{"ordered",
                 "an order of " + print(given),
                 "is not nested like the shape " + print(shape),
                 "one number for each mode",
                 {}};
  }
  for (size_t i = 0; i < shape.size(); ++i) GS_CHECK(collect_order(shape[i], order[i], out));
  return Done{};
}

// A shape with the next strides of a list.
SymbolicMode with_strides(const Shape& shape, const std::vector<SymInt>& strides) {
  size_t next = 0;
  return transform(shape, [&](const SymInt& extent) { return SymbolicLeaf{extent, Stride(strides[next++])}; });
}

bool same_size(const SymInt& a, const SymInt& b) { return a == b; }

// The next coordinate, and whether it wrapped around.
Result<bool> step(const Coordinate& at, const Shape& shape, Coordinate& next) {
  if (at.is_leaf() != shape.is_leaf() || at.size() != shape.size()) return does_not_fit("increment", at, shape);
  if (shape.is_leaf()) {
    const auto index = at.leaf().constant(), extent = shape.leaf().constant();
    if (!index || !extent)
      return Error{
          "increment", concat(print(at), " in ", print(shape)), "is not known, and only known numbers wrap", "", {}};
    const bool wraps = *index + 1 >= *extent;
    next = Coordinate(SymInt(wraps ? 0 : *index + 1));
    return wraps;
  }
  Coordinate::Parts parts;
  bool carry = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    Coordinate part = at[i];
    if (carry) {
      GS_TRY(carry, step(at[i], shape[i], part));
    }
    parts.push_back(std::move(part));
  }
  next = Coordinate(std::move(parts));
  return carry;
}
}  // namespace

Shape shape_of(const SymbolicMode& mode) {
  return transform(mode, [](const SymbolicLeaf& leaf) { return leaf.extent; });
}

SymInt product(const Shape& shape) {
  SymInt n(1);
  for (const SymInt& extent : shape.leaves()) n = n * extent;
  return n;
}

Shape product_each(const Shape& shape) {
  Shape::Parts parts;
  for (const Shape& part : shape) parts.push_back(product(part));
  return Shape(std::move(parts));
}

Result<Shape> ceil_div(const Shape& a, const Shape& b) {
  return divide_shapes("ceil_div", a, b, [](const SymInt& n, const SymInt& d) -> Result<SymInt> {
    if (d.constant() == 0) return Error{"ceil_div", n.text(), "is divided by 0", "", {}};
    return ceil_div(n, d);
  });
}

Result<Shape> shape_div(const Shape& a, const Shape& b) {
  return divide_shapes("shape_div", a, b, [](const SymInt& n, const SymInt& d) -> Result<SymInt> {
    if (const auto quotient = exact_quotient(n, d)) return *quotient;
    if (n.constant() && d.constant() && *n.constant() > 0 && *d.constant() % *n.constant() == 0) return SymInt(1);
    if (!n.constant() || !d.constant()) return ceil_div(n, d);
    return Error{"shape_div",
                 concat(n.text(), " by ", d.text()),
                 "does not come out even",
                 "a divisor or a multiple of " + n.text(),
                 {}};
  });
}

Result<Coordinate> add(const Coordinate& a, const Coordinate& b) {
  return combine("add", a, b, [](const SymInt& x, const SymInt& y) { return in_range(x + y); });
}
Result<Coordinate> subtract(const Coordinate& a, const Coordinate& b) {
  return combine("subtract", a, b, [](const SymInt& x, const SymInt& y) { return in_range(x - y); });
}

SymbolicMode compact(const Shape& shape) {
  std::vector<SymInt> strides;
  SymInt stride(1);
  for (const SymInt& extent : shape.leaves()) {
    strides.push_back(stride);
    stride = stride * extent;
  }
  return with_strides(shape, strides);
}

Result<SymbolicMode> ordered(const Shape& shape, const Nested<int64_t>& order) {
  std::vector<OrderedLeaf> by_order;
  GS_CHECK(collect_order(shape, order, by_order));
  std::stable_sort(by_order.begin(), by_order.end(), [](auto& a, auto& b) { return a.order < b.order; });
  const std::vector<SymInt> extents = shape.leaves();
  std::vector<SymInt> strides(extents.size(), SymInt(0));
  SymInt stride(1);
  for (const OrderedLeaf& leaf : by_order) {
    strides[leaf.position] = stride;
    stride = stride * extents[leaf.position];
  }
  return detail::checked("ordered", with_strides(shape, strides), print(shape));
}

Result<SymInt> index_of(const Coordinate& at, const Shape& shape) {
  if (at.is_leaf()) return at.leaf();
  if (shape.is_leaf() || at.size() != shape.size()) return does_not_fit("index_of", at, shape);
  SymInt index(0), inner(1);
  for (size_t i = 0; i < shape.size(); ++i) {
    GS_TRY(const SymInt part, index_of(at[i], shape[i]));
    index = index + part * inner;
    inner = inner * product(shape[i]);
  }
  return in_range(index);
}

Result<Coordinate> coordinate_of(const Coordinate& index, const Shape& shape) {
  if (shape.is_leaf()) {
    if (!index.is_leaf()) return does_not_fit("coordinate_of", index, shape);
    return index;
  }
  Coordinate::Parts parts;
  if (!index.is_leaf()) {
    if (index.size() != shape.size()) return does_not_fit("coordinate_of", index, shape);
    for (size_t i = 0; i < shape.size(); ++i) {
      GS_TRY(Coordinate part, coordinate_of(index[i], shape[i]));
      parts.push_back(std::move(part));
    }
    return Coordinate(std::move(parts));
  }
  SymInt left = index.leaf();
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool last = i + 1 == shape.size();
    const SymInt extent = product(shape[i]);
    GS_TRY(Coordinate part, coordinate_of(last ? left : left % extent, shape[i]));
    parts.push_back(std::move(part));
    if (!last) left = left / extent;
  }
  return Coordinate(std::move(parts));
}

Result<Coordinate> increment(const Coordinate& at, const Shape& shape) {
  Coordinate next = at;
  GS_CHECK(step(at, shape, next));
  return next;
}

Status for_each_coordinate(const Shape& shape, const std::function<void(const Coordinate&)>& f) {
  const auto count = product(shape).constant();
  if (!count) return Error{"for_each_coordinate", print(shape), "is not known", "numbers for its symbols", {}};
  Coordinate at = transform(shape, [](const SymInt&) { return SymInt(0); });
  for (int64_t i = 0; i < *count; ++i) {
    f(at);
    GS_TRY(at, increment(at, shape));
  }
  return Done{};
}

bool compatible(const Shape& a, const Shape& b) {
  if (a.is_leaf()) return same_size(a.leaf(), product(b));
  if (b.is_leaf() || a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!compatible(a[i], b[i])) return false;
  return true;
}

}  // namespace gemmsmith
