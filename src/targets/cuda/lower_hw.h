// hw dialect -> PTX: one llvm.inline_asm for each operation, so that ptxas sees the wgmmas of a k-block back to back.
#pragma once
#include <string_view>
#include <vector>

namespace mlir {
class Operation;
}  // namespace mlir

namespace gemmsmith {

// Lowers every hw operation of an mlir::ModuleOp in place. An operation without an entry in the table stays: what
// translates the module reports it.
void lower_hw(mlir::Operation* module);

// The operations in the table, "hw.wgmma_block": a test holds them against those of the dialect.
std::vector<std::string_view> lowered_hw_ops();

}  // namespace gemmsmith
