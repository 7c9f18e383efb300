#include "dsl/warp_mma.h"

#include <algorithm>

namespace gemmsmith {
namespace {

constexpr int kUnit = 16;       // rows of an operand that one ldmatrix.x4 loads
constexpr int kStepBytes = 32;  // of k, of one mma
constexpr int kColumns = 8;     // of one mma

int steps_of(const AsyncInput& in) {
  return std::max(int(in.layout().extent(1)) * in.layout().element_bytes / kStepBytes, 1);
}

bool fits(const AsyncInput& a, const AsyncInput& b, const TileShape& shape, const Where& at) {
  const auto whole = [](int n) { return n > 0 && n % kUnit == 0; };
  if (!whole(shape.rows) || !whole(shape.columns)) {
    op::fail(at, "a warp's tile of " + std::to_string(shape.rows) + " x " + std::to_string(shape.columns),
             "is not made of 16 x 16, what one ldmatrix of each operand serves");
    return false;
  }
  if (a.element() != b.element() || a.layout().extent(1) != b.layout().extent(1) ||
      a.layout().extent(1) * a.layout().element_bytes % kStepBytes != 0) {
    op::fail(at, "stages of \"" + a.name() + "\" and \"" + b.name() + "\"",
             "do not multiply: one type, and the same number of k in steps of 32 bytes, are what mma.sync takes");
    return false;
  }
  return true;
}

}  // namespace

// PTX ISA, "Matrix Fragments for mma.m16n8k16" and "ldmatrix": matrix i of the four is the one whose rows lanes 8 i to
// 8 i + 7 point to. A wants its row halves first, B, whose units are two n8, its halves of k. Rows that are contiguous are
// loaded as columns.
WarpTile::Addresses WarpTile::addresses_of(const AsyncInput& in, int units, const Int& first, const Int& lane,
                                           bool is_b) {
  const int element = in.layout().element_bytes;
  const Int matrix = lane / 8, inner = lane % 8;
  const Int row_half = is_b ? matrix / 2 : matrix % 2, k_half = is_b ? matrix % 2 : matrix / 2;
  const Int row = first + row_half * 8 + (in.by_rows() ? Int(0) : inner);
  const Int k = k_half * (kStepBytes / 2 / element) + (in.by_rows() ? inner : Int(0));
  const TensorLayout layout = staged(in.layout());
  Addresses out(static_cast<size_t>(units));
  for (int unit = 0; unit < units; ++unit)
    for (int step = 0; step < steps_of(in); ++step) {
      const Offset linear = layout.linear({row + unit * kUnit, k + step * (kStepBytes / element)});
      out[size_t(unit)].push_back(
          op::as_int(op::advance(op::shared_pointer(0), swizzled(linear, in.layout().swizzle.mask()))));
    }
  return out;
}

WarpTile::WarpTile(const AsyncInput& a, const AsyncInput& b, TileShape shape, const Int& row, const Int& column,
                   const Int& lane, Where at)
    : a_(&a),
      b_(&b),
      shape_(shape),
      row_(row),
      column_(column),
      lane_(lane),
      sums_(std::vector<Scalar>(size_t(std::max(shape.rows * shape.columns / 32, 4)),
                                zero(op::accumulator_of(a.element()), 1))) {
  const Scope scope("warp_tile", at);
  if (!fits(a, b, shape, at)) return;
  from_a_ = addresses_of(a, shape.rows / kUnit, row, lane, false);
  from_b_ = addresses_of(b, shape.columns / kUnit, column, lane, true);
}

void WarpTile::mma(const Int& stage, Where at) {
  const Scope scope("warp_tile.mma", at);
  if (op::failed()) return;
  const Int a = a_->buffer(stage), b = b_->buffer(stage);
  const int columns = shape_.columns / kColumns;
  for (size_t step = 0; step < size_t(steps_of(*a_)); ++step) {
    std::vector<std::vector<Scalar>> left, right;
    for (const auto& unit : from_a_) left.push_back(op::load_matrix(a + unit[step], 4, a_->by_rows()));
    for (const auto& unit : from_b_) right.push_back(op::load_matrix(b + unit[step], 4, b_->by_rows()));
    for (size_t i = 0; i < left.size(); ++i)
      for (int j = 0; j < columns; ++j) {
        const std::vector<Scalar>& pair = right[size_t(j / 2)];
        auto sum = sums_.values().begin() + (ptrdiff_t(i) * columns + j) * 4;
        const std::vector<Scalar> next = op::mma_sync(
            {sum, sum + 4}, left[i], {pair[size_t(j % 2 * 2)], pair[size_t(j % 2 * 2 + 1)]}, a_->element());
        std::copy(next.begin(), next.end(), sum);
      }
  }
}

void WarpTile::store(const Tensor& tile, Where at) const {
  const Scope scope("warp_tile.store", at);
  if (op::failed()) return;
  const int columns = shape_.columns / kColumns;
  const Int row = row_ + lane_ / 4, column = column_ + lane_ % 4 * 2;
  for (int i = 0; i < shape_.rows / kUnit; ++i)
    for (int j = 0; j < columns; ++j)
      for (int half = 0; half < 2; ++half) {
        const size_t first = size_t((i * columns + j) * 4 + half * 2);
        tile.store({row + (i * kUnit + half * 8), column + j * kColumns},
                   join({Vec(sums_.values()[first]), Vec(sums_.values()[first + 1])}));
      }
}

}  // namespace gemmsmith
