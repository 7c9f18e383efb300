// Who does what in a CTA, and what they hand each other: roles, rings of stages, turns.
//
// Rings own their protocol. Bytes expected come from the copies, arrival counts from what was recorded, phases from use;
// a stage goes back to the producer when the accumulator that read it says so. There is no count that an author could get
// wrong, and no release that could come early.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/tma.h"

namespace gemmsmith {

class GpuBuilder;
class Ring;

struct RegisterBudget {
  int count;
};
inline RegisterBudget registers(int count) { return {count}; }  // of each thread of a role

// One thread of a warp that does nothing else.
struct Producer {
  RegisterBudget budget;
  std::function<void()> body;
};
inline Producer producer(RegisterBudget budget, std::function<void()> body) { return {budget, std::move(body)}; }

// Warpgroups of 128 threads that do the same, each with its share of every tile, or by turns with tiles of its own.
class Consumer {
 public:
  int count;
  Int index, thread;                                               // of this warpgroup; of this thread in it
  int parts;                                                       // that a tile is shared in
  Int part;                                                        // this one's
  Consumer alone() const { return {count, index, thread, 1, 0}; }  // the same warpgroup with tiles of its own
  void sync(Where at = Where::current()) const;                    // the threads of this warpgroup
};
struct Consumers {
  int count;
  RegisterBudget budget;
  std::function<void(const Consumer&)> body;
};
inline Consumers consumers(int count, RegisterBudget budget, std::function<void(const Consumer&)> body) {
  return {count, budget, std::move(body)};
}

// Warpgroups that do something one after another, the first one first: ping-pong at the tensor cores.
class Turns {
 public:
  void take(const Consumer& self, const std::function<void()>& body, Where at = Where::current());

 private:
  friend class GpuBuilder;
  Turns(Int barriers, int count) : barriers_(barriers), count_(count), round_(0) {}
  Int barriers_;
  int count_;
  Var<Int> round_;
};

// Steps along K of one tile: for (Int kb : t.k_blocks()). It also knows how tiles alternate among consumers.
class KBlocks {
 public:
  KBlocks(Int first, Int last, Int step, int alternating, Where at)
      : first_(first), last_(last), step_(step), alternating_(alternating), at_(at) {}
  class Iterator {
   public:
    Int operator*() const { return *Range::Iterator{range_.get()}; }
    bool operator!=(Range::End end) const { return Range::Iterator{range_.get()} != end; }
    void operator++() { ++Range::Iterator{range_.get()}; }

   private:
    friend class KBlocks;
    explicit Iterator(std::shared_ptr<Range> range) : range_(std::move(range)) {}
    std::shared_ptr<Range> range_;
  };
  Iterator begin() const {
    auto range = std::make_shared<Range>(first_, last_, step_, at_, false);
    range->begin();
    return Iterator(std::move(range));
  }
  Range::End end() const { return {}; }

 private:
  friend class Ring;
  Int first_, last_, step_;
  int alternating_;
  Where at_;
};

// Stages of shared memory between a producer and consumers.
class Ring {
 public:
  struct Operand {
    Ring* ring;
    const TmaInput* input;
    Int stage;
    // The tile in shared memory. Nothing gives back a stage that is read so: of a ring that is filled once.
    Tensor tensor(Where at = Where::current()) const;
  };
  struct Stage {
    Ring* ring;
    Int index;
    Operand operator[](const TmaInput& input) const { return {ring, &input, index}; }
  };
  Ring(const Ring&) = delete;

  // Waits until the next stage is free and loads it: one tile of every input.
  template <class... Copy>
  void fill(Arg<TmaCopy> first, const Copy&... more) {  // the line comes with the first argument
    fill_all({first.v, more...}, first.at);
  }
  void fill_all(const std::vector<TmaCopy>& copies, Where at = Where::current());

  // Waits until the next stage is full: for (Ring::Stage s : ring.take(t.k_blocks())). An Accumulator gives it back.
  struct Stages {
    Ring* ring;
    Range loop;
    Where at;
    struct Iterator {
      Stages* stages;
      Stage operator*() const { return stages->ring->take_one(stages->at); }
      bool operator!=(Range::End end) const { return Range::Iterator{&stages->loop} != end; }
      void operator++() { ++Range::Iterator{&stages->loop}; }
    };
    Iterator begin() {
      loop.begin();
      return {this};
    }
    Range::End end() const { return {}; }
  };
  Stages take(const KBlocks& blocks, Where at = Where::current());

 private:
  friend class GpuBuilder;
  friend class Accumulator;
  friend class TileScheduler;
  Ring(GpuBuilder&, int stages, std::vector<const TmaInput*> inputs, const Where&);
  Stage take_one(const Where&);
  void skip(const Int& stages);  // what other consumers take
  size_t slot_of(const TmaInput&, const Where&) const;
  Int full(const Int& stage) const { return full_ + (stage << 3); }
  Int empty(const Int& stage) const { return empty_ + (stage << 3); }
  void init() const;
  void check_use() const;  // at the end of the recording: who waits is waited for
  int64_t stage_bytes(size_t slot) const { return inputs_[slot]->tile_bytes(); }
  void next();
  Where at_;
  int stages_, arrivals_ = 1;  // of one reader: at every CTA that loads for this one
  int alternating_ = 1;        // consumers that take turns with whole tiles
  int readers_ = 0;            // of each stage, counted while recording
  bool filled_ = false, read_by_hand_ = false;
  std::optional<Where> unread_;     // where a stage was taken that nothing has multiplied yet
  const void* taken_in_ = nullptr;  // the loop body or branch where the last one was
  std::vector<const TmaInput*> inputs_;
  std::vector<Int> buffers_;  // stage 0 of each input
  Int full_, empty_, empty_arrivals_;
  Var<Int> stage_, phase_;  // each role advances its own: roles do not see each other's assignments
};

// A barrier that the consumers of all CTAs of a cluster reach. What they wrote to shared memory before it, all may read
// after it, through distributed shared memory too.
class ClusterBarrier {
 public:
  void sync(const Consumer& self, Where at = Where::current());

 private:
  friend class GpuBuilder;
  ClusterBarrier(Int barrier, int cluster, int consumers)
      : barrier_(barrier), cluster_(cluster), consumers_(consumers), phase_(0) {}
  Int barrier_;
  int cluster_, consumers_;
  Var<Int> phase_;
};

}  // namespace gemmsmith
