#include "api/native.h"
#include "api/state.h"
#include "sources/native/native_source.h"
#include "support/text.h"
#include "targets/cuda/arch.h"

namespace gemmsmith {

Result<std::vector<Candidate>> native_candidates(const Device& device, const GemmProblem& problem) {
  GS_CHECK(problem.validate());
  const std::string& kind = device.facts().kind;
  if (const auto arch = gpu_arch(kind); arch.ok() && (*arch)->missing != nullptr)
    return Error{"device " + kind,
                 problem.print(),
                 concat("has no template: a GEMM ", (*arch)->missing, " is missing"),
                 "sm_90a has templates",
                 {}};
  GS_TRY(const std::vector<Source*> native, select_sources(*device.state(), {"native"}));
  if (const Supports answer = native[0]->supports(problem, device.facts()); !answer)
    return Error{"device " + kind, problem.print(), "is not for the native source: " + answer.reason, {}, {}};
  CandidateSet set = native[0]->candidates(problem, device.facts());
  if (set.kept.empty())
    return Error{"device " + kind,
                 problem.print(),
                 "has no candidate of the native source",
                 "`gemmsmith explain` lists the rules",
                 {}};
  return std::move(set.kept);
}

namespace {

Error no_such_stage(const std::string& stage, const CompiledKernel& compiled, const std::string& kind) {
  if (const auto absent = compiled.absent_stages.find(stage); absent != compiled.absent_stages.end())
    return Error(absent->second).note("so that this machine has no stage " + stage);
  std::vector<std::string> known;
  for (const auto& [name, text] : compiled.stages) known.push_back(name);
  known.push_back("object");
  return Error{"--stage",
               "\"" + stage + "\"",
               "is not a stage of a kernel for the device \"" + kind + "\"",
               "known: " + join(known, ", "),
               {}};
}

}  // namespace

Result<EmitResult> emit(const Device& device, const GemmProblem& problem, const std::string& config,
                        const std::string& stage) {
  GS_CHECK(problem.validate());
  Device::State& state = *device.state();
  std::string chosen = config;
  if (chosen.empty()) {
    GS_TRY(const std::vector<Candidate> candidates, native_candidates(device, problem));
    chosen = candidates.front().config;
  }
  NativeCompile options;
  options.cache = state.kernels.get();
  options.object_only = stage == "object";
  options.report_only = !options.object_only;  // what is wrong with a kernel can be looked at
  GS_TRY(CompiledKernel compiled, compile_native(*state.target, problem, chosen, options));
  EmitResult result;
  result.config = chosen;
  result.stage = stage;
  result.from_cache = compiled.ms.total() == 0;
  if (!result.from_cache)
    result.phases = {{"stage", compiled.ms.stage},
                     {"passes", compiled.ms.passes},
                     {"translate", compiled.ms.translate},
                     {"optimize", compiled.ms.optimize},
                     {"codegen", compiled.ms.codegen}};
  if (compiled.ms.assemble > 0) result.phases.emplace_back("assemble", compiled.ms.assemble);
  result.total_ms = compiled.ms.total();
  if (stage == "object") {
    result.content = std::move(compiled.object);
    return result;
  }
  const auto found = compiled.stages.find(stage);
  if (found == compiled.stages.end()) return no_such_stage(stage, compiled, device.facts().kind);
  result.content = found->second;
  return result;
}

}  // namespace gemmsmith
