// One worker process over its lives: started when it is needed, spoken to by requests with answers, started again after
// it ended.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/clock.h"
#include "tuner/worker_link.h"
#include "tuner/worker_protocol.h"

namespace gemmsmith {

class Worker {
 public:
  // Both have to outlive it.
  Worker(WorkerLauncher& launcher, const Clock& clock) : launcher_(&launcher), clock_(&clock) {}

  // Starts a process and has it open a device; nothing if it is running. Errors: it cannot be started or does not open
  // the device; if it ended meanwhile, death() tells how.
  Status start(const OpenRequest&, double seconds);
  bool running() const { return link_ != nullptr; }
  const Opened& opened() const { return opened_; }
  int life() const { return life_; }  // a new number for each start: what was sent to an earlier one is gone

  // Sends a request; its number. That the worker is gone is found when its answer is waited for.
  uint64_t ask(FrameKind, std::string text, int file = -1);
  struct Answer {
    std::optional<Frame> frame;  // done, failed or device_lost
    bool over = false;           // the worker has ended; neither: not by the deadline
  };
  // The answer to a request. Answers to others that come before it are kept for them.
  Answer wait(uint64_t request, double deadline_seconds);
  // Ends the process and tells how it ended.
  WorkerDeath end(WorkerDeath::Cause cause);
  const std::optional<WorkerDeath>& death() const { return death_; }  // the last one

  double cpu_seconds() const { return cpu_seconds_ + (link_ ? link_->cpu_seconds() : 0); }  // of all its lives

 private:
  WorkerLauncher* launcher_;
  const Clock* clock_;
  std::unique_ptr<WorkerLink> link_;
  std::map<uint64_t, Frame> kept_;
  std::optional<WorkerDeath> death_;
  Opened opened_;
  uint64_t last_request_ = 0;
  int life_ = 0;
  double cpu_seconds_ = 0;  // of lives that are over
};

}  // namespace gemmsmith
