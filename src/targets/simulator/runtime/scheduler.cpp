// Which thread or asynchronous operation runs next.
#include <algorithm>

#include "support/text.h"
#include "targets/simulator/runtime/engine.h"
#include "targets/simulator/runtime/fiber.h"

namespace gemmsmith::simulator {

namespace {

thread_local Engine* running_engine = nullptr;

// Rounds in which every spinning thread looked once and nothing changed, until the simulator gives up: loops of native code may count
// to something meanwhile.
constexpr int kIdleRounds = 1000;

uint64_t next_random(uint64_t& state) {  // xorshift64 (Marsaglia 2003)
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

}  // namespace

Engine& running() { return *running_engine; }

// How fibers begin and switch. Whoever is resumed stores the context of the one that it was resumed by.
struct FiberEntry {
  static void store(Engine& e, const fiber::context::transfer_t& from) {
    if (from.data)
      static_cast<Thread*>(from.data)->context = from.fctx;
    else
      e.main_ = from.fctx;
  }
  static void arrived(Engine& e, const fiber::context::transfer_t& from) {
    const void* bottom = nullptr;
    size_t bytes = 0;
    fiber::after_switch(&bottom, &bytes);
    if (!from.data) e.main_stack_ = bottom, e.main_stack_bytes_ = bytes;
    store(e, from);
  }
  static void enter(fiber::context::transfer_t from) {
    Engine& e = running();
    arrived(e, from);
    Thread& self = e.current();
    e.launch().kernel(e.launch().parameters.data());
    e.finish(self);
    Thread* next = e.next();
    if (!next) {
      const bool all_done = std::ranges::all_of(e.clusters_, [](const auto& c) { return c->finished == c->threads; });
      if (!all_done) e.deadlock();
      e.done_ = true;
      e.leave();
    }
    e.switch_to(*next);
    __builtin_unreachable();
  }
};

void Engine::start(Cluster& cluster) {
  for (auto& cta : cluster.ctas)
    for (Thread& thread : cta->threads) {
      fiber::reset_stack(pools_.stacks.bottom(thread.stack), pools_.stacks.bytes());
      std::fill_n(pools_.stacks.bottom(thread.stack), kStackCanaryBytes, kStackCanary);
      thread.context =
          fiber::context::make_fcontext(pools_.stacks.top(thread.stack), pools_.stacks.bytes(), &FiberEntry::enter);
      if (racing() && !launch_->programmatic_dependent && previous_to_ > 0)
        for (Clock* clock : {&thread.knowledge.ordered, &thread.knowledge.visible, &thread.knowledge.fenced_shared,
                             &thread.knowledge.fenced_global})
          *clock = clocks().with_completed(*clock, previous_from_, previous_to_);
      ready_.push_back(&thread);
    }
}

void Engine::run_until_done() {
  Engine* outer = running_engine;
  running_engine = this;
  done_ = false;
  current_ = next();
  fiber::before_switch(pools_.stacks.bottom(current_->stack), pools_.stacks.bytes());
  ++result_.counters.steps;
  fiber::context::jump_fcontext(current_->context, nullptr);
  fiber::after_switch(nullptr, nullptr);
  running_engine = outer;
}

void Engine::leave() {
  fiber::before_switch(main_stack_, main_stack_bytes_);
  fiber::context::jump_fcontext(main_, nullptr);
  __builtin_unreachable();
}

void Engine::to_main() {
  failed_ = true;
  leave();
}

void Engine::switch_to(Thread& thread) {
  Thread* self = current_;
  if (&thread == self) return;
  current_ = &thread;
  ++result_.counters.steps;
  fiber::before_switch(pools_.stacks.bottom(thread.stack), pools_.stacks.bytes());
  FiberEntry::arrived(*this, fiber::context::jump_fcontext(thread.context, self));
}

void Engine::block(Blocked why, int site, const char* operation) {
  Thread& self = *current_;
  self.blocked = why;
  self.site = site;
  self.operation = operation;
  const int64_t from = result_.counters.steps;
  Thread* thread = next();
  if (!thread) deadlock();
  switch_to(*thread);
  if (Timeline* timeline = timeline_of(*self.cta)) {
    const bool has_barrier = self.barrier && (why == Blocked::mbarrier || why == Blocked::spinning);
    timeline->wait(self.index, from, result_.counters.steps, operation,
                   has_barrier ? names_.region(SharedWindows::offset_of(self.barrier)) : "", site);
  }
}

void Engine::wake(Thread& thread) {
  thread.blocked = Blocked::no;
  ready_.push_back(&thread);
  changed();
}

void Engine::spin(int site, const char* operation) {
  spinning_.push_back(current_);
  block(Blocked::spinning, site, operation);
}

// Lets all spinning threads look again; false: nothing has changed for many rounds.
bool Engine::release_spinning() {
  idle_rounds_ = changes_ == changes_at_release_ ? idle_rounds_ + 1 : 0;
  changes_at_release_ = changes_;
  if (idle_rounds_ > kIdleRounds) return false;
  for (Thread* thread : spinning_) {
    thread->blocked = Blocked::no;
    ready_.push_back(thread);
  }
  spinning_.clear();
  return true;
}

Thread* Engine::next() {
  for (;;) {
    if (options_.schedule == Schedule::random) run_due_async();
    if (!ready_.empty()) {
      if (options_.schedule == Schedule::random)
        std::swap(ready_.front(), ready_[next_random(random_) % ready_.size()]);
      Thread* thread = ready_.front();
      ready_.pop_front();
      return thread;
    }
    if (!async_.empty()) {
      run_async(options_.schedule == Schedule::random ? next_random(random_) % async_.size() : 0);
      continue;
    }
    if (spinning_.empty()) return nullptr;
    if (!release_spinning()) {
      result_.findings.push_back(describe_deadlock(FindingKind::livelock));
      to_main();
    }
  }
}

void Engine::issue(std::unique_ptr<AsyncOperation> operation) {
  changed();
  if (Timeline* timeline = timeline_of(*operation->issuer.cta))
    operation->timeline_id = timeline->issue(operation->issuer.index, result_.counters.steps,
                                             std::string(name_of(operation->op)), operation->site);
  // Delays of all magnitudes: one that outlasts a whole iteration of the kernel finds what one of a few steps does not.
  constexpr int kDoublings = 12;
  if (options_.schedule == Schedule::random)
    operation->not_before = result_.counters.steps + (int64_t(1) << next_random(random_) % kDoublings) - 1;
  async_.push_back(std::move(operation));
  while (options_.schedule == Schedule::eager && !async_.empty()) run_async(0);
}

void Engine::run_due_async() {
  for (size_t i = 0; i < async_.size(); ++i)
    if (async_[i]->not_before <= result_.counters.steps) return run_async(i);
}

// One step of an operation, or of the one that must run before it.
void Engine::run_async(size_t chosen) {
  if (const void* owner = async_[chosen]->in_order_with)
    chosen = size_t(std::ranges::find_if(async_, [owner](const auto& op) { return op->in_order_with == owner; }) -
                    async_.begin());
  AsyncOperation& operation = *async_[chosen];
  ++result_.counters.steps;
  changed();
  running_operation_ = &operation;
  const bool finished = operation.step(*this);
  running_operation_ = nullptr;
  if (finished) {
    if (Timeline* timeline = timeline_of(*operation.issuer.cta))
      timeline->complete(operation.timeline_id, result_.counters.steps);
    async_.erase(async_.begin() + ptrdiff_t(chosen));
  } else if (options_.schedule == Schedule::late) {  // the rest of it as late as may be
    std::rotate(async_.begin() + ptrdiff_t(chosen), async_.begin() + ptrdiff_t(chosen) + 1, async_.end());
  }
}

}  // namespace gemmsmith::simulator
