// The module that goes to PTX, as calls into the simulator's run time: every nvvm and hw operation becomes a call of
// runtime/entries.def, every access of memory is announced, the rest stays and is compiled for the host.
#pragma once
#include <vector>

#include "gemmsmith/result.h"
#include "targets/simulator/runtime/launch.h"

namespace mlir {
class Operation;
}  // namespace mlir

namespace gemmsmith::simulator {

inline constexpr const char* kEntryName = "gs_simulated_kernel";

// What a launch needs to know of a lowered kernel.
struct LoweredTables {
  std::vector<Site> sites;
  std::vector<WgmmaBlock> wgmma_blocks;
  std::vector<NamedRegion> regions;
};

// Lowers an mlir::ModuleOp in place. The kernel becomes kEntryName, a KernelFunction. Errors: an operation, or a form of
// one, that the simulator does not know, at the author's line. Nothing is ignored.
Result<LoweredTables> lower_to_simulator(mlir::Operation* module);

}  // namespace gemmsmith::simulator
