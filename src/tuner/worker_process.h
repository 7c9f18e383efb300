// What a process has to settle when it becomes a worker: that it says why it ends, and that it does not outlive its tuner.
#pragma once
#include <cstdint>

#include "tuner/worker_status.h"

namespace gemmsmith {

// From here on, a signal that ends this process is described in the status page first; an allocation that fails is noted
// there; the process ends when its tuner's does; it leaves no core file, and the system's killer takes it before others.
void become_worker(WorkerStatus*, int socket);

// The calling thread is the one of a slot: what it is at can be named, and a stack that overflowed as well.
class WorkerThread {
 public:
  WorkerThread(WorkerStatus*, int slot);
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  void at(uint64_t kernel) { status_->at[slot_].store(kernel); }

 private:
  WorkerStatus* status_;
  int slot_;
  char* stack_;
};

}  // namespace gemmsmith
