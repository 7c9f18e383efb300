// Which tiles of D a CTA takes, and in which order.
#pragma once
#include <memory>
#include <vector>

#include "dsl/pipeline.h"

namespace gemmsmith {

struct Tile {
  Int batch, m, n;  // in tiles of one CTA
  Int first_k, last_k, step_k;
  int alternating = 1;
  KBlocks k_blocks(Where at = Where::current()) const { return {first_k, last_k, step_k, alternating, at}; }
};

// The order of tiles. Neighbours in it run at the same time and share what is in L2.
struct Raster {
  enum class Kind : uint8_t { grouped_rows, grouped_columns, hilbert };
  Kind kind = Kind::grouped_rows;
  int group = 8;  // tiles of a group along the mode that the kind names, before the other advances
  int order = 3;  // of Hilbert curves: they fill blocks of 2^order x 2^order tiles
};

class TileScheduler {
 public:
  class Iterator {
   public:
    Tile operator*() const { return tiles_->at(*Range::Iterator{range_.get()}, at_); }
    bool operator!=(Range::End end) const { return Range::Iterator{range_.get()} != end; }
    void operator++();

   private:
    friend class TileScheduler;
    Iterator(const TileScheduler* tiles, std::shared_ptr<Range> range, Where at)
        : tiles_(tiles), range_(std::move(range)), at_(at) {}
    const TileScheduler* tiles_;
    std::shared_ptr<Range> range_;
    Where at_;
  };
  Iterator begin(Where at = Where::current()) const;
  Range::End end() const { return {}; }
  Tile only(Where at = Where::current()) const;  // of a cluster that has just one
  // Every count-th tile, from the index-th on; the rings follow, past the stages that the other consumers take.
  template <class... R>
  TileScheduler alternate(Arg<Consumer> self, R&... rings) const {  // the line comes with the first argument
    return alternating(self.v, {&rings...}, self.at);
  }
  TileScheduler alternating(const Consumer& self, std::vector<Ring*> rings, Where at = Where::current()) const;

 private:
  friend class GpuBuilder;
  friend class StreamK;
  struct Counts {
    Int tiles_m, tiles_n;          // of clusters
    Int k_blocks, first_k, total;  // first_k: past the end where k is 0
  };
  TileScheduler(Cluster cluster, Raster raster, bool batched, Counts counts, Int first, Int step)
      : cluster_(cluster), raster_(raster), batched_(batched), n_(counts), first_(first), step_(step) {}
  Tile at(const Int& index, const Where&) const;
  Cluster cluster_;
  Raster raster_;
  bool batched_;
  Counts n_;
  Int first_, step_;
  int alternating_ = 1;
  std::vector<Ring*> rings_ = {};
};

}  // namespace gemmsmith
