#include "compiler/translate.h"

#include "compiler/diagnostics.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

namespace gemmsmith {

Result<std::unique_ptr<llvm::Module>> translate_to_llvm_ir(mlir::Operation* module, llvm::LLVMContext& context,
                                                           bool verify) {
  mlir::MLIRContext& mlir_context = *module->getContext();
  mlir::registerBuiltinDialectTranslation(mlir_context);
  mlir::registerLLVMDialectTranslation(mlir_context);

  DiagnosticCollector diagnostics(mlir_context);
  std::unique_ptr<llvm::Module> ir =
      mlir::translateModuleToLLVMIR(module, context, "kernel", /*disableVerification=*/true);
  if (!ir) return diagnostics.error("the lowered module", "has no form in LLVM IR");
  if (verify) {
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (llvm::verifyModule(*ir, &stream)) {
      while (!message.empty() && message.back() == '\n') message.pop_back();
      return Error{"compiler", "the translated module", "does not verify as LLVM IR: " + message, {}, {}};
    }
  }
  return ir;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  // Destroyed in reverse order: the managers refer to each other through their proxies.
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, modules);
}

std::string print(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace gemmsmith
