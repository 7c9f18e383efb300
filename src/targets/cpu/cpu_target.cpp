#include "targets/cpu/cpu_target.h"

#include <chrono>
#include <mutex>

#include "compiler/fatal_errors.h"
#include "compiler/lower_to_llvm.h"
#include "compiler/translate.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "targets/cpu/codegen.h"
#include "targets/cpu/describe.h"
#include "targets/cpu/loader.h"
#include "targets/cpu/parallel.h"
#include "targets/cpu/peaks.h"
#include "targets/cpu/scratch.h"

namespace gemmsmith {
namespace {

constexpr int kMaxThreads = 4096;
constexpr int64_t kPageBytes = 4096;

// What loaded kernels need to run; they keep it alive.
struct Runtime {
  Runtime(std::unique_ptr<Loader> loader, int threads, bool spin) : loader(std::move(loader)), pool(threads, spin) {}
  std::unique_ptr<Loader> loader;
  ThreadPool pool;
  ScratchPool scratch;
};

class CpuKernel : public LoadedKernel {
 public:
  CpuKernel(std::shared_ptr<Runtime> runtime, std::unique_ptr<LoadedCode> code, const CompiledKernel& kernel)
      : runtime_(std::move(runtime)), code_(std::move(code)), name_(kernel.name), signature_(kernel.signature) {
    const int64_t of_one_core = (signature_.scratch_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    scratch_bytes_ = of_one_core * runtime_->pool.threads();
  }

  const KernelSignature& signature() const override { return signature_; }

  Status launch(int64_t* arguments) override {
    GS_TRY(const ScratchPool::Lease scratch, runtime_->scratch.take(scratch_bytes_));
    for (size_t i = 0; i < signature_.arguments.size(); ++i) {
      if (signature_.arguments[i].kind == KernelArgument::Kind::cores) arguments[i] = runtime_->pool.threads();
      if (signature_.arguments[i].kind == KernelArgument::Kind::scratch)
        arguments[i] = reinterpret_cast<int64_t>(scratch.data());
    }
    Launch launch;
    launch.pool = &runtime_->pool;
    {
      const LaunchScope scope(&launch);
      code_->entry()(arguments);
    }
    if (const int64_t line = launch.violated_line.load(std::memory_order_relaxed))
      return Error{"kernel " + name_,
                   "the access at line " + std::to_string(line) + " of its template",
                   "lies outside of its tensor",
                   {},
                   {}};
    return Done{};
  }

 private:
  std::shared_ptr<Runtime> runtime_;  // before the code, which goes first
  std::unique_ptr<LoadedCode> code_;
  std::string name_;
  KernelSignature signature_;
  int64_t scratch_bytes_ = 0;
};

class Stopwatch {
 public:
  double lap_ms() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class CpuTarget : public Target {
 public:
  CpuTarget(DeviceFacts facts, FeaturesLimit limit, std::unique_ptr<CodeGenerator> generator,
            std::shared_ptr<Runtime> runtime)
      : facts_(std::move(facts)), code_id_(generator->id()), limit_(limit), runtime_(std::move(runtime)) {
    generators_.push_back(std::move(generator));
  }

  const DeviceFacts& facts() const override { return facts_; }
  std::string code_id() const override { return code_id_; }

  Result<CompiledKernel> compile(const std::function<Result<KernelIr>(IrContext&)>& stage,
                                 const CompileOptions& options) override {
    GS_TRY(std::unique_ptr<CodeGenerator> generator, take_generator());
    auto kernel = compile_with(generator, stage, options);
    const std::lock_guard lock(mutex_);
    if (generator) generators_.push_back(std::move(generator));
    return kernel;
  }

  Result<std::unique_ptr<LoadedKernel>> load(const CompiledKernel& kernel) override {
    GS_TRY(std::unique_ptr<LoadedCode> code, runtime_->loader->load(kernel.object, kernel.name));
    return std::unique_ptr<LoadedKernel>(new CpuKernel(runtime_, std::move(code), kernel));
  }

 private:
  // Code generators are kept for the next compile: as many as threads ever compiled at the same time.
  Result<std::unique_ptr<CodeGenerator>> take_generator() {
    {
      const std::lock_guard lock(mutex_);
      if (!generators_.empty()) {
        std::unique_ptr<CodeGenerator> generator = std::move(generators_.back());
        generators_.pop_back();
        return generator;
      }
    }
    return CodeGenerator::create(limit_, facts_.vector_bytes);
  }

  // Takes the generator away if it can never be used again.
  static Result<CompiledKernel> compile_with(std::unique_ptr<CodeGenerator>&,
                                             const std::function<Result<KernelIr>(IrContext&)>& stage,
                                             const CompileOptions&);

  DeviceFacts facts_;
  std::string code_id_;
  FeaturesLimit limit_;
  std::shared_ptr<Runtime> runtime_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CodeGenerator>> generators_;
};

// From LLVM IR to an object.
Status generate(llvm::Module& code, CodeGenerator& generator, const CompileOptions& options, CompiledKernel& kernel) {
  Stopwatch stopwatch;
  generator.prepare(code);
  optimize(code, generator.machine());
  kernel.ms.optimize = stopwatch.lap_ms();
  if (options.keep_stages) {
    kernel.stages["llvm"] = print(code);
    GS_TRY(kernel.stages["asm"], generator.assembly(code));
    stopwatch.lap_ms();
  }
  GS_TRY(kernel.object, generator.object(code));
  kernel.ms.codegen = stopwatch.lap_ms();
  return Done{};
}

Result<CompiledKernel> CpuTarget::compile_with(std::unique_ptr<CodeGenerator>& generator,
                                               const std::function<Result<KernelIr>(IrContext&)>& stage,
                                               const CompileOptions& options) {
  CompiledKernel kernel;
  Stopwatch stopwatch;
  IrContext context;
  GS_TRY(KernelIr ir, stage(context));
  kernel.name = ir.name();
  kernel.signature = ir.signature();
  auto in_kernel = [&](Error error) {
    return std::move(error).note("while compiling " + kernel.name + " for the CPU");
  };
  kernel.ms.stage = stopwatch.lap_ms();
  if (options.keep_stages) kernel.stages["mlir"] = ir.print();

  auto* module = static_cast<mlir::Operation*>(ir.operation());
  stopwatch.lap_ms();  // printing is not compiling
  if (Status lowered = lower_to_llvm(module, options.verify); !lowered.ok())
    return in_kernel(std::move(lowered).error());
  kernel.ms.passes = stopwatch.lap_ms();

  auto llvm_context = std::make_unique<llvm::LLVMContext>();
  auto translated = translate_to_llvm_ir(module, *llvm_context, options.verify);
  if (!translated.ok()) return in_kernel(std::move(translated).error());
  kernel.ms.translate = stopwatch.lap_ms();

  Status generated = Done{};
  const std::optional<std::string> fatal =
      fatal_error_of([&] { generated = generate(**translated, *generator, options, kernel); });
  if (fatal) {
    // LLVM was in the middle of something: none of these can be destroyed.
    (void)translated->release();
    (void)llvm_context.release();
    (void)generator.release();
    return in_kernel(Error{"compiler", "LLVM's code generator", "gave up: " + *fatal, "", {}});
  }
  if (!generated.ok()) return in_kernel(std::move(generated).error());
  return kernel;
}

}  // namespace

Result<std::unique_ptr<Target>> make_cpu_target(const CpuTargetOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads)
    return Error{"threads",
                 std::to_string(options.threads),
                 "is not between 0 and " + std::to_string(kMaxThreads),
                 "0 for all cores",
                 {}};
  GS_TRY(const FeaturesLimit limit, features_limit_named(options.features_limit));
  GS_TRY(DeviceFacts facts, describe_cpu(host_probe(), limit));
  if (options.threads > 0) facts.threads = options.threads;
  GS_TRY(std::unique_ptr<CodeGenerator> generator, CodeGenerator::create(limit, facts.vector_bytes));
  GS_TRY(std::unique_ptr<Loader> loader, Loader::create());
  if (options.measure_peaks) {
    DeviceFacts cores = facts;  // threads beyond the cores add nothing to a peak
    cores.threads = std::min(facts.threads, facts.cores);
    const Peaks peaks = measure_peaks(cores);
    facts.peak_f32_gflops = peaks.f32_gflops;
    facts.peak_bf16_gflops = peaks.bf16_gflops;
    facts.peak_i8_gops = peaks.i8_gops;
    facts.read_gbytes_per_s = peaks.read_gbytes_per_s;
  }
  auto runtime = std::make_shared<Runtime>(std::move(loader), facts.threads, facts.threads <= facts.cores);
  return std::unique_ptr<Target>(new CpuTarget(std::move(facts), limit, std::move(generator), std::move(runtime)));
}

}  // namespace gemmsmith
