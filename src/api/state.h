// What stands behind a Device.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "compiler/cache.h"
#include "compiler/target.h"
#include "gemmsmith/gemm.h"
#include "sources/source.h"
#include "support/clock.h"
#include "tuner/host_bench.h"

namespace gemmsmith {

struct Device::State {
  std::unique_ptr<Target> target;
  std::shared_ptr<KernelCache> kernels;          // compiled ones, in files; null if it is off
  std::vector<std::unique_ptr<Source>> sources;  // the reference last
  SystemClock clock;
  std::mutex measuring;              // two tunings at once would disturb each other's times
  std::unique_ptr<HostBench> bench;  // keeps its memory from one problem to the next
};

// Every source of a device: the list to which a new one is added.
std::vector<std::unique_ptr<Source>> make_sources(Target&, std::shared_ptr<KernelCache>);

// The named sources, or all if no name is given. An unknown name is an error that lists the known ones.
Result<std::vector<Source*>> select_sources(const Device::State&, const std::vector<std::string>& names);

}  // namespace gemmsmith
