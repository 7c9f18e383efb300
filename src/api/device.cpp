#include <algorithm>

#include "api/state.h"
#include "support/text.h"
#include "targets/cpu/cpu_target.h"

namespace gemmsmith {
namespace {

constexpr const char* kDevices[] = {"cpu"};

Result<std::unique_ptr<Target>> open_target(const std::string& name, const DeviceOptions& options) {
  if (name == "cpu")
    return make_cpu_target({.threads = options.threads, .measure_peaks = options.measure_peaks, .features_limit = {}});
  return Error{"device", "\"" + name + "\"", "is not a device of this build", "known: " + join(kDevices, ", "), {}};
}

}  // namespace

Result<Device> Device::open(const std::string& name, const DeviceOptions& options) {
  auto state = std::make_shared<State>();
  GS_TRY(state->target, open_target(name, options));
  state->sources = make_sources(*state->target);
  return Device(std::move(state));
}

const DeviceFacts& Device::facts() const { return state_->target->facts(); }

void Device::release_memory() const {
  const std::lock_guard lock(state_->measuring);
  state_->bench.reset();
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
