// LLVM IR -> PTX text.
#pragma once
#include <memory>
#include <string>

#include "gemmsmith/result.h"
#include "targets/cuda/arch.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm
namespace mlir {
class Operation;
}  // namespace mlir

namespace gemmsmith {

// A module with the context that owns what it is made of.
struct LlvmModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  LlvmModule();
  LlvmModule(LlvmModule&&) noexcept;
  ~LlvmModule();
};

// Staged module -> LLVM dialect, in place: hw operations as assembly, nvvm, arith and the rest, line numbers as debug
// locations.
Status lower_to_nvvm(mlir::Operation* module, bool verify);
// And on to LLVM IR.
Result<LlvmModule> translate_for_gpu(mlir::Operation* module, bool verify);

// Owns an LLVM TargetMachine, which one thread may use at a time.
class PtxGenerator {
 public:
  static Result<std::unique_ptr<PtxGenerator>> create(const GpuArch&);
  ~PtxGenerator();

  // Names the target in the module, and runs the passes that are worth their time: simplifycfg, early-cse, instcombine.
  void optimize(llvm::Module&);
  // Consumes the module. Errors: what LLVM reports, fatal errors included; after one of those the generator is broken and
  // says so in broken().
  Result<std::string> ptx(LlvmModule);
  bool broken() const { return machine_ == nullptr; }

 private:
  explicit PtxGenerator(std::unique_ptr<llvm::TargetMachine>);
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace gemmsmith
