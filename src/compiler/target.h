// What kernels run on. A target describes itself, lowers and assembles a staged kernel, loads and launches it.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gemmsmith/device.h"
#include "gemmsmith/result.h"
#include "ir/kernel_ir.h"

namespace gemmsmith {

struct CompileOptions {
  bool verify = false;       // run MLIR's verifier after staging and after every pass
  bool keep_stages = false;  // fill CompiledKernel::stages
};

// Milliseconds of wall time.
struct CompileTimes {
  double stage = 0, passes = 0, translate = 0, optimize = 0, codegen = 0;
  double total() const { return stage + passes + translate + optimize + codegen; }
};

// Machine code in the target's object format, with what is needed to call it: what a binary cache holds.
struct CompiledKernel {
  std::string name;
  std::string object;
  KernelSignature signature;
  CompileTimes ms;
  std::map<std::string, std::string> stages;  // "mlir", "llvm", "asm": text
};

// Memory that an operand of a launch may touch.
struct OperandMemory {
  std::string name;
  void* base = nullptr;
  int64_t bytes = 0;
  bool writable = false;
};

class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  virtual const KernelSignature& signature() const = 0;
  // One 64-bit word for each argument of the signature; those of kind cores and scratch are filled in here.
  virtual Status launch(int64_t* arguments) = 0;
  // For targets that check every access: what the next launches may touch.
  virtual bool checks_memory() const { return false; }
  virtual void set_memory(std::vector<OperandMemory>) {}
};

class Target {
 public:
  virtual ~Target() = default;
  virtual const DeviceFacts& facts() const = 0;
  // What machine code of this target needs beyond what the facts say: CPU and features by the compiler's own names. Equal
  // texts, and equal IR, give equal code that runs on both; a part of the keys of stored kernels.
  virtual std::string code_id() const = 0;
  // Stages with `stage` in a context of the calling thread and compiles. May be called from several threads at once.
  virtual Result<CompiledKernel> compile(const std::function<Result<KernelIr>(IrContext&)>& stage,
                                         const CompileOptions& = {}) = 0;
  virtual Result<std::unique_ptr<LoadedKernel>> load(const CompiledKernel&) = 0;
};

}  // namespace gemmsmith
