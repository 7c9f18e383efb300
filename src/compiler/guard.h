// LLVM reports some errors by ending the process: an instruction that it cannot select, a limit of an object format.
#pragma once
#include <optional>
#include <string>

#include "llvm/ADT/STLFunctionalExtras.h"

namespace gemmsmith {

// Runs `body`, and gives the text of a fatal error of LLVM in this thread, which ends it early. LLVM's frames are then left
// without unwinding, as LLVM's own CrashRecoveryContext leaves them: what they used (module, context, target machine,
// pass managers) must neither be used again nor destroyed. Runs in any number of threads at once, not inside another.
std::optional<std::string> run_guarded(llvm::function_ref<void()> body);

}  // namespace gemmsmith
