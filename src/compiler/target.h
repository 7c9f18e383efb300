// What kernels run on. A target describes itself, lowers and assembles a staged kernel, loads and launches it.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/device.h"
#include "gemmsmith/result.h"
#include "ir/kernel_ir.h"

namespace gemmsmith {

struct CompileOptions {
  bool verify = false;       // run MLIR's verifier after staging and after every pass
  bool keep_stages = false;  // fill CompiledKernel::stages
  // Of a GPU: a kernel that spills registers or whose tensor-core instructions are serialized is an error, unless this
  // says that its resources are only reported.
  bool report_only = false;
};

// Milliseconds of wall time.
struct CompileTimes {
  double stage = 0, passes = 0, translate = 0, optimize = 0, codegen = 0, assemble = 0;
  double total() const { return stage + passes + translate + optimize + codegen + assemble; }
};

// What the assembler of a GPU says of a kernel.
struct KernelResources {
  struct Warning {
    std::string code;     // "C7510"
    std::string text;     // as the assembler says it
    std::string meaning;  // what it costs, and what causes it
    std::string where;    // the line of the template, if the warning names one of the PTX
    friend bool operator==(const Warning&, const Warning&) = default;
  };
  std::string assembler;                                                 // "ptxas 13.0.88"
  int registers = 0;                                                     // of a thread, at the entry
  int barriers = 0;                                                      // named barriers
  int64_t spill_store_bytes = 0, spill_load_bytes = 0, stack_bytes = 0;  // of a thread: local memory
  int64_t static_shared_bytes = 0, constant_bytes = 0;
  std::vector<Warning> warnings;
  friend bool operator==(const KernelResources&, const KernelResources&) = default;
};

// Machine code in the target's object format, with what is needed to call it: what a binary cache holds.
struct CompiledKernel {
  std::string name;
  std::string object;
  KernelSignature signature;
  CompileTimes ms;
  std::map<std::string, std::string> stages;   // "mlir", "llvm", "asm", "ptx": text
  std::map<std::string, Error> absent_stages;  // those that this machine cannot make, and why
  std::optional<KernelResources> resources;    // of a kernel for a GPU that has been assembled
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
