#include "targets/cpu/codegen.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "support/hash.h"
#include "support/text.h"

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

Result<std::string> emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  std::string message;
  module.getContext().setDiagnosticHandler(std::make_unique<FirstError>(&message));
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  const bool refused = machine.addPassesToEmitFile(passes, stream, nullptr, type);
  if (!refused) passes.run(module);
  module.getContext().setDiagnosticHandler(std::make_unique<llvm::DiagnosticHandler>());
  if (refused) message = "it has no such kind of output";
  if (!message.empty()) return Error{"compiler", "LLVM's code generator", "reports: " + message, {}, {}};
  return std::string(bytes);
}

}  // namespace

void initialize_llvm() {
  [[maybe_unused]] static const bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
}

CodeGenerator::CodeGenerator(std::unique_ptr<llvm::TargetMachine> machine, int vector_bytes)
    : machine_(std::move(machine)), vector_bytes_(vector_bytes) {}
CodeGenerator::~CodeGenerator() = default;

Result<std::unique_ptr<CodeGenerator>> CodeGenerator::create(FeaturesLimit limit, int vector_bytes) {
  initialize_llvm();
  auto failed = [](llvm::Error error) {
    return Error{
        "device cpu", "LLVM", "cannot generate code for this CPU: " + llvm::toString(std::move(error)), {}, {}};
  };
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder) return failed(builder.takeError());
  if (limit != FeaturesLimit::none) {
    *builder = llvm::orc::JITTargetMachineBuilder(builder->getTargetTriple());
    builder->setCPU(limit == FeaturesLimit::avx2 ? "x86-64-v3" : "x86-64-v4");
  }
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  // LLVM's default for JITs is the large code model, whose constants and calls go through 64-bit immediates.
  builder->setRelocationModel(llvm::Reloc::PIC_);
  builder->setCodeModel(llvm::CodeModel::Small);
  auto machine = builder->createTargetMachine();
  if (!machine) return failed(machine.takeError());
  return std::unique_ptr<CodeGenerator>(new CodeGenerator(std::move(*machine), vector_bytes));
}

std::string CodeGenerator::id() const {
  return concat(machine_->getTargetTriple().str(), " ", machine_->getTargetCPU().str(), " ", vector_bytes_, " ",
                hash_hex(machine_->getTargetFeatureString().str()));
}

void CodeGenerator::prepare(llvm::Module& module) const {
  module.setDataLayout(machine_->createDataLayout());
  module.setTargetTriple(machine_->getTargetTriple());
  const std::string vector_bits = std::to_string(vector_bytes_ * 8);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("prefer-vector-width", vector_bits);
    function.addFnAttr("target-cpu", machine_->getTargetCPU());
    function.addFnAttr("target-features", machine_->getTargetFeatureString());
    function.setDoesNotThrow();  // and so needs no unwind tables
  }
}

Result<std::string> CodeGenerator::object(llvm::Module& module) {
  return emit(module, *machine_, llvm::CodeGenFileType::ObjectFile);
}

Result<std::string> CodeGenerator::assembly(const llvm::Module& module) {
  return emit(*llvm::CloneModule(module), *machine_, llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace gemmsmith
