#include "dsl/tile_scheduler.h"

namespace gemmsmith {
namespace {

struct MN {
  Int m, n;
};

// `group` rows of tiles are walked column by column, so that their operand stays in L2 while the other streams.
MN grouped(const Int& t, const Int& along_extent, const Int& across_extent, int group) {
  const Int width = Int(group) * across_extent, first = t / width * group, rest = t % width;
  const Int height = min(along_extent - first, Int(group));
  return {first + rest % height, rest / height};
}

// Blocks of 2^order x 2^order tiles, each walked along the Hilbert curve, so that any few neighbours in the order share
// rows and columns alike. Blocks cut off by the edge are walked column by column. The curve: Hilbert (1891), by the
// usual conversion of a distance to a point, two bits a level.
MN hilbert(const Int& t, const Int& m, const Int& n, int order) {
  const int side = 1 << order;
  const Int band = Int(side) * n, first_row = t / band * side, rest = t % band;
  const Int height = min(m - first_row, Int(side));
  const Int block = height * side, first_column = rest / block * side, d = rest % block;
  const Int width = min(n - first_column, Int(side));
  Var<Int> row(d % height), column(d / height);
  when((height == side) & (width == side), [&] {
    Var<Int> x(0), y(0), left(d);
    for (int s = 1; s < side; s *= 2) {
      const Int rx = (left >> 1) & 1, ry = (left ^ rx) & 1;
      const Bool turned = ry == 0, mirrored = turned & (rx == 1);
      const Int mx = select(mirrored, s - 1 - x.get(), x), my = select(mirrored, s - 1 - y.get(), y);
      x = select(turned, my, mx) + rx * s;
      y = select(turned, mx, my) + ry * s;
      left = left >> 2;
    }
    row = y.get();
    column = x.get();
  });
  return {first_row + row, first_column + column};
}

MN raster(const Raster& r, const Int& t, const Int& m, const Int& n) {
  if (r.kind == Raster::Kind::hilbert) return hilbert(t, m, n, r.order);
  if (r.kind == Raster::Kind::grouped_rows) return grouped(t, m, n, r.group);
  const MN turned = grouped(t, n, m, r.group);
  return {turned.n, turned.m};
}

}  // namespace

TileScheduler TileScheduler::alternating(const Consumer& self, std::vector<Ring*> rings, Where at) const {
  const Scope scope("alternate", at);
  TileScheduler out(cluster_, raster_, batched_, n_, first_ + self.index * step_, step_ * self.count);
  out.alternating_ = self.count;
  out.rings_ = std::move(rings);
  if (self.parts != 1)
    op::fail(at, "consumers that share their tiles", "cannot alternate: each would have a part of every other tile",
             "self.alone()");
  for (Ring* ring : out.rings_) {
    if (ring->alternating_ != 1)
      op::fail(at, "a ring that alternates already", "would skip stages twice", "one tiles.alternate() for each ring");
    ring->alternating_ = self.count;
    ring->skip(self.index * n_.k_blocks);  // the tiles before its first
  }
  return out;
}

TileScheduler::Iterator TileScheduler::begin(Where at) const {
  auto loop = std::make_shared<Range>(first_, n_.total, step_, at, false);
  loop->begin();
  return {this, std::move(loop), at};
}

void TileScheduler::Iterator::operator++() {
  {
    const Scope scope("alternate", at_);
    for (Ring* ring : tiles_->rings_) ring->skip(Int(tiles_->alternating_ - 1) * tiles_->n_.k_blocks);
  }
  ++Range::Iterator{range_.get()};
}

Tile TileScheduler::only(Where at) const { return this->at(first_, at); }

Tile TileScheduler::at(const Int& index, const Where& where) const {
  const Scope scope("tile", where);
  const Int in_batch = n_.tiles_m * n_.tiles_n;
  const Int batch = batched_ ? index / in_batch : Int(0);
  const MN tile = raster(raster_, batched_ ? index % in_batch : index, n_.tiles_m, n_.tiles_n);
  // Every CTA of a cluster takes every k.size-th block, from its rank on.
  return {batch,
          tile.m * cluster_.m.size + cluster_.m.rank,
          tile.n * cluster_.n.size + cluster_.n.rank,
          n_.first_k + cluster_.k.rank,
          n_.first_k + n_.k_blocks,
          cluster_.k.size,
          alternating_};
}

}  // namespace gemmsmith
