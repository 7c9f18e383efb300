#include <algorithm>

#include "api/state.h"
#include "gemmsmith/worker.h"
#include "support/text.h"
#include "targets/cpu/cpu_target.h"

namespace gemmsmith {
namespace {

constexpr const char* kDevices[] = {"cpu"};

}  // namespace

Result<std::unique_ptr<Target>> open_target(const std::string& name, const DeviceOptions& options) {
  if (name == "cpu")
    return make_cpu_target({.threads = options.threads, .measure_peaks = options.measure_peaks, .features_limit = {}});
  return Error{"device", "\"" + name + "\"", "is not a device of this build", "known: " + join(kDevices, ", "), {}};
}

const std::vector<std::unique_ptr<Source>>& Device::State::sources() {
  std::call_once(opened_, [this] {
    for (const SourceMaker& maker : source_makers()) sources_.push_back(maker.make(*target));
  });
  return sources_;
}

Result<Device> Device::open(const std::string& name, const DeviceOptions& options) {
  auto state = std::make_shared<State>();
  GS_TRY(state->target, open_target(name, options));
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
  if (options.isolate) {
    const std::string program = options.worker.empty() ? installed_worker() : options.worker;
    const std::string asked = concat(program, " ", options.workers);
    if (state.worker != asked) {
      state.worker = asked;
      state.worker_bench.reset();
      state.no_worker = program.empty() ? "no gemmsmith is installed with this library to serve as worker" : "";
    }
    if (!state.worker_bench && state.no_worker.empty()) {
      WorkerBenchOptions bench;
      bench.open = {state.name, state.options.threads, {}};
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
