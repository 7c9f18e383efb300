#include "dsl/pipeline.h"

#include <algorithm>

#include "dsl/hopper.h"

namespace gemmsmith {

void Consumer::sync(Where at) const {
  const Scope scope("consumer.sync", at);
  op::named_barrier(index + 1, 128);  // barrier 0 is the CTA's
}

// Turns.

void Turns::take(const Consumer& self, const std::function<void()>& body, Where at) {
  if (self.count != count_)
    op::fail(at, "turns of " + std::to_string(count_),
             "are taken by " + std::to_string(self.count) + " consumers: one would wait for ever",
             "k.turns(" + std::to_string(self.count) + ")");
  {
    const Scope scope("turns.take", at);
    const Int ahead = select(self.index == 0, 1, 0);  // nobody passes the first turn on
    op::mbarrier_wait(barriers_ + (self.index << 3), round_ ^ ahead);
    round_ = round_ ^ 1;
  }
  body();
  const Scope scope("turns.pass", at);
  const Int next = self.index + 1;
  op::mbarrier_arrive(barriers_ + (select(next == count_, 0, next) << 3));
}

// Cluster barrier.

void ClusterBarrier::sync(const Consumer& self, Where at) {
  const Scope scope("cluster_barrier.sync", at);
  if (self.count != consumers_)
    op::fail(at, "a cluster barrier of " + std::to_string(consumers_) + " consumers",
             "is reached by " + std::to_string(self.count) + ": it would count the wrong number of threads",
             "k.cluster_barrier(cluster, " + std::to_string(self.count) + ")");
  if (cluster_ == 1) return self.sync(at);
  for (int rank = 0; rank < cluster_; ++rank)
    op::mbarrier_arrive_remote(op::map_to_rank(barrier_, rank), MemoryScope::cluster);
  op::mbarrier_wait(barrier_, phase_, MemoryScope::cluster);
  phase_ = phase_ ^ 1;
}

// Rings.

Ring::Ring(GpuBuilder& k, int stages, std::vector<const TmaInput*> inputs, const Where& at)
    : at_(at),
      stages_(stages),
      inputs_(std::move(inputs)),
      full_(k.allocate_barriers("full", stages)),
      empty_(k.allocate_barriers("empty", stages)),
      empty_arrivals_(op::late_int()),
      stage_(0),
      phase_(0) {
  for (const TmaInput* in : inputs_) {
    if (in->multicasts()) arrivals_ = k.launch_.cluster;
    buffers_.push_back(k.allocate(in->name(), stages * in->tile_bytes(), stages, at));
  }
}

size_t Ring::slot_of(const TmaInput& input, const Where& at) const {
  const auto found = std::find(inputs_.begin(), inputs_.end(), &input);
  if (found != inputs_.end()) return size_t(found - inputs_.begin());
  op::fail(at, "input \"" + input.name() + "\"", "is not one of those that the ring was made for");
  return 0;
}

void Ring::init() const {
  for (int i = 0; i < stages_; ++i) {
    op::mbarrier_init(full(i), 1);
    op::mbarrier_init(empty(i), empty_arrivals_);
  }
}

void Ring::check_use() const {
  if (op::failed()) return;
  if (!filled_)
    op::fail(at_, "a ring", "is never filled: who takes its stages waits for ever", "ring.fill() in the producer");
  if (unread_)
    op::fail(*unread_, "a stage", "is taken and not multiplied: only what has read it gives it back to the producer",
             "acc.mma(s[a], s[b])");
  if (readers_ == 0 && !read_by_hand_)
    op::fail(at_, "a ring", "is never read: who fills its stages waits for ever", "an Accumulator in the consumers");
}

void Ring::next() {
  const Int following = stage_ + 1;
  const Bool wraps = following == stages_;
  phase_ = select(wraps, phase_ ^ 1, phase_);
  stage_ = select(wraps, 0, following);
}

void Ring::skip(const Int& stages) {
  const Int reached = stage_ + stages;
  phase_ = phase_ ^ ((reached / stages_) & 1);
  stage_ = reached % stages_;
}

void Ring::fill_all(const std::vector<TmaCopy>& copies, Where at) {
  const Scope scope("ring.fill", at);
  filled_ = true;
  std::vector<const TmaCopy*> of_slot(inputs_.size());
  for (const TmaCopy& copy : copies) {
    const size_t slot = slot_of(*copy.input, at);
    if (of_slot[slot])
      return op::fail(at, "two copies of input \"" + copy.input->name() + "\"", "do not fit a stage, which has one");
    of_slot[slot] = &copy;
  }
  int64_t bytes = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!of_slot[i])
      return op::fail(at, "a stage without its input \"" + inputs_[i]->name() + "\"",
                      "would be waited for forever: its bytes never arrive", "one copy of every input");
    bytes += inputs_[i]->landing_bytes();
  }
  const Int stage = stage_;
  op::mbarrier_wait(empty(stage), phase_ ^ 1);  // the first round finds every stage free
  op::mbarrier_expect_bytes(full(stage), bytes);
  for (size_t i = 0; i < inputs_.size(); ++i)
    inputs_[i]->issue(*of_slot[i], buffers_[i] + stage * stage_bytes(i), full(stage));
  next();
}

Tensor Ring::Operand::tensor(Where at) const {
  const Scope scope("tensor", at);
  ring->read_by_hand_ = true;
  ring->unread_.reset();
  const size_t slot = ring->slot_of(*input, at);
  const Int address = ring->buffers_[slot] + stage * ring->stage_bytes(slot);
  return {op::shared_pointer(address), input->element(), staged(input->layout()), Space::shared};
}

Ring::Stages Ring::take(const KBlocks& blocks, Where at) {
  if (blocks.alternating_ != alternating_)
    op::fail(at, "a ring whose tiles alternate among " + std::to_string(blocks.alternating_) + " consumers",
             "does not follow them: stages that others take would be taken twice", "tiles.alternate(self, ring)");
  return {this, range(blocks.first_, blocks.last_, blocks.step_, at), at};
}

Ring::Stage Ring::take_one(const Where& at) {
  const Scope scope("ring.take", at);
  if (unread_)
    op::fail(*unread_, "a stage", "is taken and not multiplied: only what has read it gives it back to the producer",
             "acc.mma(s[a], s[b])");
  unread_ = at;
  taken_in_ = op::current_block();
  const Int stage = stage_;
  op::mbarrier_wait(full(stage), phase_);
  next();
  return {this, stage};
}

}  // namespace gemmsmith
