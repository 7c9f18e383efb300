// LLVM dialect -> LLVM IR, and the optimization that is worth its time.
#pragma once
#include <memory>
#include <string>

#include "gemmsmith/result.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm
namespace mlir {
class Operation;
}  // namespace mlir

namespace gemmsmith {

// `module` is an mlir::ModuleOp of the LLVM dialect alone. `verify` runs LLVM's verifier on the result. Never null.
Result<std::unique_ptr<llvm::Module>> translate_to_llvm_ir(mlir::Operation* module, llvm::LLVMContext&, bool verify);

// EarlyCSE alone. Staging has folded and unrolled already and the code generator does the rest: against O3 the kernels
// are as fast (within noise) and are compiled in a third of the time; LICM, InstCombine and SimplifyCFG cost 6 ms and
// gave nothing.
void optimize(llvm::Module&, llvm::TargetMachine&);

std::string print(const llvm::Module&);

}  // namespace gemmsmith
