#include "dsl/jit.h"

#include <bit>
#include <cstdlib>
#include <cstring>

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

namespace gemmsmith::test {

namespace {
std::vector<int64_t> trapped;

extern "C" void dsl_test_parallel_for(void (*part)(const int64_t*, int64_t), const int64_t* captured, int64_t count) {
  for (int64_t i = count; i-- > 0;) part(captured, i);  // in an order that nobody may count on
}
extern "C" void dsl_test_bounds_trap(int64_t line) { trapped.push_back(line); }
}  // namespace

struct Jit::State {
  llvm::ExitOnError ok{"test jit: "};
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::unique_ptr<llvm::TargetMachine> machine;
  void (*function)(const int64_t*) = nullptr;
  bool keep_assembly = false;
  std::string assembly;
};

Jit::Jit(const std::string& features, bool keep_assembly) : state_(new State) {
  state_->keep_assembly = keep_assembly;
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto host = state_->ok(llvm::orc::JITTargetMachineBuilder::detectHost());
  if (!features.empty()) {
    host.setCPU("x86-64");
    host.getFeatures() = llvm::SubtargetFeatures(features);
  }
  host.setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  state_->machine = state_->ok(host.createTargetMachine());
  state_->jit = state_->ok(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(host).create());
  auto& jit = *state_->jit;
  llvm::orc::SymbolMap symbols;
  const auto add = [&](const char* name, auto* address) {
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
  };
  add("gs_parallel_for", &dsl_test_parallel_for);
  add("gs_bounds_trap", &dsl_test_bounds_trap);
  state_->ok(jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(symbols)));
}
Jit::~Jit() = default;

std::string Jit::load(const KernelIr& kernel) {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::cast<mlir::ModuleOp>(static_cast<mlir::Operation*>(kernel.operation())->clone());
  mlir::MLIRContext& context = *module->getContext();
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<mlir::func::FuncDialect>();
  if (failed(mlir::verify(*module))) return "the module does not verify";

  mlir::PassManager passes(&context);
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createUBToLLVMConversionPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  if (failed(passes.run(*module))) return "the module does not lower";

  llvm::LLVMContext llvm_context;
  auto ir = mlir::translateModuleToLLVMIR(*module, llvm_context);
  if (!ir) return "the module does not translate";
  auto& machine = *state_->machine;
  ir->setDataLayout(machine.createDataLayout());
  ir->setTargetTriple(machine.getTargetTriple());
  for (auto& f : *ir) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("prefer-vector-width", "512");
    f.addFnAttr("target-cpu", machine.getTargetCPU());
    f.addFnAttr("target-features", machine.getTargetFeatureString());
  }
  if (state_->keep_assembly) {
    llvm::SmallVector<char, 0> text;
    llvm::raw_svector_ostream out(text);
    llvm::legacy::PassManager emit;
    if (!machine.addPassesToEmitFile(emit, out, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
      auto copy = llvm::CloneModule(*ir);
      emit.run(*copy);
    }
    state_->assembly.assign(text.begin(), text.end());
  }
  auto object = state_->ok(llvm::orc::SimpleCompiler(machine)(*ir));
  auto& library = state_->ok(state_->jit->createJITDylib(kernel.name()));
  library.addToLinkOrder(state_->jit->getMainJITDylib());
  state_->ok(state_->jit->addObjectFile(library, std::move(object)));
  state_->function = state_->ok(state_->jit->lookup(library, kernel.name())).toPtr<void (*)(const int64_t*)>();
  return {};
}

void Jit::run(const KernelSignature& signature, const Binding& b) {
  const size_t bytes = size_t(signature.scratch_bytes * b.cores + 4096) / 4096 * 4096;
  const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(4096, bytes), &std::free);
  std::memset(memory.get(), 0xff, bytes);  // NaN: nothing may be read that was not written
  std::vector<int64_t> words;
  for (const KernelArgument& a : signature.arguments) {
    using enum KernelArgument::Kind;
    switch (a.kind) {
      case pointer:
        words.push_back(reinterpret_cast<int64_t>(b.pointers.at(a.name)));
        break;
      case row_stride:
        words.push_back(b.row_strides.at(a.name));
        break;
      case column_stride:
        words.push_back(b.column_strides.at(a.name));
        break;
      case batch_stride:
        words.push_back(b.batch_strides.at(a.name));
        break;
      case extent:
        words.push_back(b.extents.at(a.name));
        break;
      case scalar:
        words.push_back(std::bit_cast<int64_t>(b.scalars.at(a.name)));
        break;
      case cores:
        words.push_back(b.cores);
        break;
      case scratch:
        words.push_back(reinterpret_cast<int64_t>(memory.get()));
        break;
    }
  }
  trapped.clear();
  state_->function(words.data());
}

const std::vector<int64_t>& Jit::trapped_lines() const { return trapped; }
const std::string& Jit::assembly() const { return state_->assembly; }

std::vector<std::string> host_features() {
  static const std::pair<const char*, const char*> names[] = {{"avx2", "avx2"},
                                                              {"avx512f", "avx512f"},
                                                              {"avx512bf16", "avx512_bf16"},
                                                              {"avx512vnni", "avx512_vnni"},
                                                              {"avxvnni", "avx_vnni"}};
  std::vector<std::string> out;
  const auto host = llvm::sys::getHostCPUFeatures();
  for (const auto& [llvm_name, name] : names)
    if (host.lookup(llvm_name)) out.push_back(name);
  return out;
}
int host_vector_bytes() { return llvm::sys::getHostCPUFeatures().lookup("avx512f") ? 64 : 32; }

}  // namespace gemmsmith::test
