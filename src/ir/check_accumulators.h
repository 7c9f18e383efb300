// Whether what a tensor core still writes is left alone: for the compile of every target.
#pragma once
#include "gemmsmith/result.h"

namespace mlir {
class Operation;
}  // namespace mlir

namespace gemmsmith {

// The results of an hw.wgmma_block are registers in flight until an hw.wgmma_wait with no group pending gives their values.
// From the block on, only further blocks may take them (as accumulators), waits, and the loops and branches that carry
// them. An error names the first other reader, at its line, and the block. `module` is the mlir::ModuleOp.
//
// Assemblers accept such code, and keep to it by serializing the wgmmas (ptxas: warning C7510) or not at all.
Status check_accumulators(mlir::Operation* module);

}  // namespace gemmsmith
