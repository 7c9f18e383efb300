#include "ir/kernel_ir.h"

#include <utility>

#include "ir/hw.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

namespace gemmsmith {

IrContext::IrContext() : context_(std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED)) {
  context_->loadDialect<mlir::arith::ArithDialect, mlir::scf::SCFDialect, mlir::cf::ControlFlowDialect,
                        mlir::LLVM::LLVMDialect, mlir::vector::VectorDialect, mlir::math::MathDialect,
                        mlir::ub::UBDialect, mlir::NVVM::NVVMDialect, hw::HwDialect>();
}
IrContext::~IrContext() = default;

KernelIr::KernelIr(void* module, std::string name, KernelSignature signature)
    : module_(module), name_(std::move(name)), signature_(std::move(signature)) {}

KernelIr::~KernelIr() {
  if (module_) static_cast<mlir::Operation*>(module_)->erase();
}

KernelIr::KernelIr(KernelIr&& other) noexcept
    : module_(std::exchange(other.module_, nullptr)),
      name_(std::move(other.name_)),
      signature_(std::move(other.signature_)) {}

KernelIr& KernelIr::operator=(KernelIr&& other) noexcept {
  std::swap(module_, other.module_);
  std::swap(name_, other.name_);
  std::swap(signature_, other.signature_);
  return *this;
}

std::string KernelIr::print(bool locations) const {
  std::string text;
  llvm::raw_string_ostream out(text);
  static_cast<mlir::Operation*>(module_)->print(out, mlir::OpPrintingFlags().enableDebugInfo(locations));
  return text;
}

}  // namespace gemmsmith
