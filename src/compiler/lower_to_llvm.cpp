#include "compiler/lower_to_llvm.h"

#include "compiler/diagnostics.h"
#include "compiler/expand_math.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace gemmsmith {
namespace {

// The first operation outside the LLVM dialect and the target's: passes leave alone what they do not know and report
// success.
mlir::Operation* first_not_lowered(mlir::Operation* module, llvm::StringRef target_dialect) {
  mlir::Operation* found = nullptr;
  module->walk([&](mlir::Operation* op) {
    if (op == module || llvm::isa<mlir::LLVM::LLVMDialect>(op->getDialect()) ||
        op->getDialect()->getNamespace() == target_dialect)
      return mlir::WalkResult::advance();
    found = op;
    return mlir::WalkResult::interrupt();
  });
  return found;
}

}  // namespace

Status verify_module(mlir::Operation* module) {
  DiagnosticCollector diagnostics(*module->getContext());
  if (failed(mlir::verify(module))) return diagnostics.error("the staged module", "does not verify");
  return Done{};
}

Status lower_to_llvm(mlir::Operation* module, bool verify, const TargetLowering& target) {
  mlir::MLIRContext& context = *module->getContext();
  DiagnosticCollector diagnostics(context);
  if (verify && failed(mlir::verify(module))) return diagnostics.error("the staged module", "does not verify");

  const LeftToLower left = expand_math(module);

  mlir::PassManager passes(&context);
  passes.enableVerifier(verify);
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  if (left.divisions) passes.addPass(mlir::arith::createArithExpandOpsPass());
  if (left.math) passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createUBToLLVMConversionPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  if (target.add_passes) target.add_passes(passes);
  if (failed(passes.run(module))) return diagnostics.error("the staged module", "cannot be lowered to LLVM");

  if (mlir::Operation* op = first_not_lowered(module, target.dialect)) {
    const std::string line = line_of(op->getLoc());
    return Error{line.empty() ? "compiler" : line,
                 "the operation " + op->getName().getStringRef().str(),
                 "is not lowered to LLVM by any pass of lower_to_llvm",
                 "lower it in src/compiler, or do not record it for this target",
                 {}};
  }
  return Done{};
}

}  // namespace gemmsmith
