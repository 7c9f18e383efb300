#include "targets/cuda/ptx.h"

#include "compiler/diagnostics.h"
#include "compiler/fatal_errors.h"
#include "compiler/lower_to_llvm.h"
#include "compiler/translate.h"
#include "ir/check_accumulators.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "targets/cuda/lower_hw.h"

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace gemmsmith {
namespace {

// Keeps the first error that LLVM reports instead of letting it print and exit.
struct FirstError : llvm::DiagnosticHandler {
  explicit FirstError(std::string* message) : message(message) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error || !message->empty()) return true;
    llvm::raw_string_ostream stream(*message);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
  std::string* message;
};

// Only .loc: with more, LLVM writes ".target sm_90a, debug", and ptxas does not optimize what is to be debugged.
void add_nvvm_passes(mlir::PassManager& passes) {
  passes.addPass(mlir::createConvertNVVMToLLVMPass());
  passes.addPass(mlir::LLVM::createDIScopeForLLVMFuncOpPass({mlir::LLVM::DIEmissionKind::DebugDirectivesOnly}));
}

// What MLIR's inline assembly cannot say. Blocks with side effects wait for other threads or are executed by a whole
// warp(group): no pass may make them depend on more conditions, or on fewer. The others compute, and read memory only if
// they say so.
void mark_assembly(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (!call || !call->isInlineAsm()) continue;
      const auto* assembly = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
      call->setDoesNotThrow();
      if (assembly->hasSideEffects()) {
        call->setConvergent();
        continue;
      }
      call->addFnAttr(llvm::Attribute::WillReturn);
      if (llvm::StringRef(assembly->getConstraintString()).contains("~{memory}"))
        call->setOnlyReadsMemory();
      else
        call->setDoesNotAccessMemory();
    }
}

}  // namespace

LlvmModule::LlvmModule() : context(std::make_unique<llvm::LLVMContext>()) {}
LlvmModule::LlvmModule(LlvmModule&&) noexcept = default;
LlvmModule::~LlvmModule() = default;

Status lower_to_nvvm(mlir::Operation* module, bool verify) {
  if (verify) {  // before hw operations become text that nothing verifies
    DiagnosticCollector diagnostics(*module->getContext());
    if (failed(mlir::verify(module))) return diagnostics.error("the staged module", "does not verify");
  }
  GS_CHECK(check_accumulators(module));
  lower_hw(module);
  return lower_to_llvm(module, verify, {add_nvvm_passes, "nvvm"});
}

Result<LlvmModule> translate_for_gpu(mlir::Operation* module, bool verify) {
  mlir::registerNVVMDialectTranslation(*module->getContext());
  LlvmModule result;
  GS_TRY(result.module, translate_to_llvm_ir(module, *result.context, verify));
  mark_assembly(*result.module);
  return result;
}

PtxGenerator::PtxGenerator(std::unique_ptr<llvm::TargetMachine> machine) : machine_(std::move(machine)) {}
PtxGenerator::~PtxGenerator() = default;

Result<std::unique_ptr<PtxGenerator>> PtxGenerator::create(const GpuArch& arch) {
  [[maybe_unused]] static const bool once = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string reason;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, reason);
  if (!target) return Error{"compiler", "LLVM", "has no code generator for nvptx64: " + reason, {}, {}};
  // Level 0 lets ptxas serialize wgmmas (C7514); the levels above it take the same time.
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, arch.name, "+ptx" + std::to_string(arch.ptx_version), llvm::TargetOptions(),
                                  std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine) return Error{"compiler", "LLVM", "makes no code for " + std::string(arch.name), {}, {}};
  return std::unique_ptr<PtxGenerator>(new PtxGenerator(std::move(machine)));
}

void PtxGenerator::optimize(llvm::Module& module) {
  module.setTargetTriple(machine_->getTargetTriple());
  module.setDataLayout(machine_->createDataLayout());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine_.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, modules);
}

Result<std::string> PtxGenerator::ptx(LlvmModule input) {
  std::string message;
  input.context->setDiagnosticHandler(std::make_unique<FirstError>(&message));
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  const auto fatal = fatal_error_of([&] {
    if (machine_->addPassesToEmitFile(*passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                      /*DisableVerify=*/true))
      message = "it has no such kind of output";
    else
      passes->run(*input.module);
  });
  if (fatal) {  // leaked on purpose: LLVM was left in the middle of changing them
    (void)passes.release(), (void)machine_.release(), (void)input.module.release(), (void)input.context.release();
    return Error{"compiler", "LLVM's code generator for PTX", "gave up: " + *fatal, {}, {}};
  }
  if (!message.empty()) return Error{"compiler", "LLVM's code generator for PTX", "reports: " + message, {}, {}};
  return std::string(text);
}

}  // namespace gemmsmith
