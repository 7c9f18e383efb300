// The CPU library: packing and register tiles.
#pragma once
#include <functional>
#include <vector>

#include "dsl/builder.h"
#include "dsl/ops_cpu.h"

namespace gemmsmith {

// Copies a (rows, columns) block into panels of `panel` rows (layout.h: panels()), converting elements. Sources that
// are contiguous along columns go through registers, lanes x lanes elements at a time. Rows that do not exist are
// copies of the last.
void pack(const Tensor& block, const Tensor& panels, int panel, int lanes, Where at = Where::current());
// The same for dot products: panels of group 2 (bf16) or 4 (i8). Columns that fill up the last group are zero.
// `flip_sign` adds 128 to bytes: signed to unsigned for dot_i8().
void pack_pairs(const Tensor& block, const Tensor& panels, int panel, int lanes, Where at = Where::current());
void pack_quads(const Tensor& block, const Tensor& panels, int panel, int lanes, bool flip_sign = false,
                Where at = Where::current());

// rows x columns sums in registers, `lanes` columns to a vector, on their way to a tile of the same shape or its ragged
// edge. A complete tile is written straight from registers; one with edges through `scratch` (rows x columns of the
// same type), in a loop over the rows that exist and with masked columns, which keeps the rare path small.
class RegisterTile {
 public:
  RegisterTile(int rows, int columns, Kind sum, int lanes, const Tensor& scratch, Where at = Where::current());

  int rows() const { return sums_.rows(); }
  int vectors() const { return sums_.columns(); }
  int lanes() const { return lanes_; }
  auto operator()(int row, int vector) { return sums_(row, vector); }
  Vec operator()(int row, int vector) const { return sums_(row, vector); }

  void store(const Tensor& to, Where at = Where::current()) const;       // to = sums
  void accumulate(const Tensor& to, Where at = Where::current()) const;  // to = to + sums
  void store(const Output& to, Where at = Where::current()) const;       // to = epilogue(sums)
  void add(const Tensor& from, Where at = Where::current());  // sums = sums + from, zero where from has an edge

  // Hands every vector to `body` with the row of `to` that it belongs to (mode 0 is gone) and its first column.
  template <class To>
  void write(const To& to, const std::function<void(const Vec& value, const To& row, int column)>& body,
             Where at = Where::current()) const;

 private:
  Coord shape() const { return {rows(), vectors() * lanes_}; }
  void spill() const;
  Vars<Vec> sums_;
  int lanes_;
  Tensor scratch_;
};

template <class To>
void RegisterTile::write(const To& to, const std::function<void(const Vec&, const To&, int)>& body, Where at) const {
  Scope scope("write", at);
  const auto edge = [&] {
    spill();
    for (Int r : range(to.extent(0)))
      for (int v = 0; v < vectors(); ++v)
        body(scratch_.slice(0, r).load({v * lanes_}, lanes_), to.slice(0, r), v * lanes_);
  };
  if (!to.contiguous(1)) return edge();  // one access a lane: far too much code to unroll over the rows
  when(
      to.is_exactly(shape()),
      [&] {
        const To full = to.exactly(shape());
        for (int r = 0; r < rows(); ++r)
          for (int v = 0; v < vectors(); ++v) body((*this)(r, v), full.slice(0, r), v * lanes_);
      },
      edge);
}

}  // namespace gemmsmith
