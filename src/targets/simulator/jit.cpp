#include "targets/simulator/jit.h"

#include <cmath>
#include <cstring>

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "targets/simulator/lower.h"
#include "targets/simulator/runtime/entries.h"

namespace gemmsmith::simulator {
namespace {

Error failed(const char* what, llvm::Error error) {
  return {"device sim", what, llvm::toString(std::move(error)), {}, {}};
}

// What LLVM may call by itself, beside the entries.
llvm::orc::SymbolMap symbols(llvm::orc::LLJIT& jit) {
  llvm::orc::SymbolMap map;
  const auto add = [&](llvm::StringRef name, void* address) {
    map[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                      llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  for (const Entry& entry : entries()) add(entry.name, entry.address);
  add("memcpy", reinterpret_cast<void*>(&::memcpy));
  add("memset", reinterpret_cast<void*>(&::memset));
  add("memmove", reinterpret_cast<void*>(&::memmove));
  add("fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(&::fmaf)));
  return map;
}

class OrcCode : public HostCode {
 public:
  OrcCode(std::unique_ptr<llvm::orc::LLJIT> jit, KernelFunction function) : jit_(std::move(jit)), function_(function) {}
  KernelFunction function() const override { return function_; }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  KernelFunction function_;
};

}  // namespace

Result<llvm::TargetMachine*> host_machine() {
  [[maybe_unused]] static const bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  thread_local std::unique_ptr<llvm::TargetMachine> machine;
  if (machine) return machine.get();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder) return failed("LLVM cannot describe this CPU", builder.takeError());
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);  // run a few times: compiling is most of the cost
  auto made = builder->createTargetMachine();
  if (!made) return failed("LLVM cannot generate code for this CPU", made.takeError());
  machine = std::move(*made);
  return machine.get();
}

Result<std::string> compile_for_host(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::orc::SimpleCompiler compiler(machine);
  auto object = compiler(module);
  if (!object) return failed("a simulated kernel cannot be compiled", object.takeError());
  return std::string((*object)->getBuffer());
}

Result<std::unique_ptr<HostCode>> load_for_host(const std::string& object) {
  GS_CHECK(host_machine());  // registers LLVM's target
  auto jit = llvm::orc::LLJITBuilder()
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .setLinkProcessSymbolsByDefault(false)
                 .create();
  if (!jit) return failed("the JIT cannot be set up", jit.takeError());
  llvm::orc::JITDylib& library = (*jit)->getMainJITDylib();
  if (auto error = library.define(llvm::orc::absoluteSymbols(symbols(**jit))))
    return failed("the JIT cannot define the run time", std::move(error));
  if (auto error = (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object, kEntryName)))
    return failed("a simulated kernel cannot be linked", std::move(error));
  auto found = (*jit)->lookup(kEntryName);
  if (!found) return failed("a simulated kernel cannot be linked", found.takeError());
  const auto function = found->toPtr<KernelFunction>();
  return std::unique_ptr<HostCode>(new OrcCode(std::move(*jit), function));
}

}  // namespace gemmsmith::simulator
