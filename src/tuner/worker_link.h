// A worker as its tuner sees it: something to send requests to, that answers, or does not, or ends. Tests put a fake in
// its place, so that whoever uses it is tested without processes and without waiting.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/child_process.h"
#include "support/clock.h"
#include "tuner/frame.h"
#include "tuner/worker_protocol.h"

namespace gemmsmith {

// How a worker ended, with all that it left.
struct WorkerDeath {
  enum class Cause : uint8_t {
    ended,        // by itself: a signal, an exit
    hung,         // no answer in time; it was killed
    garbage,      // what it sent was no message; it was killed
    device_lost,  // it said that its device is of no more use; it was killed
  };
  Cause cause = Cause::ended;
  ProcessEnd end;
  double waited_seconds = 0;  // of one that hung
  std::string error;          // of one that lost its device
  std::vector<uint64_t> at;   // the kernels that its threads were at; if the thread of the signal is known, its one
  int signal = 0;             // that its handler saw
  std::optional<uint64_t> address;  // that was touched then
  std::optional<int64_t> offset;    // of that from the start of the shared operands
  int writing = -1;                 // 1: by a write, 0: by a read
  bool no_memory = false;           // an allocation had failed before
  std::string said;                 // the last that it printed

  // "killed by SIGSEGV: writes 8 bytes past the end of d", "no answer for 2.00 s", "exited with 3; it said: ...".
  std::string text(const std::vector<SharedRegion>&) const;
  // Whether it shows that what ran did it: a touch outside of the shared operands, an illegal instruction, an exit, a
  // hang. Anything else may be the late consequence of what another kernel wrote over.
  bool conclusive(const std::vector<SharedRegion>&) const;
};

class WorkerLink {
 public:
  virtual ~WorkerLink() = default;  // ends it
  virtual Status send(const Frame&, int file = -1) = 0;
  struct Received {
    std::optional<Frame> frame;
    bool over = false;  // it has ended or talks nonsense: nothing more will come
  };
  // The next message; waits for it until the clock says `deadline_seconds`. Neither a frame nor over: none came.
  virtual Received receive(double deadline_seconds) = 0;
  // Ends it, if it has not, and tells how it ended. For one that is not over, `cause` is why it has to.
  virtual WorkerDeath end(WorkerDeath::Cause cause) = 0;
  virtual double cpu_seconds() const = 0;  // so far
};

class WorkerLauncher {
 public:
  virtual ~WorkerLauncher() = default;
  // Errors: it cannot be started.
  virtual Result<std::unique_ptr<WorkerLink>> launch() = 0;
  virtual std::string name() const = 0;  // for reports: "gemmsmith"
};

// Starts a program that serves as a worker when its only argument is kWorkerArgument. The clock has to outlive all.
std::unique_ptr<WorkerLauncher> make_launcher(std::string program, const Clock&);

}  // namespace gemmsmith
