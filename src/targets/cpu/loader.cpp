#include "targets/cpu/loader.h"

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ObjectFile.h"
#include "support/text.h"
#include "targets/cpu/codegen.h"
#include "targets/cpu/parallel.h"

namespace gemmsmith {
namespace {

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

// Everything that kernels may call. libm appears where a kernel uses functions that no instruction computes and that
// compiler/expand_math does not expand: f64, and functions that epilogues rarely have.
const std::map<std::string, void*>& known_symbols() {
  using F32 = float (*)(float);
  using F64 = double (*)(double);
  static const std::map<std::string, void*> symbols = {
      {"gs_parallel_for", address(gs_parallel_for)},
      {"gs_bounds_trap", address(gs_bounds_trap)},
      {"memcpy", address(::memcpy)},
      {"memmove", address(::memmove)},
      {"memset", address(::memset)},
#define GS_LIBM(name) \
  {#name, address(F64(::name))}, { #name "f", address(F32(::name##f)) }
      GS_LIBM(exp),
      GS_LIBM(exp2),
      GS_LIBM(log),
      GS_LIBM(log2),
      GS_LIBM(log10),
      GS_LIBM(sin),
      GS_LIBM(cos),
      GS_LIBM(tan),
      GS_LIBM(sinh),
      GS_LIBM(cosh),
      GS_LIBM(tanh),
#undef GS_LIBM
      {"pow", address(static_cast<double (*)(double, double)>(::pow))},
      {"powf", address(::powf)},
      {"fmod", address(static_cast<double (*)(double, double)>(::fmod))},
      {"fmodf", address(::fmodf)},
  };
  return symbols;
}

Status check_object(const std::string& bytes, const std::string& kernel) {
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, kernel));
  if (!object)
    return Error{"kernel " + kernel,
                 "its object",
                 "cannot be read: " + llvm::toString(object.takeError()),
                 "compile it again",
                 {}};
  if ((*object)->getArch() != llvm::Triple::x86_64 || !(*object)->isRelocatableObject())
    return Error{"kernel " + kernel, "its object", "is not a relocatable object of x86-64", "compile it again", {}};
  std::vector<std::string> unknown;
  bool has_entry = false;
  for (const llvm::object::SymbolRef& symbol : (*object)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      return Error{"kernel " + kernel, "its object", "has a damaged symbol table", "compile it again", {}};
    }
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined)) {
      has_entry |= *name == kernel && (*flags & llvm::object::SymbolRef::SF_Global);
      continue;
    }
    if (name->empty()) continue;
    if (*name == "_GLOBAL_OFFSET_TABLE_" || known_symbols().count(name->str())) continue;
    unknown.push_back(name->str());
  }
  if (!has_entry) return Error{"kernel " + kernel, "its object", "has no function " + kernel, "compile it again", {}};
  if (unknown.empty()) return Done{};
  return Error{"kernel " + kernel,
               join(unknown, ", "),
               "is called but is not part of the run time of CPU kernels",
               "use operations that src/compiler expands, or add it to src/targets/cpu/loader.cpp",
               {}};
}

class OrcLoader : public Loader {
 public:
  explicit OrcLoader(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {
    // Called on the thread that looks a symbol up, with the mutex held.
    jit_->getExecutionSession().setErrorReporter(
        [this](llvm::Error error) { reported_.push_back(llvm::toString(std::move(error))); });
  }

  Status define_run_time() {
    llvm::orc::SymbolMap symbols;
    for (const auto& [name, where] : known_symbols())
      symbols[jit_->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(where), llvm::JITSymbolFlags::Exported};
    if (auto error = jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
      return Error{"device cpu", "the JIT", "cannot define the run time: " + llvm::toString(std::move(error)), {}, {}};
    return Done{};
  }

  Result<std::unique_ptr<LoadedCode>> load(const std::string& object, const std::string& entry) override;

 private:
  class Code;
  Error failed(const std::string& kernel, llvm::Error error) {
    reported_.push_back(llvm::toString(std::move(error)));
    return {"kernel " + kernel,
            "its object",
            "cannot be linked: " + join(std::exchange(reported_, {}), "; "),
            "compile it again",
            {}};
  }

  std::mutex mutex_;  // one load at a time: a link takes 0.3 ms of a compile's 25
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::vector<std::string> reported_;
  uint64_t loaded_ = 0;
};

class OrcLoader::Code : public LoadedCode {
 public:
  Code(OrcLoader* loader, llvm::orc::JITDylib* library) : loader_(loader), library_(library) {}
  ~Code() override {
    const std::lock_guard lock(loader_->mutex_);
    llvm::consumeError(loader_->jit_->getExecutionSession().removeJITDylib(*library_));
  }
  void set_entry(KernelEntry entry) { entry_ = entry; }

 private:
  OrcLoader* loader_;
  llvm::orc::JITDylib* library_;
};

Result<std::unique_ptr<LoadedCode>> OrcLoader::load(const std::string& object, const std::string& entry) {
  GS_CHECK(check_object(object, entry));
  std::unique_ptr<Code> code;  // destroyed after the lock, which its destructor takes
  const std::lock_guard lock(mutex_);
  reported_.clear();
  auto library = jit_->createJITDylib("kernel " + std::to_string(loaded_++));
  if (!library) return failed(entry, library.takeError());
  code = std::make_unique<Code>(this, &*library);
  library->addToLinkOrder(jit_->getMainJITDylib());
  if (auto error = jit_->addObjectFile(*library, llvm::MemoryBuffer::getMemBufferCopy(object, entry)))
    return failed(entry, std::move(error));
  auto found = jit_->lookup(*library, entry);
  if (!found) return failed(entry, found.takeError());
  code->set_entry(found->toPtr<KernelEntry>());
  return std::unique_ptr<LoadedCode>(std::move(code));
}

}  // namespace

Result<std::unique_ptr<Loader>> Loader::create() {
  initialize_llvm();
  // Kernels are plain functions: no initializers, no thread-local storage, nothing for a platform to do. And they see
  // what is defined here, never whatever else the process happens to export.
  auto jit = llvm::orc::LLJITBuilder()
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .setLinkProcessSymbolsByDefault(false)
                 .create();
  if (!jit) return Error{"device cpu", "the JIT", "cannot be set up: " + llvm::toString(jit.takeError()), {}, {}};
  auto loader = std::make_unique<OrcLoader>(std::move(*jit));
  GS_CHECK(loader->define_run_time());
  return std::unique_ptr<Loader>(std::move(loader));
}

}  // namespace gemmsmith
