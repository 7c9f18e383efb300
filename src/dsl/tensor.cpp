#include "dsl/tensor.h"

#include <string>

#include "dsl/ops.h"

namespace gemmsmith {

namespace {
std::string text_of(const Int& n) { return n.constant() ? std::to_string(*n.constant()) : "a run-time number"; }

// Whether an index is compared with an extent: always when both are known, else only in recordings that ask for it.
bool checked(const Int& index, const Int& extent) {
  return (index.constant() && extent.constant()) || op::checks_bounds();
}
}  // namespace

TensorLayout staged(const Layout& layout) {
  const auto leaf = [](const Leaf& l) { return BasicLeaf<Int>{l.extent, l.stride}; };
  return {transform(layout.modes, leaf), layout.swizzle, layout.element_bytes};
}

bool Tensor::contiguous(int mode) const {
  if (mode < 0 || mode >= rank()) return false;
  const auto leaves = layout_.modes[size_t(mode)].leaves();
  return !leaves.empty() && leaves.front().stride.constant() == bytes(element_);
}

Scalar Tensor::pointer() const { return op::advance(pointer_, linear_); }

bool Tensor::is_static() const {
  for (int m = 0; m < rank(); ++m)
    if (!extent(m).constant()) return false;
  return true;
}

std::optional<Layout> Tensor::static_layout() const {
  for (const auto& leaf : layout_.modes.leaves())
    if (!leaf.extent.constant() || !leaf.stride.constant()) return {};
  const auto known = [](const BasicLeaf<Int>& l) { return Leaf{*l.extent.constant(), *l.stride.constant()}; };
  return Layout{transform(layout_.modes, known), layout_.swizzle, layout_.element_bytes};
}

bool Tensor::rank_is(const Coord& coordinate, const char* what, const Where& at) const {
  if (int(coordinate.size()) == rank()) return true;
  op::fail(at, std::string(what) + " with " + std::to_string(coordinate.size()) + " numbers",
           "does not fit a tensor of rank " + std::to_string(rank()));
  return false;
}
bool Tensor::mode_is_there(int mode, const char* what, const Where& at) const {
  if (mode >= 0 && mode < rank()) return true;
  op::fail(at, std::string(what) + " mode " + std::to_string(mode),
           "is not one of a tensor of rank " + std::to_string(rank()));
  return false;
}

// Views.

Tensor Tensor::moved(const std::vector<Offset>& steps, std::vector<BasicMode<Int>> modes) const {
  int64_t number = 0;
  std::optional<Offset> run_time;  // what is known stays a number: it ends up in the displacement of an address
  for (const Offset& b : steps)
    if (b.constant())
      number += *b.constant();
    else
      run_time.emplace(run_time ? *run_time + b : b);
  TensorLayout layout{std::move(modes), layout_.swizzle, layout_.element_bytes};
  if (!run_time) return {pointer_, element_, std::move(layout), space_, linear_ + number};
  if (layout_.swizzle.bits)  // the sum has to be complete before its bits are permuted
    return {pointer_, element_, std::move(layout), space_, linear_ + number + *run_time};
  return {op::advance(pointer_, *run_time), element_, std::move(layout), space_, linear_ + number};
}

Int Tensor::tiles(int mode, Int n, Where at) const {
  const Scope scope("tiles", at);
  if (!mode_is_there(mode, "tiles:", at)) return 1;
  return ceil_div(extent(mode), n);
}

Tensor Tensor::tile(const Coord& shape, const Coord& index, Where at) const {
  const Scope scope("tile", at);
  if (!rank_is(shape, "a tile's shape", at) || !rank_is(index, "a tile's index", at)) return *this;
  std::vector<Offset> steps;
  std::vector<BasicMode<Int>> modes;
  for (size_t m = 0; m < size_t(rank()); ++m) {
    if (same(shape[m], all)) {
      modes.push_back(layout_.modes[m]);
      continue;
    }
    auto divided = gemmsmith::divide(layout_.modes[m], shape[m]);
    if (!divided.ok()) {
      op::fail(at, std::move(divided).error().note("of mode " + std::to_string(m)));
      return *this;
    }
    const BasicMode<Int>& first = divided->tile;
    steps.push_back(offset(divided->tiles, index[m]));
    const Int whole = extent(int(m)), start = index[m] * shape[m];
    // A tile of nothing at the end is one, so that there is a tile 0 of an empty mode.
    if (checked(start, whole))
      op::check(start <= whole, "tile " + text_of(index[m]) + " of " + text_of(shape[m]),
                "begins past the end of mode " + std::to_string(m) + ", which has " + text_of(whole), at);
    const bool always_full = whole.constant() && shape[m].constant() && *whole.constant() % *shape[m].constant() == 0;
    const bool known_full = whole.constant() && shape[m].constant() && start.constant() &&
                            *start.constant() + *shape[m].constant() <= *whole.constant();
    if (always_full || known_full) {
      modes.push_back(first);
      continue;
    }
    if (first.size() > 1) {
      op::fail(at, "a tile of " + text_of(shape[m]),
               "may be incomplete in mode " + std::to_string(m) + ", whose tiles have " + std::to_string(first.size()) +
                   " leaves; only one leaf can be cut short",
               "a tile that divides " + text_of(whole));
      return *this;
    }
    modes.push_back({{min(shape[m], whole - start), first.leaves()[0].stride}});
  }
  return moved(steps, std::move(modes));
}

Tensor Tensor::divide(int mode, Int n, Where at) const {
  const Scope scope("divide", at);
  if (!mode_is_there(mode, "divide:", at)) return *this;
  std::vector<BasicMode<Int>> modes;
  for (int m = 0; m < rank(); ++m) {
    if (m != mode) {
      modes.push_back(layout_.modes[size_t(m)]);
      continue;
    }
    auto divided = gemmsmith::divide(layout_.modes[size_t(m)], n);
    if (!divided.ok()) {
      op::fail(at, std::move(divided).error().note("of mode " + std::to_string(m)));
      return *this;
    }
    modes.push_back(divided->tile);
    modes.push_back(divided->tiles);
  }
  return moved({}, std::move(modes));
}

Tensor Tensor::slice(int mode, Int index, Where at) const {
  const Scope scope("slice", at);
  if (!mode_is_there(mode, "slice:", at)) return *this;
  const Int whole = extent(mode);
  if (checked(index, whole))
    op::check(index < whole, "index " + text_of(index),
              "is outside mode " + std::to_string(mode) + ", which has " + text_of(whole), at);
  std::vector<BasicMode<Int>> modes;
  for (int m = 0; m < rank(); ++m)
    if (m != mode) modes.push_back(layout_.modes[size_t(m)]);
  return moved({offset(layout_.modes[size_t(mode)], index)}, std::move(modes));
}

Tensor Tensor::transposed(Where at) const {
  const Scope scope("transposed", at);
  if (rank() < 2) {
    op::fail(at, "a tensor of rank " + std::to_string(rank()), "has no two modes that could change places");
    return *this;
  }
  const size_t last = layout_.modes.size() - 1;
  std::vector<BasicMode<Int>> modes;
  for (size_t m = 0; m <= last; ++m) modes.push_back(layout_.modes[m + 1 < last ? m : m == last ? last - 1 : last]);
  return moved({}, std::move(modes));
}

Tensor Tensor::exactly(const Coord& shape, Where at) const {
  const Scope scope("exactly", at);
  if (!rank_is(shape, "exactly: a shape", at)) return *this;
  std::vector<BasicMode<Int>> modes;
  for (size_t m = 0; m < size_t(rank()); ++m) {
    const auto leaves = layout_.modes[m].leaves();
    const bool as_it_is = same(shape[m], all) || leaves.size() > 1;
    const auto was = extent(int(m)).constant(), is = shape[m].constant();
    if (!same(shape[m], all) && (was || leaves.size() > 1) && is && was != is) {
      op::fail(at, "exactly " + text_of(shape[m]) + " in mode " + std::to_string(m),
               "contradicts its extent, " + text_of(extent(int(m))));
      return *this;
    }
    modes.push_back(as_it_is ? layout_.modes[m] : BasicMode<Int>{{shape[m], leaves[0].stride}});
  }
  return moved({}, std::move(modes));
}

Tensor Tensor::unmasked() const {
  constexpr int64_t kEverything = int64_t(1) << 30;
  std::vector<BasicMode<Int>> modes;
  for (const BasicMode<Int>& mode : layout_.modes) {
    const auto leaves = mode.leaves();
    modes.push_back(leaves.size() == 1 ? BasicMode<Int>{{kEverything, leaves[0].stride}} : mode);
  }
  return moved({}, std::move(modes));
}

Bool Tensor::is_exactly(const Coord& shape, Where at) const {
  const Scope scope("is_exactly", at);
  if (!rank_is(shape, "is_exactly: a shape", at)) return true;
  std::vector<Bool> conditions{true};
  for (int m = 0; m < rank(); ++m)
    if (!same(shape[size_t(m)], all)) conditions.push_back(conditions.back() & (extent(m) == shape[size_t(m)]));
  return conditions.back();
}

Tensor Tensor::recast(Kind to, Where at) const {
  const Scope scope("recast", at);
  const int64_t from_bytes = bytes(element_), to_bytes = bytes(to);
  const std::string given = "recast from " + print(element_) + " to " + print(to);
  int mode = 0;
  while (mode < rank() && !contiguous(mode)) ++mode;
  if (mode == rank()) {
    op::fail(at, given, "needs a mode that is contiguous");
    return *this;
  }
  const auto contiguous_mode = layout_.modes[size_t(mode)].leaves();
  const auto extent = contiguous_mode[0].extent.constant();
  if (to_bytes > from_bytes) {
    const int64_t ratio = to_bytes / from_bytes;
    if (!extent || *extent % ratio != 0) {
      op::fail(at, given, "does not come out even: the contiguous mode has " + text_of(contiguous_mode[0].extent),
               "a known multiple of " + std::to_string(ratio));
      return *this;
    }
    for (int m = 0; m < rank(); ++m) {
      const auto leaves = layout_.modes[size_t(m)].leaves();
      for (size_t l = 0; l < leaves.size(); ++l) {
        const auto stride = leaves[l].stride.constant();
        if ((m == mode && l == 0) || (stride && *stride % to_bytes == 0)) continue;
        op::fail(at, given,
                 "needs steps of whole elements in mode " + std::to_string(m) + ", which has " +
                     (stride ? std::to_string(*stride) + " bytes" : "a run-time stride"),
                 "multiples of " + std::to_string(to_bytes) + " bytes");
        return *this;
      }
    }
    if (const auto start = linear_.constant(); start && *start % to_bytes != 0) {
      op::fail(at, given, "begins " + std::to_string(*start) + " bytes into the tensor",
               "a multiple of " + std::to_string(to_bytes));
      return *this;
    }
  }
  BasicMode<Int> leaves{{to_bytes > from_bytes ? Int(*extent / (to_bytes / from_bytes))
                                               : contiguous_mode[0].extent * Int(from_bytes / to_bytes),
                         to_bytes}};
  for (size_t l = 1; l < contiguous_mode.size(); ++l) leaves.push_back(contiguous_mode[l]);
  std::vector<BasicMode<Int>> changed;
  for (int m = 0; m < rank(); ++m)
    changed.push_back(m == mode ? BasicMode<Int>::tuple(coalesce(leaves).leaves()) : layout_.modes[size_t(m)]);
  return {pointer_, to, TensorLayout{std::move(changed), layout_.swizzle, int(to_bytes)}, space_, linear_};
}

// Accesses.

Scalar Tensor::address(const Coord& at) const {
  std::vector<Offset> steps;
  for (size_t m = 0; m < size_t(rank()); ++m) steps.push_back(offset(layout_.modes[m], at[m]));
  const Tensor here = moved(steps, {});
  return op::advance(here.pointer_, swizzled(here.linear_, layout_.swizzle.mask()));
}

std::optional<Scalar> Tensor::mask(const Coord& at, int lanes, int along, const Where& where) const {
  std::optional<Bool> exists;
  std::optional<Int> limit;
  for (int m = 0; m < rank(); ++m) {
    const Int n = extent(m), x = at[size_t(m)];
    const int wide = m == along ? lanes : 1;
    if (n.constant() && (x.constant() || *n.constant() % wide == 0)) {
      const bool fits = !x.constant() || *x.constant() + wide <= *n.constant();
      const auto text = [&] {
        return "index " + text_of(x) + (wide > 1 ? " and " + std::to_string(wide) + " lanes" : "");
      };
      if (fits) {
        if (checked(x, n))
          op::check(x + (wide - 1) < n, text(), "is outside mode " + std::to_string(m) + ", which has " + text_of(n),
                    where);
        continue;
      }
      if (*x.constant() >= *n.constant()) {
        op::fail(where, text(), "is outside mode " + std::to_string(m) + ", which has " + text_of(n));
        return {};
      }
    }
    if (wide > 1)
      limit.emplace(n - x);
    else
      exists.emplace(exists ? *exists & (x < n) : x < n);
  }
  if (!limit && !exists) return {};
  const Int some = limit ? *limit : Int(lanes);
  return op::mask(exists ? select(*exists, some, 0) : some, lanes);
}

// The mode along which lanes lie: the contiguous one.
int Tensor::vector_mode(int lanes, const Where& where) const {
  if (lanes < 1) op::fail(where, "a vector of " + std::to_string(lanes) + " lanes", "has fewer than one");
  if (layout_.swizzle.bits && lanes * bytes(element_) > 16)
    op::fail(where, "a vector of " + std::to_string(lanes * bytes(element_)) + " bytes",
             "is wider than the 16 bytes that a swizzle keeps together",
             std::to_string(16 / bytes(element_)) + " lanes");
  for (int m = 0; m < rank(); ++m)
    if (contiguous(m)) {
      const auto leaves = layout_.modes[size_t(m)].leaves();
      const auto leaf = leaves.front().extent.constant();
      if (lanes > 1 && leaves.size() > 1 && (!leaf || *leaf % lanes != 0))
        op::fail(where, "a vector of " + std::to_string(lanes) + " lanes",
                 "crosses the contiguous leaf of " + text_of(leaves.front().extent));
      return m;
    }
  if (lanes > 1)
    op::fail(where, "a vector of " + std::to_string(lanes) + " lanes", "needs a contiguous mode",
             "load_along(), store_along()");
  return -1;
}

Vec Tensor::load(const Coord& at, int lanes, Where where) const {
  const Scope scope("load", where);
  const int mode = vector_mode(lanes, where);
  if (!rank_is(at, "a coordinate", where) || op::failed()) return zero(element_, std::max(lanes, 1));
  return op::load(address(at), element_, lanes, mask(at, lanes, mode, where));
}

void Tensor::store(const Coord& at, VecArg value) const {
  const Scope scope("store", value.at);
  const int mode = vector_mode(value.v.lanes, value.at);
  if (!rank_is(at, "a coordinate", value.at) || op::failed()) return;
  op::store(address(at), convert({value.v, value.at}, element_), mask(at, value.v.lanes, mode, value.at));
}

Vec Tensor::load_along(int mode, const Coord& at, int lanes, Where where) const {
  const Scope scope("load", where);
  if (!mode_is_there(mode, "load_along:", where) || !rank_is(at, "a coordinate", where))
    return zero(element_, std::max(lanes, 1));
  if (contiguous(mode) || lanes == 1) return load(at, lanes, where);
  const auto leaves = layout_.modes[size_t(mode)].leaves();
  if (leaves.size() == 1 && leaves[0].stride.constant() == 0) return broadcast({load(at, 1, where), where}, lanes);
  std::vector<Vec> parts;
  for (int i = 0; i < lanes; ++i) {
    Coord here;
    for (int m = 0; m < rank(); ++m) here.push_back(m == mode ? at[size_t(m)] + i : at[size_t(m)]);
    parts.push_back(load(here, 1, where));
  }
  return join(parts, where);
}

void Tensor::store_along(int mode, const Coord& at, VecArg value) const {
  const Scope scope("store", value.at);
  if (!mode_is_there(mode, "store_along:", value.at) || !rank_is(at, "a coordinate", value.at)) return;
  if (contiguous(mode) || value.v.lanes == 1) return store(at, value);
  const Vec converted = convert({value.v, value.at}, element_);
  for (int i = 0; i < converted.lanes; ++i) {
    Coord here;
    for (int m = 0; m < rank(); ++m) here.push_back(m == mode ? at[size_t(m)] + i : at[size_t(m)]);
    store(here, {extract({converted, value.at}, i), value.at});
  }
}

void Tensor::prefetch(const Coord& at, Where where) const {
  const Scope scope("prefetch", where);
  if (!rank_is(at, "a coordinate", where)) return;
  op::prefetch(address(at));
}

void full_or_edge(const Tensor& tile, const Coord& shape, const std::function<void(const Tensor&)>& body, Where at) {
  when({tile.is_exactly(shape, at), at}, [&] { body(tile.exactly(shape, at)); }, [&] { body(tile); });
}

std::vector<Tensor> rows_of(const Tensor& tile, int rows, Where at) {
  std::vector<Tensor> out;
  for (int r = 0; r < rows; ++r) out.push_back(tile.slice(0, r, at));
  return out;
}

}  // namespace gemmsmith
