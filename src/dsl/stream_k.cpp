#include "dsl/stream_k.h"

#include "dsl/hopper.h"

namespace gemmsmith {
namespace {

constexpr int kVector = 4;  // sums in 16 bytes
constexpr int kWarpgroup = 128;
constexpr int64_t kGranule = 256;   // of a workspace: what memory is allocated in
constexpr int64_t kFlagBytes = 32;  // a sector of L2 each

// Registers of a fragment that a loop carries.
struct Sums : VarBase {
  explicit Sums(const std::vector<Scalar>& initial) : VarBase(initial) {}
  std::vector<Scalar>& values() { return values_; }
};

// Vector i of a fragment: all threads of a warpgroup write 16 bytes each, side by side.
constexpr int64_t byte_of_vector(size_t i) { return int64_t(i) * kWarpgroup * 16; }

Int first_of_share(const Int& cta, const Int& quotient, const Int& remainder) {
  return cta * quotient + min(cta, remainder);
}

}  // namespace

Scalar Workspace::of_cta(const Int& cta, const Offset& byte) const {
  return op::advance(op::advance(base_, cta * step_), byte);
}

Workspace GpuBuilder::workspace(int64_t bytes, bool zeroed, Where at) {
  const Scope scope("workspace", at);
  if (bytes < 1) op::fail(at, "a workspace of " + std::to_string(bytes) + " bytes", "has no memory");
  launch_.zeroed_scratch |= zeroed;
  const Scratch part = add_scratch((bytes + kGranule - 1) / kGranule * kGranule);
  return {op::advance(part.base, part.begin), part.step};
}

StreamK GpuBuilder::stream_k(const OutputArg& d, TileShape shape, const MatrixArg& a, int block_k, const Raster& raster,
                             int consumers, int max_splits, Where at) {
  const Scope scope("stream_k", at);
  const TileScheduler tiles = persistent_tiles(d, shape, a, block_k, cluster(1, 1), raster, at);
  if (max_splits < 1) op::fail(at, std::to_string(max_splits) + " CTAs for each tile", "are fewer than one");
  launch_.splits = max_splits;
  const int64_t sums_bytes = int64_t(shape.rows) * shape.columns * 4 / consumers;
  return {tiles, workspace(consumers * (sums_bytes + kFlagBytes), /*zeroed=*/true, at), sums_bytes, consumers};
}

StreamK::StreamK(TileScheduler tiles, Workspace workspace, int64_t sums_bytes, int consumers)
    : tiles_(std::move(tiles)),
      workspace_(workspace),
      sums_bytes_(sums_bytes),
      consumers_(consumers),
      cta_(op::block_id()),
      ctas_(op::grid_size()),
      waves_(tiles_.n_.total / ctas_),
      rest_(tiles_.n_.total % ctas_),
      quotient_(rest_ * tiles_.n_.k_blocks / ctas_),
      remainder_(rest_ * tiles_.n_.k_blocks % ctas_),
      first_(first_of_share(cta_, quotient_, remainder_)),
      last_(first_of_share(cta_ + 1, quotient_, remainder_)) {}

StreamK::Iterator StreamK::begin(Where at) const {
  const Int count = [&] {
    const Scope scope("stream_k", at);
    const Int& k_blocks = tiles_.n_.k_blocks;
    return waves_ + select(first_ == last_, 0, (last_ - 1) / k_blocks - first_ / k_blocks + 1);
  }();
  auto loop = std::make_shared<Range>(0, count, 1, at, false);
  loop->begin();
  return {this, std::move(loop), at};
}

// The share from its end: the tile that it leaves to others first.
PartOfTile StreamK::at(const Int& index, const Where& where) const {
  const Scope scope("stream_k", where);
  const Int& k_blocks = tiles_.n_.k_blocks;
  const Bool whole = index < waves_;
  const Int shared_tile = (last_ - 1) / k_blocks - (index - waves_), tile_start = shared_tile * k_blocks;
  const Int begin = select(whole, 0, max(first_, tile_start) - tile_start);
  const Int end = select(whole, k_blocks, min(last_ - tile_start, k_blocks));
  const Tile t = tiles_.at(select(whole, index * ctas_ + cta_, waves_ * ctas_ + shared_tile), where);
  // Who has the first k-block of the tile: the first `remainder` shares are longer by one.
  const Int longer = remainder_ * (quotient_ + 1);
  const Int holder =
      select(tile_start < longer, tile_start / (quotient_ + 1), remainder_ + (tile_start - longer) / max(quotient_, 1));
  const Int first_k = tiles_.n_.first_k;
  return {{t.batch, t.m, t.n, first_k + begin, first_k + end, 1}, end == k_blocks, select(begin == 0, cta_, holder)};
}

Scalar StreamK::sums_of(const Int& cta, const Consumer& self) const {
  return op::advance(workspace_.of_cta(cta), self.index * Offset(sums_bytes_) + self.thread * Offset(16));
}
Scalar StreamK::flag_of(const Int& cta, const Consumer& self) const {
  return op::advance(workspace_.of_cta(cta, consumers_ * sums_bytes_), self.index * Offset(kFlagBytes));
}

void StreamK::finish(const Consumer& self, const PartOfTile& part, const Fragment& mine,
                     const std::function<void(const Fragment&)>& store, Where at) const {
  // What `store` records keeps the lines of its body.
  const auto glue = [at](auto f) {
    const Scope scope("stream_k.finish", at);
    return f();
  };
  if (int64_t(mine.values.size()) * kWarpgroup * 4 != sums_bytes_ || self.count != consumers_)
    return op::fail(
        at, std::to_string(mine.values.size()) + " sums of a thread of " + std::to_string(self.count) + " consumers",
        "are not those of the tile that stream_k() was told of, " + std::to_string(sums_bytes_ / kWarpgroup / 4) +
            " of " + std::to_string(consumers_));
  const size_t vectors = mine.values.size() / kVector;
  const auto add = [&](std::vector<Scalar>& sums, const Int& peer) {
    const Scalar from = sums_of(peer, self);
    for (size_t i = 0; i < vectors; ++i) {
      const Vec four = op::load(op::advance(from, byte_of_vector(i)), mine.kind, kVector, {});
      for (int j = 0; j < kVector; ++j) {
        Scalar& sum = sums[i * kVector + size_t(j)];
        sum = Vec(sum) + extract(four, j);
      }
    }
  };
  const auto give_away = [&] {
    const Scalar to = sums_of(cta_, self);
    for (size_t i = 0; i < vectors; ++i) {
      std::vector<Vec> four;
      for (size_t j = 0; j < kVector; ++j) four.push_back(Vec(mine.values[i * kVector + j]));
      op::store(op::advance(to, byte_of_vector(i)), join(four), {});
    }
    self.sync();
    when(self.thread == 0, [&] { op::store_release(flag_of(cta_, self), 1); });
  };
  when(
      {part.finishes, at},
      [&] {
        Sums sums(mine.values);
        for (Int peer : range(part.first_peer, cta_, 1, at))
          glue([&] {
            when(self.thread == 0, [&] {
              op::wait_flag(flag_of(peer, self), 1);
              op::store_relaxed(flag_of(peer, self),
                                0);  // as the next launch wants it; nobody else looks at it in this one
            });
            self.sync();
            add(sums.values(), peer);
          });
        Fragment whole = mine;
        whole.values = sums.values();
        store(whole);
      },
      [&] { glue(give_away); });
}

}  // namespace gemmsmith
