// Lowered kernels as code of the host.
#pragma once
#include <memory>
#include <string>

#include "gemmsmith/result.h"
#include "targets/simulator/runtime/launch.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace gemmsmith::simulator {

// A code generator of the calling thread, made on first use.
Result<llvm::TargetMachine*> host_machine();
// Consumes the module's code.
Result<std::string> compile_for_host(llvm::Module&, llvm::TargetMachine&);

// Keeps the code of a kernel while it lives.
class HostCode {
 public:
  virtual ~HostCode() = default;
  virtual KernelFunction function() const = 0;
};
// Links an object whose entry is kEntryName with the run time's entries.
Result<std::unique_ptr<HostCode>> load_for_host(const std::string& object);

}  // namespace gemmsmith::simulator
