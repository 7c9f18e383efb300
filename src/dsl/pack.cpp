// Packing: three ways through memory, by which mode of the source is contiguous.
//
//   rows      a vector holds neighbouring rows of one column, as the panel does: load, convert, store
//   columns   lanes x lanes elements are transposed in registers; what is left of the columns goes one by one
//   neither   one by one
//
// A unit is what a lane of the panel holds: one element, or for dot products a group of 2 or 4 neighbouring columns in
// 32 bits.
#include <algorithm>
#include <string>

#include "dsl/cpu.h"

namespace gemmsmith {

namespace {

struct Packing {
  Tensor to;      // one panel: (rows, columns)
  int panel;      // its rows
  int lanes;      // units of a vector
  int group = 1;  // columns of a unit
  bool flip_sign = false;
  Where at;

  Tensor units() const { return group == 1 ? to : to.recast(Kind::i32, at); }  // (rows, units)

  // What is stored of the elements that were loaded.
  Vec element(const Vec& x) const {
    if (!flip_sign) return convert({x, at}, to.element());
    return bitwise_xor({x, at}, constant(x.kind, x.lanes, -128));
  }
  Vec unit(const Vec& x) const { return group == 1 ? element(x) : bitcast({element(x), at}, Kind::i32); }

  void one_by_one(const Tensor& from, Int first_column) const;
  void vectors_of_rows(const Tensor& from) const;
  void transposed(const Tensor& from) const;
  void run(const Tensor& from) const;
};

// Columns from `first_column` on. Those that fill the last unit are zero; rows that do not exist are copies of the
// last.
void Packing::one_by_one(const Tensor& from, Int first_column) const {
  const Int columns = from.extent(1), last = from.extent(0) - 1;
  for (Int k : range(first_column, round_up(columns, group), 1, at))
    for (Int r : range(panel, at)) {
      const Tensor row = from.slice(0, min(r, last), at);
      const Vec x =
          group == 1 ? row.slice(0, k, at).load({}, 1, at) : row.load({k}, 1, at);  // masked: zero past the end
      to.slice(0, r, at).slice(0, k, at).store({}, {element(x), at});
    }
}

// Elements of `group` vectors by turns.
Vec interleave(const std::vector<Vec>& v) {
  if (v.size() == 1) return v[0];
  std::vector<Vec> even, odd;
  for (size_t i = 0; i < v.size(); ++i) (i % 2 ? odd : even).push_back(v[i]);
  const Vec x = interleave(even), y = interleave(odd);
  std::vector<int> lanes;
  for (int i = 0; i < x.lanes; ++i) lanes.push_back(i), lanes.push_back(x.lanes + i);
  return permute(x, y, lanes);
}

void Packing::vectors_of_rows(const Tensor& from) const {
  // Without masks for elements this narrow, a masked access is a branch for each lane.
  const bool has_masks = op::options().vector_bytes == 64 || bytes(from.element()) >= 4;
  const Tensor target = units();
  const auto copy = [&](const Tensor& source) {
    const Int whole = from.extent(1) / group;
    for (Int u : range(whole, at))
      for (int r = 0; r < panel; r += lanes) {
        std::vector<Vec> columns;
        // Groups need vectors of a power of two; single columns may have any width.
        const int wide = group == 1 ? std::min(lanes, panel - r) : lanes;
        for (int j = 0; j < group; ++j) columns.push_back(source.slice(1, u * group + j, at).load({r}, wide, at));
        target.slice(1, u, at).store({r}, {unit(interleave(columns)), at});
      }
    if (group > 1) one_by_one(source, whole * group);
  };
  when(
      {from.is_exactly({panel, all}, at), at}, [&] { copy(from.exactly({panel, all}, at)); },
      [&] {
        if (has_masks)
          copy(from);
        else
          one_by_one(from, 0);
      });
}

// Elements are transposed as 32-bit words, each of `pieces` neighbouring columns: of a narrow source that is to be
// widened, a word then gives one vector for each of its columns; of a group it is the unit itself.
void Packing::transposed(const Tensor& from) const {
  const bool widened = group == 1 && bytes(from.element()) < 4 && bytes(to.element()) == 4;
  const int pieces = widened ? 4 / bytes(from.element()) : group;
  const int step = lanes * pieces;  // columns of a block
  const Int rows = from.extent(0), blocks = from.extent(1) / step;
  const Tensor target = units();
  const int columns = widened ? step : lanes;  // of a block in the panel
  const auto words = [&](const Vec& x) { return widened ? bitcast({x, at}, Kind::i32) : unit(x); };
  // Rows from `first` on, `count` of them, which are rows of `part`.
  const auto band = [&](Int first, int count, const Tensor& part) {
    std::vector<Tensor> sources;
    for (int r = 0; r < count; ++r) sources.push_back(from.slice(0, min(first + r, rows - 1), at));
    for (Int block : range(blocks, at)) {
      std::vector<Vec> vectors;
      for (const Tensor& row : sources)
        vectors.push_back(words(row.tile({step}, {block}, at).exactly({step}, at).load({0}, step, at)));
      while (int(vectors.size()) < lanes) vectors.push_back(zero(vectors[0].kind, lanes));
      const std::vector<Vec> turned = transpose(vectors, at);
      const Tensor out = part.tile({all, columns}, {0, block}, at).exactly({all, columns}, at);
      for (int j = 0; j < columns; ++j) {  // masked where the panel has fewer rows
        const Vec& word = turned[size_t(widened ? j / pieces : j)];
        out.store({0, j}, {widened ? part_of_lanes({word, at}, from.element(), j % pieces) : word, at});
      }
    }
  };
  if (panel % lanes == 0) {
    for (Int i : range(panel / lanes, at)) band(i * lanes, lanes, target.tile({lanes, all}, {i, 0}, at));
  } else {
    for (int r = 0; r < panel; r += lanes)
      band(r, std::min(lanes, panel - r), target.tile({lanes, all}, {r / lanes, 0}, at));
  }
  one_by_one(from, blocks * step);
}

void Packing::run(const Tensor& from) const {
  if (from.contiguous(0))
    vectors_of_rows(from);
  else if (from.contiguous(1) && lanes > 1)
    transposed(from);
  else
    one_by_one(from, 0);
}

void pack_panels(const Tensor& block, const Tensor& panels, Packing packing, const Where& at) {
  const Scope scope("pack", at);
  if (block.rank() != 2 || panels.rank() != 2)
    return op::fail(at,
                    "packing a tensor of rank " + std::to_string(block.rank()) + " into one of rank " +
                        std::to_string(panels.rank()),
                    "is of matrices", "slice() the batch");
  if (packing.lanes < 1 || (packing.lanes & (packing.lanes - 1)))
    return op::fail(at, "packing with " + std::to_string(packing.lanes) + " lanes", "is not a vector",
                    "a power of two");
  const Kind from = block.element(), to = panels.element();
  if (packing.group > 1) {
    const Kind needed = packing.group == 2 ? Kind::bf16 : Kind::i8;
    if (from != needed || to != needed)
      return op::fail(at, "packing " + print(from) + " as groups of " + std::to_string(packing.group) + " " + print(to),
                      "has no dot product", "pairs of bf16 or quads of i8");
    if (!panels.contiguous(1))
      return op::fail(at, "panels for groups of " + std::to_string(packing.group),
                      "do not have the columns of a group side by side",
                      "panels(rows, columns, panel, bytes, " + std::to_string(packing.group) + ")");
  }
  for (Int i : range(block.tiles(0, packing.panel, at), at)) {
    Packing one = {panels.tile({packing.panel, all}, {i, 0}, at),
                   packing.panel,
                   packing.lanes,
                   packing.group,
                   packing.flip_sign,
                   at};
    one.run(block.tile({packing.panel, all}, {i, 0}, at));
  }
}
}  // namespace

void pack(const Tensor& block, const Tensor& panels, int panel, int lanes, Where at) {
  pack_panels(block, panels, {panels, panel, lanes, 1, false, at}, at);
}
void pack_pairs(const Tensor& block, const Tensor& panels, int panel, int lanes, Where at) {
  pack_panels(block, panels, {panels, panel, lanes, 2, false, at}, at);
}
void pack_quads(const Tensor& block, const Tensor& panels, int panel, int lanes, bool flip_sign, Where at) {
  pack_panels(block, panels, {panels, panel, lanes, 4, flip_sign, at}, at);
}

}  // namespace gemmsmith
