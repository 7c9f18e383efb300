// A page that a worker shares with its tuner and that outlives it: what it was doing when it ended. The worker's signal
// handler writes it too, so all of it is lock-free words.
#pragma once
#include <atomic>
#include <cstdint>

namespace gemmsmith {

struct WorkerStatus {
  static constexpr int kSlots = 128;  // 0: the thread that runs kernels; then those that build
  // The kernel that each thread is at; 0: none. While sources are opened and
  // plan, slot 0 has the number of the source, from 1, among those that are open.
  std::atomic<uint64_t> at[kSlots];

  // Of the signal that ends the worker.
  std::atomic<int32_t> signal;
  std::atomic<int32_t> slot;       // of its thread; -1: another one, such as those of a kernel
  std::atomic<uint64_t> address;   // that was touched
  std::atomic<uint64_t> operands;  // where the worker has the shared operands; 0: nowhere
  std::atomic<int32_t> writing;    // 1: by a write, 0: by a read, -1: not known
  std::atomic<int32_t> no_memory;  // 1: an allocation had failed before
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int32_t>::is_always_lock_free);

constexpr int kWorkerSocket = 3, kWorkerStatus = 4;            // the files that a worker is started with
constexpr const char* kWorkerArgument = "--gemmsmith-worker";  // and its only argument

}  // namespace gemmsmith
