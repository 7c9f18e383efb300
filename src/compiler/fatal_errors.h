// Fatal errors of LLVM ("cannot select ...", "unsupported ..."), which end the process unless somebody steps in.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace gemmsmith {

// Runs the body on this thread. If LLVM reports a fatal error in it: what it said, and the body is left by longjmp, as
// LLVM's own CrashRecoveryContext does it. So nothing of the body is destroyed: what its frames own leaks, and what it was
// working on (module, context, target machine) may neither be used nor destroyed any more. Fatal errors on other threads
// end the process as before, after LLVM's own message.
//
// This is no isolation: a crash inside LLVM, or memory that runs out, is not a fatal error in this sense.
//
// LLVM has one handler a process: it is set with the first call. A program that sets its own afterwards has its way.
std::optional<std::string> fatal_error_of(const std::function<void()>& body);

}  // namespace gemmsmith
