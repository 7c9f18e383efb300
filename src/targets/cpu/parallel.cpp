#include "targets/cpu/parallel.h"

#include <pthread.h>

#include "gemmsmith/result.h"
#include "support/signals.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gemmsmith {
namespace {

thread_local Launch* current_launch = nullptr;
thread_local bool inside_pass = false;

constexpr int kSpins = 2000;  // of about 25 ns: a pause takes 40 to 140 cycles

// Forks between the first process that had a pool and this one: what a pool is older than took its workers away.
std::atomic<uint32_t> forks{0};

void count_forks() {
  [[maybe_unused]] static const int once =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
}

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

LaunchScope::LaunchScope(Launch* launch) : outer_(current_launch) { current_launch = launch; }
LaunchScope::~LaunchScope() { current_launch = outer_; }

ThreadPool::ThreadPool(int threads, bool spin) : spin_(spin) {
  GS_ASSERT(threads >= 1 && threads <= int(kInside),
            "a pool has its caller at least, and no more than its gate can count");
  count_forks();
  forks_ = forks.load(std::memory_order_relaxed);
  const SignalsBlocked blocked;
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { serve(); });
}

bool ThreadPool::lost_its_workers() const { return forks.load(std::memory_order_relaxed) != forks_; }

ThreadPool::~ThreadPool() {
  if (lost_its_workers()) {
    // Neither can they be joined, nor may they be detached: their memory may be that of new threads by now.
    (void)new std::vector<std::thread>(std::move(workers_));
    return;
  }
  stop_.store(true, std::memory_order_relaxed);
  gate_.fetch_xor(kNumber, std::memory_order_release);  // sleepers wait for a change of the gate
  gate_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(ParallelPart part, const int64_t* captured, int64_t count) {
  if (count <= 1 || inside_pass || workers_.empty() || lost_its_workers()) {
    for (int64_t i = 0; i < count; ++i) part(captured, i);
    return;
  }
  const std::lock_guard turn(turn_);
  loop_ = {part, captured, count, current_launch};
  next_.store(0, std::memory_order_relaxed);
  const uint32_t number = (gate_.load(std::memory_order_relaxed) + kOpen * 2) & kNumber;
  gate_.store(number | kOpen, std::memory_order_release);
  gate_.notify_all();

  take_indices();

  gate_.fetch_and(~kOpen, std::memory_order_relaxed);
  for (int spins = 0; gate_.load(std::memory_order_acquire) & kInside; ++spins) {
    pause_briefly();
    if (!spin_ || spins > kSpins) std::this_thread::yield();  // whoever is inside may need this core
  }
}

void ThreadPool::take_indices() {
  inside_pass = true;
  for (int64_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < loop_.count;) loop_.part(loop_.captured, i);
  inside_pass = false;
}

// The gate, once its loop is not the one with this number or the pool stops.
uint32_t ThreadPool::wait_for_other_than(uint32_t number) const {
  int spins = spin_ ? kSpins : 0;
  while (true) {
    const uint32_t gate = gate_.load(std::memory_order_acquire);
    if ((gate & kNumber) != number || stop_.load(std::memory_order_relaxed)) return gate;
    if (spins-- > 0)
      pause_briefly();
    else
      gate_.wait(gate, std::memory_order_relaxed);
  }
}

void ThreadPool::serve() {
  uint32_t number = 0;
  while (true) {
    uint32_t gate = wait_for_other_than(number);
    if (stop_.load(std::memory_order_relaxed)) return;
    number = gate & kNumber;
    bool entered = false;
    while (!entered && (gate & kOpen) && (gate & kNumber) == number)
      entered = gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire);
    if (!entered) continue;
    {
      const LaunchScope scope(loop_.launch);
      take_indices();
    }
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace gemmsmith

using gemmsmith::current_launch;

extern "C" void gs_parallel_for(void (*part)(const int64_t*, int64_t), const int64_t* captured, int64_t count) {
  if (current_launch != nullptr && current_launch->pool != nullptr) {
    current_launch->pool->run(part, captured, count);
    return;
  }
  for (int64_t i = 0; i < count; ++i) part(captured, i);
}

extern "C" void gs_bounds_trap(int64_t line) {
  if (current_launch == nullptr) return;
  int64_t none = 0;
  current_launch->violated_line.compare_exchange_strong(none, line, std::memory_order_relaxed);
}
