// What synchronization objects carry from those who release to those who acquire.
#pragma once
#include "targets/simulator/runtime/clock.h"
#include "targets/simulator/runtime/detector.h"
#include "targets/simulator/runtime/entries.h"

namespace gemmsmith::simulator {

// What a release publishes: what the thread knows, its own accesses, and for the completion of an asynchronous operation those of its queue.
struct Contribution {
  Knowledge knowledge;
  Component thread;
  OwnEpochs own;
  Component queue;
  uint32_t queue_epoch = 0;
};

// A clock that many add to. Remembers what it has been joined with lately: threads of a warp mostly know the same.
class GrowingClock {
 public:
  const Clock& clock() const { return clock_; }
  void add(ClockPool& pool, const Clock& other) {
    for (const Clock& c : recent_)
      if (c == other) return;
    pool.add(clock_, other);
    recent_[next_++ % 4] = other;
  }
  void raise(ClockPool& pool, Component component, uint32_t epoch) { pool.raise(clock_, component, epoch); }

 private:
  Clock clock_;
  Clock recent_[4];
  uint32_t next_ = 0;
};

// Knowledge that many add to. Ordered and visible are one clock until a contribution makes them differ.
class SyncClock {
 public:
  // visible: the scopes suffice; else only the order is carried.
  void add(ClockPool& pool, const Contribution& contribution, bool visible);
  void add(ClockPool& pool, const SyncClock& other);
  void acquire_into(ClockPool& pool, Knowledge& knowledge, bool visible) const;
  bool empty() const { return empty_; }

 private:
  bool empty_ = true;
  bool split_ = false;  // visible_ is not ordered_
  GrowingClock ordered_, visible_, fenced_shared_, fenced_global_;
};

// Comes to know the accesses of a component up to an epoch.
void learn(ClockPool& pool, Knowledge& knowledge, Component component, uint32_t epoch);

// A variable that threads synchronize through, by scopes: what each CTA released.
class SyncVariable {
 public:
  void clear() { released_.clear(); }
  void release(ClockPool& pool, const Contribution& contribution, MemoryScope scope);
  // `reaches(cta, scope)`: whether the thread of a CTA that released at a scope and the acquiring one reach each other.
  template <class Reaches>
  void acquire_into(ClockPool& pool, Knowledge& knowledge, Reaches reaches) const {
    for (const Released& r : released_) r.clock.acquire_into(pool, knowledge, reaches(r.cta, r.scope));
  }

 private:
  struct Released {
    uint32_t cta;
    MemoryScope scope;
    SyncClock clock;
  };
  std::vector<Released> released_;
};

}  // namespace gemmsmith::simulator
