#include <algorithm>

#include "api/state.h"
#include "gemmsmith/worker.h"
#include "support/text.h"
#include "targets/cpu/cpu_target.h"
#include "targets/cuda/arch.h"
#include "targets/cuda/cuda_target.h"
#include "targets/simulator/simulator_target.h"

namespace gemmsmith {
namespace {

constexpr const char* kDevices[] = {"cpu", "cuda", "sim:sm_90a"};
constexpr std::string_view kSimulated = "sim:";

}  // namespace

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

const std::vector<std::unique_ptr<Source>>& Device::State::sources() {
  std::call_once(opened_, [this] {
    for (const SourceMaker& maker : source_makers()) sources_.push_back(maker.make(*target, kernels));
  });
  return sources_;
}

Result<Device> Device::open(const std::string& name, const DeviceOptions& options) {
  auto state = std::make_shared<State>();
  GS_TRY(state->target, open_target(name, options));
  state->kernels = open_kernel_cache(options);
  state->name = name;
  state->options = options;
  return Device(std::move(state));
}

const DeviceFacts& Device::facts() const { return state_->target->facts(); }

void Device::release_memory() const {
  const std::lock_guard lock(state_->measuring);
  state_->bench.reset();
  state_->worker_bench.reset();
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

std::vector<std::string> Device::source_names() const {
  std::vector<std::string> names;
  for (const SourceMaker& maker : source_makers()) names.push_back(maker.name);
  return names;
}

std::vector<SourceReport> Device::sources(const TuneOptions& options) const {
  const std::lock_guard lock(state_->measuring);
  std::vector<SourceReport> out;
  const GemmProblem plain = make_problem(64, 64, 64, DataType::f32);
  for (const Source* source : sources_of(*state_, choose_bench(*state_, options))) {
    const Supports answer = source->supports(plain, facts());
    out.push_back({source->name(), source->version(), answer.yes, answer.reason});
  }
  return out;
}

std::vector<Source*> sources_of(Device::State& state, const Bench& bench) {
  if (&bench == state.worker_bench.get()) return state.worker_bench->sources();
  std::vector<Source*> all;
  for (const auto& source : state.sources()) all.push_back(source.get());
  return all;
}

Bench& choose_bench(Device::State& state, const TuneOptions& options) {
  std::string reason = "asked for";
  // A GPU's kernels need a stage of their own in the worker; until there is one they run here.
  if (options.isolate && state.name != "cpu") reason = "no worker runs kernels of device " + state.name;
  if (options.isolate && state.name == "cpu") {
    const std::string program = options.worker.empty() ? installed_worker() : options.worker;
    const std::string asked = concat(program, " ", options.workers);
    if (state.worker != asked) {
      state.worker = asked;
      state.worker_bench.reset();
      state.no_worker = program.empty() ? "no gemmsmith is installed with this library to serve as worker" : "";
    }
    if (!state.worker_bench && state.no_worker.empty()) {
      WorkerBenchOptions bench;
      bench.open = {state.name, state.options.threads, state.options.kernel_cache.value_or(""), {}};
      bench.workers = options.workers;
      for (const SourceMaker& maker : source_makers()) bench.sources.push_back(maker.name);
      auto opened = WorkerBench::open(make_launcher(program, state.clock), state.clock, std::move(bench),
                                      state.target->facts().fingerprint());
      if (opened.ok())
        state.worker_bench = *std::move(opened);
      else
        state.no_worker = opened.error().text();
    }
    if (state.worker_bench) return *state.worker_bench;
    reason = state.no_worker;
  }
  if (!state.bench) state.bench = std::make_unique<HostBench>(state.clock);
  state.bench->set_isolation("in process: " + reason);
  return *state.bench;
}

Result<std::vector<Source*>> select_sources(Device::State& state, const std::vector<std::string>& names) {
  std::vector<Source*> all;
  for (const auto& source : state.sources()) all.push_back(source.get());
  return select_sources(all, names);
}

Result<std::vector<Source*>> select_sources(const std::vector<Source*>& all, const std::vector<std::string>& names) {
  if (names.empty()) return all;
  std::vector<Source*> chosen;
  for (const std::string& name : names) {
    Source* found = nullptr;
    std::vector<std::string> known;
    for (Source* source : all) {
      known.push_back(source->name());
      if (source->name() == name) found = source;
    }
    if (!found) return Error{"sources", "\"" + name + "\"", "is not a source", "known: " + join(known, ", "), {}};
    if (std::find(chosen.begin(), chosen.end(), found) == chosen.end()) chosen.push_back(found);
  }
  return chosen;
}

}  // namespace gemmsmith
