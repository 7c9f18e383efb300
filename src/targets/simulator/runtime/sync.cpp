#include "targets/simulator/runtime/sync.h"

namespace gemmsmith::simulator {

void SyncClock::add(ClockPool& pool, const Contribution& c, bool visible) {
  if (!split_ && (!visible || !(c.knowledge.ordered == c.knowledge.visible))) {
    visible_ = ordered_;
    split_ = true;
  }
  empty_ = false;
  const auto add_to = [&](GrowingClock& clock, const Clock& known) {
    clock.add(pool, known);
    if (c.thread.cta != ~0u) clock.raise(pool, c.thread, c.own.epoch);
    if (c.queue_epoch) clock.raise(pool, c.queue, c.queue_epoch);
  };
  add_to(ordered_, c.knowledge.ordered);
  if (split_ && visible) add_to(visible_, c.knowledge.visible);
  fenced_shared_.add(pool, c.knowledge.fenced_shared);
  fenced_global_.add(pool, c.knowledge.fenced_global);
  if (c.own.fenced_shared) fenced_shared_.raise(pool, c.thread, c.own.fenced_shared);
  if (c.own.fenced_global) fenced_global_.raise(pool, c.thread, c.own.fenced_global);
}

void SyncClock::add(ClockPool& pool, const SyncClock& other) {
  if (other.empty_) return;
  if (!split_ && other.split_) visible_ = ordered_, split_ = true;
  if (split_) visible_.add(pool, (other.split_ ? other.visible_ : other.ordered_).clock());
  ordered_.add(pool, other.ordered_.clock());
  fenced_shared_.add(pool, other.fenced_shared_.clock());
  fenced_global_.add(pool, other.fenced_global_.clock());
  empty_ = false;
}

void SyncClock::acquire_into(ClockPool& pool, Knowledge& k, bool visible) const {
  if (empty_) return;
  const bool same = k.ordered == k.visible && visible && !split_;
  k.ordered = pool.join(k.ordered, ordered_.clock());
  if (same)
    k.visible = k.ordered;
  else if (visible)
    k.visible = pool.join(k.visible, (split_ ? visible_ : ordered_).clock());
  k.fenced_shared = pool.join(k.fenced_shared, fenced_shared_.clock());
  k.fenced_global = pool.join(k.fenced_global, fenced_global_.clock());
}

void learn(ClockPool& pool, Knowledge& k, Component component, uint32_t epoch) {
  const bool same = k.ordered == k.visible;
  k.ordered = pool.raised(k.ordered, component, epoch);
  k.visible = same ? k.ordered : pool.raised(k.visible, component, epoch);
}

void SyncVariable::release(ClockPool& pool, const Contribution& contribution, MemoryScope scope) {
  for (Released& r : released_)
    if (r.cta == contribution.thread.cta && r.scope == scope) return r.clock.add(pool, contribution, true);
  released_.push_back({contribution.thread.cta, scope, {}});
  released_.back().clock.add(pool, contribution, true);
}

}  // namespace gemmsmith::simulator
