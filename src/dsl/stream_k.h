// Stream-K: the CTAs of a launch share its k-blocks evenly, not its tiles, so that a last wave of few tiles keeps all of
// them busy. After Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on
// the GPU" (PPoPP 2023), in its hybrid form: whole tiles as long as there is one for every CTA, then an even share of the
// k-blocks of the tiles that are left.
//
// A share of the rest is at most one tile long, so it ends one tile, begins another, or both. Who has the last k-block of a
// tile finishes it: it waits for the partial sums of the CTAs before it, adds them and stores D. Every CTA gives away its
// partial sum first and finishes its tile afterwards, and waits only for CTAs of smaller numbers: none waits for one that
// waits for it, and no more than a launch's usual order is asked of the hardware, which starts CTAs in order.
#pragma once
#include <functional>
#include <memory>

#include "dsl/accumulator.h"
#include "dsl/tile_scheduler.h"
#include "dsl/workspace.h"

namespace gemmsmith {

// Some k-blocks of a tile.
struct PartOfTile : Tile {
  Bool finishes;   // has the last of them
  Int first_peer;  // CTAs from this one on, up to the own, have the k-blocks before
};

// for (PartOfTile t : work) in both roles; consumers hand their sums to finish().
class StreamK {
 public:
  class Iterator {
   public:
    PartOfTile operator*() const { return work_->at(*Range::Iterator{range_.get()}, at_); }
    bool operator!=(Range::End end) const { return Range::Iterator{range_.get()} != end; }
    void operator++() { ++Range::Iterator{range_.get()}; }

   private:
    friend class StreamK;
    Iterator(const StreamK* work, std::shared_ptr<Range> range, Where at)
        : work_(work), range_(std::move(range)), at_(at) {}
    const StreamK* work_;
    std::shared_ptr<Range> range_;
    Where at_;
  };
  Iterator begin(Where at = Where::current()) const;
  Range::End end() const { return {}; }

  // Gives the sums of a part away, or adds to them those of its peers, in their order, and has `store` store the whole.
  void finish(const Consumer& self, const PartOfTile&, const Fragment&,
              const std::function<void(const Fragment&)>& store, Where at = Where::current()) const;

 private:
  friend class GpuBuilder;
  StreamK(TileScheduler tiles, Workspace workspace, int64_t sums_bytes, int consumers);
  PartOfTile at(const Int& index, const Where&) const;
  Scalar sums_of(const Int& cta, const Consumer&) const;  // of the thread's first vector
  Scalar flag_of(const Int& cta, const Consumer&) const;
  TileScheduler tiles_;
  Workspace workspace_;
  int64_t sums_bytes_;  // of a consumer
  int consumers_;
  Int cta_, ctas_;
  Int waves_, rest_;          // whole tiles of this CTA; tiles that are shared
  Int quotient_, remainder_;  // k-blocks of a share, and how many shares have one more
  Int first_, last_;          // of this CTA's share
};

}  // namespace gemmsmith
