#include "simulated/bugs.h"

#include <cstring>
#include <fstream>

#include "sources/native/native_source.h"

namespace gemmsmith::test {
namespace {

// The simulator, with another kernel in the place of the template's, or a changed one.
class ChangedTarget : public Target {
 public:
  ChangedTarget(Target& target, SimulatedGemm::Stage stage, std::function<void(KernelIr&)> change)
      : target_(target), stage_(std::move(stage)), change_(std::move(change)) {}
  const DeviceFacts& facts() const override { return target_.facts(); }
  std::string code_id() const override { return target_.code_id(); }
  Result<CompiledKernel> compile(const std::function<Result<KernelIr>(IrContext&)>& stage,
                                 const CompileOptions& options) override {
    return target_.compile(
        [&](IrContext& context) -> Result<KernelIr> {
          GS_TRY(KernelIr kernel, stage_ ? stage_(context) : stage(context));
          if (change_) change_(kernel);
          return kernel;
        },
        options);
  }
  Result<std::unique_ptr<LoadedKernel>> load(const CompiledKernel& kernel) override { return target_.load(kernel); }

 private:
  Target& target_;
  SimulatedGemm::Stage stage_;
  std::function<void(KernelIr&)> change_;
};

}  // namespace

std::vector<simulator::LaunchOptions> twelve_schedules(bool detect_races) {
  std::vector<simulator::LaunchOptions> schedules(12);
  for (size_t i = 0; i < schedules.size(); ++i) {
    schedules[i].detect_races = detect_races;
    schedules[i].seed = i;
    schedules[i].schedule = i == 0   ? simulator::Schedule::late
                            : i == 1 ? simulator::Schedule::eager
                                     : simulator::Schedule::random;
  }
  return schedules;
}

std::string line_of(const std::string& file, const std::string& statement) {
  // Compilers may be given paths that are relative to the build folder.
  static const std::string kHere = __FILE__,
                           kPrefix = kHere.substr(0, kHere.size() - strlen("tests/simulated/bugs.cpp"));
  std::ifstream in(std::string(GEMMSMITH_SOURCE_DIR) + "/" + file);
  int found = 0, number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find(statement) == std::string::npos) continue;
    if (found) return "[" + statement + " is on several lines of " + file + "]";
    found = number;
  }
  return found ? kPrefix + file + ":" + std::to_string(found) : "[" + statement + " is on no line of " + file + "]";
}

std::string with_sites(std::string text, const std::string& file, const Statements& statements) {
  for (const auto& [label, statement] : statements)
    for (size_t at; (at = text.find("{" + label + "}")) != std::string::npos;)
      text.replace(at, label.size() + 2, label + " at " + line_of(file, statement));
  return text;
}

std::string missing_from(const std::string& text, const std::vector<std::string>& parts) {
  size_t at = 0;
  for (const std::string& part : parts) {
    const size_t found = text.find(part, at);
    if (found == std::string::npos) return "not found: " + part + "\nin: " + text;
    at = found + part.size();
  }
  return "";
}

Result<SimulatedGemm> SimulatedGemm::create(const std::string& problem, const std::string& candidate,
                                            const Stage& stage, const std::function<void(KernelIr&)>& change) {
  SimulatedGemm gemm;
  GS_TRY(GemmProblem parsed, GemmProblem::parse(problem));
  gemm.problem_ = std::make_unique<GemmProblem>(std::move(parsed));
  GS_TRY(gemm.target_, make_simulator_target("sm_90a"));
  gemm.changed_ = std::make_unique<ChangedTarget>(*gemm.target_, stage, change);
  gemm.source_ = make_native_source(*gemm.changed_, {.verify = true});
  GS_TRY(gemm.kernel_, gemm.source_->build(*gemm.problem_, gemm.target_->facts(), {"native", candidate, 0}));
  GS_TRY(Operands operands, Operands::create(*gemm.problem_, 1));
  gemm.operands_ = std::make_unique<Operands>(std::move(operands));
  gemm.check_ = std::make_unique<Check>(*gemm.problem_, gemm.operands_->arguments());
  return gemm;
}

Outcome SimulatedGemm::run(const simulator::LaunchOptions& options, int clusters) {
  Outcome run;
  SimulatorOptions of_target = target_->options();
  of_target.launch = options;
  of_target.resident_clusters = clusters;
  of_target.schedules = 1;
  target_->set_options(of_target);
  operands_->poison_output();
  const Status launched = kernel_->run(operands_->arguments());
  run.findings = target_->last_result().findings;
  if (!launched.ok()) {
    run.text = launched.error().text();
    return run;
  }
  const Accuracy accuracy = check_->compare(operands_->arguments().d);
  const auto damage = operands_->damage();
  run.right = accuracy.passed && !damage;
  run.text = damage ? *damage : accuracy.failure;
  return run;
}

}  // namespace gemmsmith::test
