#include <algorithm>

#include "api/state.h"
#include "support/text.h"
#include "targets/cpu/cpu_target.h"
#include "targets/cuda/arch.h"
#include "targets/cuda/cuda_target.h"
#include "targets/simulator/simulator_target.h"

namespace gemmsmith {
namespace {

constexpr const char* kDevices[] = {"cpu", "cuda", "sim:sm_90a"};
constexpr std::string_view kSimulated = "sim:";

Result<std::unique_ptr<Target>> open_target(const std::string& name, const DeviceOptions& options) {
  if (name == "cpu")
    return make_cpu_target({.threads = options.threads, .measure_peaks = options.measure_peaks, .features_limit = {}});
  if (name.starts_with(kSimulated)) {
    SimulatorOptions simulated;
    simulated.launch.detect_races = options.simulation.detect_races;
    simulated.schedules = options.simulation.schedules;
    GS_TRY(std::unique_ptr<SimulatorTarget> target, make_simulator_target(name.substr(kSimulated.size()), simulated));
    return std::unique_ptr<Target>(std::move(target));
  }
  if (name == "cuda") {
    CudaTargetOptions gpu;
    GS_TRY(gpu.driver, CudaDriver::open());
    return make_cuda_target(gpu);
  }
  if (gpu_arch(name).ok()) {
    CudaTargetOptions gpu;
    gpu.arch = name;
    return make_cuda_target(gpu);
  }
  return Error{"device",
               "\"" + name + "\"",
               "is not a device of this build",
               "known: " + join(kDevices, ", ") + "; to compile only: " + join(gpu_arch_names(), ", "),
               {}};
}

// Null if it is off.
std::shared_ptr<KernelCache> open_kernel_cache(const DeviceOptions& options) {
  const std::string given = options.kernel_cache.value_or("");
  if (given.empty() ? KernelCache::is_off() : given == "none") return nullptr;
  CacheOptions cache;
  cache.folders = given.empty() ? KernelCache::default_folders() : KernelCache::folders_named(given);
  cache.warn = options.warn;
  if (cache.folders.empty() && options.warn)
    options.warn({"kernel cache",
                  "no folder",
                  "is known: GEMMSMITH_CACHE, XDG_CACHE_HOME and HOME are not set",
                  "name one; until then each process compiles its kernels anew",
                  {}});
  return std::make_shared<KernelCache>(std::move(cache));
}

}  // namespace

Result<Device> Device::open(const std::string& name, const DeviceOptions& options) {
  auto state = std::make_shared<State>();
  GS_TRY(state->target, open_target(name, options));
  state->kernels = open_kernel_cache(options);
  state->sources = make_sources(*state->target, state->kernels);
  return Device(std::move(state));
}

const DeviceFacts& Device::facts() const { return state_->target->facts(); }

void Device::release_memory() const {
  const std::lock_guard lock(state_->measuring);
  state_->bench.reset();
}

KernelCacheReport Device::kernel_cache() const {
  KernelCacheReport report;
  if (!state_->kernels) return report;
  const CacheCounts counts = state_->kernels->counts();
  const CacheUsage usage = state_->kernels->usage();
  report.folders = state_->kernels->folders();
  report.hits = counts.hits;
  report.misses = counts.misses;
  report.damaged = counts.damaged;
  report.evicted = counts.evicted;
  report.saved = counts.saved;
  report.unsaved = counts.unsaved;
  report.found_bytes = counts.found_bytes;
  report.saved_bytes = counts.saved_bytes;
  report.kernels = usage.kernels;
  report.bytes = usage.bytes;
  return report;
}

std::vector<SourceReport> Device::sources() const {
  std::vector<SourceReport> out;
  const GemmProblem plain = make_problem(64, 64, 64, DataType::f32);
  for (const auto& source : state_->sources) {
    const Supports answer = source->supports(plain, facts());
    out.push_back({source->name(), source->version(), answer.yes, answer.reason});
  }
  return out;
}

Result<std::vector<Source*>> select_sources(const Device::State& state, const std::vector<std::string>& names) {
  std::vector<Source*> chosen;
  if (names.empty()) {
    for (const auto& source : state.sources) chosen.push_back(source.get());
    return chosen;
  }
  for (const std::string& name : names) {
    Source* found = nullptr;
    std::vector<std::string> known;
    for (const auto& source : state.sources) {
      known.push_back(source->name());
      if (source->name() == name) found = source.get();
    }
    if (!found) return Error{"sources", "\"" + name + "\"", "is not a source", "known: " + join(known, ", "), {}};
    if (std::find(chosen.begin(), chosen.end(), found) == chosen.end()) chosen.push_back(found);
  }
  return chosen;
}

}  // namespace gemmsmith
