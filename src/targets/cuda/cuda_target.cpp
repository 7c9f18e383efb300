#include "targets/cuda/cuda_target.h"

#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "compiler/translate.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "support/text.h"
#include "targets/cuda/arch.h"
#include "targets/cuda/cuda_kernel.h"
#include "targets/cuda/ptx.h"
#include "targets/cuda/resources.h"

namespace gemmsmith {
namespace {

class Stopwatch {
 public:
  double lap_ms() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class CudaTarget : public Target {
 public:
  CudaTarget(const GpuArch& arch, std::unique_ptr<Assembler> assembler, const CudaTargetOptions& options)
      : arch_(arch),
        assembler_(std::move(assembler)),
        paths_(options.paths),
        driver_(options.driver),
        facts_(driver_ ? driver_->facts() : arch.nominal) {
    // What only a data sheet says, until it is measured.
    if (facts_.peak_bf16_gflops == 0) facts_.peak_bf16_gflops = arch.nominal.peak_bf16_gflops;
    if (facts_.peak_i8_gops == 0) facts_.peak_i8_gops = arch.nominal.peak_i8_gops;
    if (facts_.read_gbytes_per_s == 0) facts_.read_gbytes_per_s = arch.nominal.read_gbytes_per_s;
  }

  const DeviceFacts& facts() const override { return facts_; }
  std::string code_id() const override {
    return concat("cuda ", arch_.name, " ptx", arch_.ptx_version, " ", assembler_->name());
  }

  Result<CompiledKernel> compile(const std::function<Result<KernelIr>(IrContext&)>& stage,
                                 const CompileOptions& options) override {
    GS_TRY(std::unique_ptr<PtxGenerator> generator, take_generator());
    CompiledKernel kernel;
    Status done = compile_with(*generator, stage, options, kernel);
    if (!generator->broken()) {
      const std::lock_guard lock(mutex_);
      generators_.push_back(std::move(generator));
    }
    if (done.ok()) return kernel;
    Error error = std::move(done).error();
    if (kernel.name.empty()) return error;  // it was not staged: the error says so
    return std::move(error).note("while compiling " + kernel.name + " for " + arch_.name);
  }

  Result<std::unique_ptr<LoadedKernel>> load(const CompiledKernel& kernel) override {
    if (driver_) return load_cuda_kernel(driver_, kernel, /*stage_memory=*/true);
    return Error{concat("device ", arch_.name),
                 "kernel " + kernel.name,
                 "cannot be loaded: this device only compiles",
                 "device cuda, on a machine with a GPU; or the simulator, sim:" + std::string(arch_.name),
                 {}};
  }

 private:
  // Code generators are kept for the next compile: as many as threads ever compiled at the same time.
  Result<std::unique_ptr<PtxGenerator>> take_generator() {
    {
      const std::lock_guard lock(mutex_);
      if (!generators_.empty()) {
        std::unique_ptr<PtxGenerator> generator = std::move(generators_.back());
        generators_.pop_back();
        return generator;
      }
    }
    return PtxGenerator::create(arch_);
  }

  Status compile_with(PtxGenerator&, const std::function<Result<KernelIr>(IrContext&)>& stage, const CompileOptions&,
                      CompiledKernel&) const;
  Status assemble(const std::string& ptx, const CompileOptions&, CompiledKernel&) const;

  const GpuArch& arch_;
  std::unique_ptr<Assembler> assembler_;
  ToolkitPaths paths_;
  std::shared_ptr<CudaDriver> driver_;
  DeviceFacts facts_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<PtxGenerator>> generators_;
};

Status CudaTarget::compile_with(PtxGenerator& generator, const std::function<Result<KernelIr>(IrContext&)>& stage,
                                const CompileOptions& options, CompiledKernel& kernel) const {
  Stopwatch stopwatch;
  IrContext context;
  GS_TRY(const KernelIr ir, stage(context));
  kernel.name = ir.name();
  kernel.signature = ir.signature();
  kernel.ms.stage = stopwatch.lap_ms();
  if (options.keep_stages) kernel.stages["mlir"] = ir.print();

  auto* module = static_cast<mlir::Operation*>(ir.operation());
  stopwatch.lap_ms();  // printing is not compiling
  GS_CHECK(lower_to_nvvm(module, options.verify));
  kernel.ms.passes = stopwatch.lap_ms();
  GS_TRY(LlvmModule code, translate_for_gpu(module, options.verify));
  kernel.ms.translate = stopwatch.lap_ms();
  generator.optimize(*code.module);
  kernel.ms.optimize = stopwatch.lap_ms();
  if (options.keep_stages) kernel.stages["llvm"] = print(*code.module);
  stopwatch.lap_ms();
  GS_TRY(std::string ptx, generator.ptx(std::move(code)));
  kernel.ms.codegen = stopwatch.lap_ms();
  if (options.keep_stages) kernel.stages["ptx"] = ptx;
  stopwatch.lap_ms();
  GS_CHECK(assemble(ptx, options, kernel));
  kernel.ms.assemble = stopwatch.lap_ms();

  if (!options.keep_stages || !kernel.resources) return Done{};
  if (auto sass = disassemble(kernel.object, paths_); sass.ok())
    kernel.stages["sass"] = std::move(*sass);
  else
    kernel.absent_stages["sass"] = sass.error();
  return Done{};
}

Status CudaTarget::assemble(const std::string& ptx, const CompileOptions& options, CompiledKernel& kernel) const {
  GS_TRY(Assembled assembled, assembler_->assemble(ptx, kernel.name, kernel.signature, arch_.name));
  if (assembled.cubin.empty()) {
    kernel.object = ptx;
    if (!options.keep_stages) return Done{};
    Error reason{"assembler", "the PTX", "is left to the driver, which assembles it when it loads the kernel", {}, {}};
    for (const Error& why : assembler_->passed_over()) {
      reason.notes.push_back(concat(why.where, ": ", why.given, " ", why.limit));
      reason.notes.insert(reason.notes.end(), why.notes.begin(), why.notes.end());
    }
    for (const char* stage : {"resources", "cubin", "sass"}) kernel.absent_stages[stage] = reason;
    return Done{};
  }
  kernel.object = std::move(assembled.cubin);
  kernel.resources = std::move(assembled.resources);
  if (options.keep_stages) {
    kernel.stages["resources"] = print_resources(*kernel.resources, kernel.signature);
    kernel.stages["cubin"] = kernel.object;
  }
  if (options.report_only) return Done{};
  return check_resources(*kernel.resources, kernel.signature);
}

}  // namespace

Result<std::unique_ptr<Target>> make_cuda_target(const CudaTargetOptions& options) {
  GS_TRY(const GpuArch* arch, gpu_arch(options.arch));
  GS_TRY(std::unique_ptr<Assembler> assembler, find_assembler(options.assembler, options.paths));
  return std::unique_ptr<Target>(new CudaTarget(*arch, std::move(assembler), options));
}

bool is_cubin(const std::string& object) {
  return object.starts_with(
      "\x7f"
      "ELF");
}

}  // namespace gemmsmith
