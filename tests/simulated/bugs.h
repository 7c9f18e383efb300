// Kernels in the simulator, wrong ones among them: what is compiled, under which schedules it runs, and what is found.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gemmsmith/problem.h"
#include "ir/kernel_ir.h"
#include "problem/compare.h"
#include "problem/operands.h"
#include "sources/source.h"
#include "targets/simulator/simulator_target.h"

namespace gemmsmith::test {

// The twelve orders of execution that every bug is run under: asynchronous operations late, eager, and ten random ones.
std::vector<simulator::LaunchOptions> twelve_schedules(bool detect_races);

// What a run gave.
struct Outcome {
  std::vector<simulator::Finding> findings;
  bool right = false;  // every element of D, and nothing beside it was written
  std::string text;    // all findings, or what is wrong with D
  bool clean() const { return findings.empty() && right; }
};

// The line of a source file that a statement is on, as the texts of findings have it: "src/templates/gemv.cpp:41". Looked
// up, so that tests survive edits; the statement has to be on one line only, else the text says so.
std::string line_of(const std::string& file, const std::string& statement);

// Replaces every "{label}" in `text` by "label at file:line", by the statement of that label.
using Statements = std::map<std::string, std::string>;
std::string with_sites(std::string text, const std::string& file, const Statements&);

// Empty if all of `parts` appear in `text`, in that order; else the first one that does not, and the text.
std::string missing_from(const std::string& text, const std::vector<std::string>& parts);

// A problem with its operands in memory, and a kernel for it in the simulator.
class SimulatedGemm {
 public:
  using Stage = std::function<Result<KernelIr>(IrContext&)>;

  // `candidate` is a printed configuration that is legal for the problem. `stage`, if given, records another kernel with
  // the same arguments; `change` then alters the module.
  static Result<SimulatedGemm> create(const std::string& problem, const std::string& candidate, const Stage& stage = {},
                                      const std::function<void(KernelIr&)>& change = {});

  // `clusters` that stay, of persistent kernels. An error of the launch itself is the text of a run that is not right.
  Outcome run(const simulator::LaunchOptions&, int clusters = 2);

 private:
  SimulatedGemm() = default;
  std::unique_ptr<GemmProblem> problem_;
  std::unique_ptr<SimulatorTarget> target_;
  std::unique_ptr<Target> changed_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Operands> operands_;
  std::unique_ptr<Check> check_;
};

}  // namespace gemmsmith::test
