#include <string>

#include "dsl/cpu.h"

namespace gemmsmith {

namespace {
// Reports a shape that no register tile has and gives one that works.
int vectors_of(int rows, int columns, int lanes, const Where& at) {
  if (rows > 0 && lanes > 0 && columns > 0 && columns % lanes == 0) return columns / lanes;
  op::fail(at, "a register tile of " + std::to_string(rows) + " x " + std::to_string(columns),
           "is not made of whole vectors of " + std::to_string(lanes) + " lanes",
           "columns that are a multiple of the lanes");
  return 1;
}
}  // namespace

RegisterTile::RegisterTile(int rows, int columns, Kind sum, int lanes, const Tensor& scratch, Where at)
    : sums_(rows > 0 ? rows : 1, vectors_of(rows, columns, lanes, at), zero(sum, lanes > 0 ? lanes : 1)),
      lanes_(lanes > 0 ? lanes : 1),
      scratch_(scratch) {
  const bool fits = scratch.rank() == 2 && scratch.element() == sum && scratch.contiguous(1) &&
                    scratch.extent(0).constant() == rows && scratch.extent(1).constant() == columns;
  if (!fits)
    op::fail(at, "the scratch of a register tile",
             "is not a row-major tile of " + std::to_string(rows) + " x " + std::to_string(columns) + " " + print(sum),
             "k.scratch(sum, padded_tile(rows, columns, bytes(sum)), core)");
}

void RegisterTile::spill() const {
  for (int r = 0; r < rows(); ++r)
    for (int v = 0; v < vectors(); ++v) scratch_.store({r, v * lanes_}, (*this)(r, v));
}

void RegisterTile::store(const Tensor& to, Where at) const {
  write<Tensor>(to, [&](const Vec& x, const Tensor& row, int column) { row.store_along(0, {column}, {x, at}); }, at);
}

void RegisterTile::accumulate(const Tensor& to, Where at) const {
  write<Tensor>(
      to,
      [&](const Vec& x, const Tensor& row, int column) {
        const Vec before = convert({row.load_along(0, {column}, lanes_, at), at}, x.kind);
        row.store_along(0, {column}, {VecArg(before, at) + x, at});
      },
      at);
}

void RegisterTile::store(const Output& to, Where at) const {
  write<Output>(to, [&](const Vec& x, const Output& row, int column) { row.store({column}, {x, at}); }, at);
}

void RegisterTile::add(const Tensor& from, Where at) {
  const Scope scope("add", at);
  full_or_edge(
      from, shape(),
      [&](const Tensor& tile) {
        for (int r = 0; r < rows(); ++r)
          for (int v = 0; v < vectors(); ++v) {
            const Vec more = convert({tile.load_along(1, {r, v * lanes_}, lanes_, at), at}, sums_(r, v).variable.kind);
            sums_(r, v) = (*this)(r, v) + more;
          }
      },
      at);
}

}  // namespace gemmsmith
