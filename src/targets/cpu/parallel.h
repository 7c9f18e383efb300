// The run time that compiled kernels call: parallel loops over a pool of threads, and bounds traps.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace gemmsmith {

// One pass of a parallel loop; `captured` holds what the body uses from outside.
using ParallelPart = void (*)(const int64_t* captured, int64_t index);

class ThreadPool;

// One run of a kernel. Kernels find theirs through a thread-local pointer: their code is called with its arguments
// alone.
struct Launch {
  ThreadPool* pool = nullptr;             // null: passes run one after the other
  std::atomic<int64_t> violated_line{0};  // of the first bounds trap; 0: none
};

// Makes a launch the calling thread's while it lives.
class LaunchScope {
 public:
  explicit LaunchScope(Launch*);
  ~LaunchScope();
  LaunchScope(const LaunchScope&) = delete;
  LaunchScope& operator=(const LaunchScope&) = delete;

 private:
  Launch* outer_;
};

// Threads that run the passes of one loop at a time; the thread that asks runs its share. Each takes the next index
// when it is free, so that a core that is slower, or was taken away for a while, runs fewer passes. Idle threads spin
// for some 50 us, since kernels follow each other closely, and then sleep. Signals of the program are not delivered to
// them. After fork() the child has no workers: there a pool runs its passes one after the other, in the thread that asks.
class ThreadPool {
 public:
  // `threads` counts the caller; at least 1. `spin` is to be false where there are more threads than cores.
  explicit ThreadPool(int threads, bool spin = true);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return int(workers_.size()) + 1; }
  // Runs part(captured, i) for each i in [0, count), each once, and returns when all are done. Loops of different
  // threads take turns; a loop inside a pass runs its passes one after the other, in the thread of the pass.
  void run(ParallelPart part, const int64_t* captured, int64_t count);

 private:
  // The gate of the loop that is running, in one word so that a worker enters only while it is open: the number of the
  // loop, a bit that is set while workers may enter, and how many are inside. The caller closes it when no index is
  // left and waits for those inside; a worker that slept through a loop costs it nothing.
  static constexpr uint32_t kInside = 0xffff, kOpen = 0x10000, kNumber = 0xfffe0000;

  void serve();
  bool lost_its_workers() const;
  uint32_t wait_for_other_than(uint32_t number) const;
  void take_indices();

  struct Loop {
    ParallelPart part = nullptr;
    const int64_t* captured = nullptr;
    int64_t count = 0;
    Launch* launch = nullptr;
  };
  alignas(64) std::atomic<uint32_t> gate_{0};
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) Loop loop_;  // written while the gate is closed and nobody is inside
  std::atomic<bool> stop_{false};
  bool spin_;
  uint32_t forks_ = 0;  // of this process when the workers were started
  std::mutex turn_;
  std::vector<std::thread> workers_;
};

}  // namespace gemmsmith

// What kernels call by name. Both use the calling thread's launch.
extern "C" {
void gs_parallel_for(void (*part)(const int64_t* captured, int64_t index), const int64_t* captured, int64_t count);
// Reports that the access at `line` of the template lies outside its tensor. Returns; the kernel must not make the
// access.
void gs_bounds_trap(int64_t line);
}
