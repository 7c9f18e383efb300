// From m to a kernel that runs it, for any number of threads. What tunes and what builds are given, so that it is tested
// without a device.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "api/crossovers.h"
#include "gemmsmith/arguments.h"

namespace gemmsmith {

class Dispatcher {
 public:
  using Run = std::function<Status(const GemmArguments&)>;
  using Build = std::function<Result<Run>(int64_t m, const KernelChoice&)>;
  // Neither `tune` nor `build` is called by two threads at once; a Run by one thread at a time.
  Dispatcher(int64_t min_m, int64_t max_m, int points_per_octave, Crossovers::Tune tune, Build build);

  Status prepare(int64_t m);
  Status prepare();
  Status run(int64_t m, const GemmArguments&);
  std::vector<DispatchRange> table() const;

 private:
  // The kernel for one m.
  struct Slot {
    std::mutex running;
    Run run;
  };
  Result<Slot*> find(int64_t m);
  Result<Slot*> make(int64_t m);

  int64_t min_m_, max_m_;
  Build build_;
  mutable std::mutex making_;  // guards what follows; slots are read without it
  Crossovers crossovers_;
  std::vector<std::unique_ptr<Slot>> owned_;
  std::unique_ptr<std::atomic<Slot*>[]> slots_;  // by m - min_m; null until asked for, then never changed
};

}  // namespace gemmsmith
