// What a template is to the rest of the project: a name, whom it serves, its space of configurations, and the function that stages
// the kernel. One file a template, and one line in templates.cpp.
#pragma once
#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gemmsmith/device.h"
#include "gemmsmith/problem.h"
#include "gemmsmith/result.h"
#include "ir/kernel_ir.h"
#include "templates/config.h"
#include "templates/gemm_class.h"

namespace gemmsmith {

class GpuBuilder;
class KernelBuilder;

struct StageOptions {
  bool check_bounds = false;  // CPU: record a trap on every access at a coordinate that is not proven to be inside
};
// Records the kernel of a template: what KernelTemplate::stage gives.
using StageFunction = std::function<Result<KernelIr>(IrContext&, const DeviceFacts&, const StageOptions&)>;

struct ScoredConfig {
  std::string config;
  double predicted_us = 0;
  std::string dropped;  // the rule that excludes it, with its numbers; empty: kept
};

struct KernelTemplate {
  std::string name;
  std::string device_kind;  // "cpu", "sm_90a"
  // Whether it can compute the problem at all; the same predicate guards generation, tuning and staging.
  std::function<Supports(const GemmProblem&, const DeviceFacts&)> supports;
  // Generated and pruned by the model: kept ones best first, then dropped ones with their rule.
  std::function<std::vector<ScoredConfig>(const GemmProblem&, const DeviceFacts&)> configs;
  // Checks a printed configuration against the template's rules and gives the function that stages it.
  std::function<Result<StageFunction>(const std::string& config, const GemmProblem&, const DeviceFacts&)> stage;
};

std::span<const KernelTemplate> templates();
const KernelTemplate* template_named(std::string_view name);

// A candidate's printed form is "template field=value ...". Stages it for a problem; the error names the rule that it breaks.
Result<KernelIr> stage_kernel(IrContext&, std::string_view candidate, const GemmProblem&, const DeviceFacts&,
                              const StageOptions& = {});
// The same check without staging. A kernel that was compiled for another problem of its class may not serve this one.
Status check_candidate(std::string_view candidate, const GemmProblem&, const DeviceFacts&);
// What the compiled code depends on: equal keys, equal kernels.
std::string kernel_key(std::string_view candidate, const GemmProblem&, const DeviceFacts&);

// How a template's function becomes a recording, by the builder that it takes.
StageFunction stage_function(const std::string& name, std::function<void(KernelBuilder&)> stage);
StageFunction stage_function(const std::string& name, std::function<void(GpuBuilder&)> stage);

// Makes a KernelTemplate of a Config with fields(), and four functions over it.
template <class Config, class Builder>
KernelTemplate make_template(std::string name, std::string device_kind,
                             Supports (*supports)(const GemmProblem&, const DeviceFacts&),
                             std::vector<Config> (*space)(const GemmProblem&, const DeviceFacts&),
                             Supports (*legal)(const Config&, const GemmProblem&, const DeviceFacts&),
                             double (*predict_us)(const Config&, const GemmProblem&, const DeviceFacts&),
                             void (*stage)(Builder&, const Config&, const GemmClass&)) {
  auto configs = [=](const GemmProblem& p, const DeviceFacts& device) {
    std::vector<ScoredConfig> out;
    std::set<std::string> seen;  // small problems clamp many blocks to the same size
    for (const Config& config : space(p, device)) {
      if (!seen.insert(print_config(config)).second) continue;
      const Supports allowed = legal(config, p, device);
      out.push_back({print_config(config), allowed ? predict_us(config, p, device) : 0, allowed.reason});
    }
    std::stable_sort(out.begin(), out.end(), [](const ScoredConfig& x, const ScoredConfig& y) {
      return x.dropped.empty() != y.dropped.empty() ? x.dropped.empty() : x.predicted_us < y.predicted_us;
    });
    return out;
  };
  auto checked = [=](const std::string& text, const GemmProblem& p,
                     const DeviceFacts& device) -> Result<StageFunction> {
    GS_TRY(const Config config, read_config<Config>(text));
    const Supports allowed = legal(config, p, device);
    if (!allowed)
      return Error{"--config", name + " " + print_config(config), "is not legal: " + allowed.reason, "", {}};
    return stage_function(name,
                          std::function<void(Builder&)>([=, c = class_of(p)](Builder& k) { stage(k, config, c); }));
  };
  return {std::move(name), std::move(device_kind), supports, configs, checked};
}

}  // namespace gemmsmith
