// MLIR of the tile language (arith, scf, cf, vector, math, ub, llvm) -> LLVM dialect alone.
#pragma once
#include "gemmsmith/result.h"

namespace mlir {
class Operation;
class PassManager;
}  // namespace mlir

namespace gemmsmith {

// Lowers an mlir::ModuleOp in place. `verify` runs MLIR's verifier first and after every pass, at 3 ms a kernel of a
// few hundred operations; without it the module is taken to be well-formed. Errors: does not verify, an operation that
// nothing lowers; at the line of the template that made the operation.
//
// A target may add passes at the end, and name a dialect of its own that has a form in LLVM IR.
struct TargetLowering {
  void (*add_passes)(mlir::PassManager&) = nullptr;
  const char* dialect = "llvm";
};
Status lower_to_llvm(mlir::Operation* module, bool verify, const TargetLowering& = {});

// Whether an mlir::ModuleOp is well-formed, the verifiers of its operations included; the error is at the template's line.
Status verify_module(mlir::Operation* module);

}  // namespace gemmsmith
