// What stands behind a Device.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "compiler/cache.h"
#include "compiler/target.h"
#include "gemmsmith/gemm.h"
#include "sources/source.h"
#include "support/clock.h"
#include "tuner/host_bench.h"
#include "tuner/worker_bench.h"

namespace gemmsmith {

struct Device::State {
  std::string name;  // as it was opened
  DeviceOptions options;
  std::unique_ptr<Target> target;
  std::shared_ptr<KernelCache> kernels;  // compiled ones, in files; null if it is off
  SystemClock clock;
  std::mutex measuring;  // two tunings at once would disturb each other's times; of what follows
  // Benches keep their memory, and workers, from one problem to the next.
  std::unique_ptr<HostBench> bench;
  std::unique_ptr<WorkerBench> worker_bench;
  std::string worker;     // what worker_bench was asked for: program and count
  std::string no_worker;  // why there is none

  // Of this process, the reference last. Opened when they are first asked for: libraries that do harm while they are
  // loaded do it in a worker, where candidates are isolated.
  const std::vector<std::unique_ptr<Source>>& sources();

 private:
  std::once_flag opened_;
  std::vector<std::unique_ptr<Source>> sources_;
};

// Every source of a device: the list to which a new one is added.
struct SourceMaker {
  const char* name;
  std::unique_ptr<Source> (*make)(Target&, const std::shared_ptr<KernelCache>&);
};
std::span<const SourceMaker> source_makers();

Result<std::unique_ptr<Target>> open_target(const std::string& name, const DeviceOptions&);
std::shared_ptr<KernelCache> open_kernel_cache(const DeviceOptions&);  // null if it is off

// The bench that tunings with these options run on, made if there is none; where there is no worker, the one of this
// process. The caller holds `measuring`.
Bench& choose_bench(Device::State&, const TuneOptions&);
// Those that can be built for a bench: of this process, or as its workers offer them.
std::vector<Source*> sources_of(Device::State&, const Bench&);

// The named sources, or all if no name is given. An unknown name is an error that lists the known ones.
Result<std::vector<Source*>> select_sources(const std::vector<Source*>&, const std::vector<std::string>& names);
Result<std::vector<Source*>> select_sources(Device::State&, const std::vector<std::string>& names);

}  // namespace gemmsmith
