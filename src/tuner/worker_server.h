// The worker's side: opens a device, builds kernels on threads of its own, runs and times them when it is asked to.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "gemmsmith/device.h"
#include "sources/source.h"
#include "support/clock.h"
#include "tuner/worker_protocol.h"

namespace gemmsmith {

// Where a worker's kernels run. One for host memory is the default; a GPU's copies the shared operands to its memory and
// D back, and times by its own events.
class Stage {
 public:
  virtual ~Stage() = default;
  // The operands of a problem, in shared host memory, and how many copies of them samples rotate through. Returns how
  // many there are.
  virtual Result<int64_t> prepare(const GemmProblem&, const GemmArguments& shared, const OperandsRequest&,
                                  int threads) = 0;
  virtual Status run(Kernel&) = 0;  // once, on the shared operands
  virtual Result<double> sample_us(Kernel&, int repeats) = 0;
  virtual bool lost() const { return false; }  // after an error: whether the device is of no more use to this process
};
std::unique_ptr<Stage> make_host_stage(const Clock&);  // the clock has to outlive it

struct WorkerDevice {
  DeviceFacts facts;  // peaks not measured
  std::vector<Source*> sources;
  std::unique_ptr<Stage> stage;
  std::shared_ptr<void> keeps;  // what all of this lives in
};

// Opens the device that was asked for. Calls `opening` with the place of each source, from 0, before it is opened: a
// library that ends the process while it is loaded has a name then. Leaves out those that it is told to.
using OpenWorkerDevice =
    std::function<Result<WorkerDevice>(const OpenRequest&, const std::function<void(int)>& opening)>;

// Serves the tuner that has started this process, until it closes the connection; then returns what main() should.
// The files are kWorkerSocket and kWorkerStatus. Ends the process if the tuner's dies.
int serve_worker_process(const OpenWorkerDevice&);

}  // namespace gemmsmith
