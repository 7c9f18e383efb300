#include "api/state.h"
#include "sources/native/native_source.h"
#include "support/text.h"

namespace gemmsmith {

Result<EmitResult> emit(const Device& device, const GemmProblem& problem, const std::string& config,
                        const std::string& stage) {
  GS_CHECK(problem.validate());
  Device::State& state = *device.state();
  std::string chosen = config;
  if (chosen.empty()) {
    GS_TRY(const std::vector<Source*> native, select_sources(state, {"native"}));
    if (const Supports answer = native[0]->supports(problem, device.facts()); !answer)
      return Error{"emit", problem.print(), "is not for the native source: " + answer.reason, "", {}};
    const CandidateSet set = native[0]->candidates(problem, device.facts());
    if (set.kept.empty())
      return Error{
          "emit", problem.print(), "has no candidate of the native source", "`gemmsmith explain` lists the rules", {}};
    chosen = set.kept.front().config;
  }
  GS_TRY(CompiledKernel compiled, compile_native(*state.target, problem, chosen,
                                                 {.cache = state.kernels.get(), .object_only = stage == "object"}));
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
  result.total_ms = compiled.ms.total();
  if (stage == "object") {
    result.content = std::move(compiled.object);
    return result;
  }
  const auto found = compiled.stages.find(stage);
  if (found == compiled.stages.end()) {
    std::vector<std::string> known;
    for (const auto& [name, text] : compiled.stages) known.push_back(name);
    known.push_back("object");
    return Error{"--stage",
                 "\"" + stage + "\"",
                 "is not a stage of a kernel for the device \"" + device.facts().kind + "\"",
                 "known: " + join(known, ", "),
                 {}};
  }
  result.content = found->second;
  return result;
}

}  // namespace gemmsmith
