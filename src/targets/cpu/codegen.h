// LLVM IR -> x86-64 object.
#pragma once
#include <memory>
#include <string>

#include "gemmsmith/result.h"
#include "targets/cpu/describe.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace gemmsmith {

// Registers LLVM's own target for this machine; to be called before anything of LLVM that needs one. Any number of
// times.
void initialize_llvm();

// Owns an LLVM TargetMachine, which one thread may use at a time.
class CodeGenerator {
 public:
  // For the CPU that runs the caller, or the generic level that the limit names. `vector_bytes` is the width that code
  // prefers: by itself LLVM takes 32 on CPUs that have 64.
  static Result<std::unique_ptr<CodeGenerator>> create(FeaturesLimit, int vector_bytes);
  ~CodeGenerator();

  llvm::TargetMachine& machine() { return *machine_; }
  // "x86_64-pc-linux-gnu znver5 64 0123...": triple, CPU, preferred width and a hash of all features on and off.
  std::string id() const;
  // Names the target in a freshly translated module and in each of its functions. To be called before it is optimized.
  void prepare(llvm::Module&) const;
  // Consumes the module's code: it is not to be used afterwards. Errors: what LLVM reports.
  Result<std::string> object(llvm::Module&);
  // The same as text, on a copy.
  Result<std::string> assembly(const llvm::Module&);

 private:
  CodeGenerator(std::unique_ptr<llvm::TargetMachine>, int vector_bytes);
  std::unique_ptr<llvm::TargetMachine> machine_;
  int vector_bytes_;
};

}  // namespace gemmsmith
