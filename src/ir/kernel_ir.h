// A staged kernel: its module, who owns it, and its signature. No MLIR in this header, so that templates compile in a second.
#pragma once
#include <memory>
#include <string>

#include "ir/signature.h"

namespace mlir {
class MLIRContext;
class ModuleOp;
}  // namespace mlir

namespace gemmsmith {

// An MLIR context with the dialects of the tile language loaded. Used by one thread at a time; cheap enough (1 ms) for one a thread.
class IrContext {
 public:
  IrContext();
  ~IrContext();
  IrContext(const IrContext&) = delete;
  IrContext& operator=(const IrContext&) = delete;
  mlir::MLIRContext& mlir() const { return *context_; }

 private:
  std::unique_ptr<mlir::MLIRContext> context_;
};

// The context has to outlive it.
class KernelIr {
 public:
  KernelIr(void* module, std::string name, KernelSignature signature);  // takes the mlir::ModuleOp's operation
  ~KernelIr();
  KernelIr(KernelIr&&) noexcept;
  KernelIr& operator=(KernelIr&&) noexcept;

  void* operation() const { return module_; }  // an mlir::Operation*, the module
  // Of the entry function: on a CPU void(const int64_t* arguments), on a GPU one of its maps and words.
  const std::string& name() const { return name_; }
  const KernelSignature& signature() const { return signature_; }
  std::string print(bool locations = false) const;

 private:
  void* module_ = nullptr;
  std::string name_;
  KernelSignature signature_;
};

}  // namespace gemmsmith
