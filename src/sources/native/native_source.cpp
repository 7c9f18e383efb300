#include "sources/native/native_source.h"

#include <bit>
#include <chrono>

#include "problem/spec.h"
#include "sources/native/build_id.h"
#include "sources/native/loaded_kernels.h"
#include "support/text.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

using Argument = KernelArgument::Kind;

const MatrixSpec* matrix_named(const GemmProblem& p, const std::string& name) {
  if (name == "a") return &p.a;
  if (name == "b") return &p.b;
  if (name == kOperandC) return &p.c;
  if (name == "d") return &p.d;
  return nullptr;
}

const InputSpec* input_named(const GemmProblem& p, const std::string& name) {
  for (const InputSpec& input : p.inputs)
    if (input.name == name) return &input;
  return nullptr;
}

int64_t extent_named(const GemmProblem& p, const std::string& name) {
  if (name == "k") return p.alpha == 0 ? 0 : p.k;  // alpha of 0 means that A and B are not read, whatever is in them
  return name == "m" ? p.m : name == "n" ? p.n : p.batch;
}

// Strides of an operand or of an epilogue's input, which is dense and row-major.
int64_t stride(const GemmProblem& p, const KernelArgument& argument) {
  if (const MatrixSpec* matrix = matrix_named(p, argument.name)) {
    if (argument.kind == Argument::row_stride) return matrix->row_stride;
    return argument.kind == Argument::column_stride ? matrix->column_stride : matrix->batch_stride;
  }
  const InputSpec* input = input_named(p, argument.name);
  const bool full = input && input->index == InputIndex::full;
  if (argument.kind == Argument::row_stride) return full ? p.n : 0;
  if (argument.kind == Argument::column_stride) return 1;
  return full ? p.m * p.n : 0;
}

// What a launch may touch: from an operand's lowest element to its highest, gaps between rows included.
std::vector<OperandMemory> memory_of(const GemmProblem& p, const GemmArguments& arguments) {
  std::vector<OperandMemory> memory;
  const auto add = [&](const MatrixOperand& o, const void* base, bool writable) {
    const ElementSpan span = span_of(o, p.batch);
    const int64_t bytes = bytes_of(o.spec->type);
    char* const first = static_cast<char*>(const_cast<void*>(base));
    if (base && !span.empty())
      memory.push_back({std::string(1, o.name), first + span.low * bytes, span.elements() * bytes, writable});
  };
  add(operand_a(p), arguments.a, false);
  add(operand_b(p), arguments.b, false);
  if (p.reads_c() && arguments.c != arguments.d) add(operand_c(p), arguments.c, false);
  add(operand_d(p), arguments.d, true);
  for (size_t i = 0; i < p.inputs.size() && i < arguments.inputs.size(); ++i)
    memory.push_back({p.inputs[i].name, const_cast<void*>(arguments.inputs[i]),
                      elements_of(p.inputs[i], p) * bytes_of(p.inputs[i].type), false});
  return memory;
}

// A loaded kernel with everything but the pointers of one problem filled in.
class NativeKernel : public Kernel {
 public:
  NativeKernel(std::shared_ptr<LoadedKernel> loaded, const GemmProblem& p, double build_ms)
      : loaded_(std::move(loaded)), problem_(p), build_ms_(build_ms) {
    nothing_to_do_ = p.m == 0 || p.n == 0 || p.batch == 0;
    for (const KernelArgument& argument : loaded_->signature().arguments) {
      const int slot = int(words_.size());
      words_.push_back(0);
      switch (argument.kind) {
        case Argument::pointer:
          bind_pointer(p, argument.name, slot);
          break;
        case Argument::row_stride:
        case Argument::column_stride:
        case Argument::batch_stride:
          words_.back() = stride(p, argument);
          break;
        case Argument::extent:
          words_.back() = extent_named(p, argument.name);
          break;
        case Argument::scalar:
          words_.back() = std::bit_cast<int64_t>(argument.name == "alpha" ? p.alpha : p.beta);
          break;
        case Argument::cores:
        case Argument::scratch:
          break;
      }
    }
  }

  Status run(const GemmArguments& arguments) override {
    if (nothing_to_do_) return Done{};
    const void* operands[] = {arguments.a, arguments.b, arguments.c, arguments.d};
    for (const Slot& s : slots_)
      words_[s.word] = reinterpret_cast<int64_t>(s.operand < 4 ? operands[s.operand] : arguments.inputs[s.operand - 4]);
    if (loaded_->checks_memory()) loaded_->set_memory(memory_of(problem_, arguments));
    return loaded_->launch(words_.data());
  }
  double build_ms() const override { return build_ms_; }

 private:
  struct Slot {
    size_t word, operand;  // operand: 0..3 are a, b, c, d; then the inputs
  };
  void bind_pointer(const GemmProblem& p, const std::string& name, int slot) {
    size_t operand = name == "a" ? 0 : name == "b" ? 1 : name == kOperandC ? 2 : name == "d" ? 3 : 4;
    if (operand == 4)
      while (p.inputs[operand - 4].name != name) ++operand;
    slots_.push_back({size_t(slot), operand});
  }

  std::shared_ptr<LoadedKernel> loaded_;
  GemmProblem problem_;
  std::vector<int64_t> words_;
  std::vector<Slot> slots_;
  double build_ms_;
  bool nothing_to_do_ = false;
};

std::string cache_key(const Target& target, const std::string& kernel_key, bool check_bounds) {
  return concat(kNativeBuildId, " | ", target.code_id(), " | ", kernel_key, check_bounds ? " | bounds" : "");
}

class NativeSource : public Source {
 public:
  NativeSource(Target& target, const NativeOptions& options)
      : target_(target), options_(options), loaded_(options.max_loaded) {}
  std::string name() const override { return "native"; }
  std::string version() const override { return kNativeBuildId; }

  Supports supports(const GemmProblem& p, const DeviceFacts& device) const override {
    std::string reasons;
    for (const KernelTemplate& t : templates()) {
      if (t.device_kind != device.kind) continue;
      const Supports answer = t.supports(p, device);
      if (answer) return {};
      reasons += (reasons.empty() ? "" : "; ") + t.name + ": " + answer.reason;
    }
    return Supports::no(reasons.empty() ? "no template serves the device kind \"" + device.kind + "\"" : reasons);
  }

  CandidateSet candidates(const GemmProblem& p, const DeviceFacts& device) const override {
    CandidateSet set;
    for (const KernelTemplate& t : templates()) {
      if (t.device_kind != device.kind) continue;
      if (const Supports answer = t.supports(p, device); !answer) {
        set.dropped.push_back({t.name, answer.reason});
        continue;
      }
      for (const ScoredConfig& c : t.configs(p, device)) {
        const std::string config = t.name + " " + c.config;
        if (c.dropped.empty())
          set.kept.push_back({name(), config, c.predicted_us});
        else
          set.dropped.push_back({config, c.dropped});
      }
    }
    std::stable_sort(set.kept.begin(), set.kept.end(),
                     [](const Candidate& x, const Candidate& y) { return x.predicted_us < y.predicted_us; });
    return set;
  }

  Result<std::unique_ptr<Kernel>> build(const GemmProblem& p, const DeviceFacts& device,
                                        const Candidate& candidate) override {
    GS_CHECK(check_candidate(candidate.config, p, device));
    const auto start = std::chrono::steady_clock::now();
    const std::string key = cache_key(target_, kernel_key(candidate.config, p, device), options_.check_bounds);
    std::shared_ptr<LoadedKernel> loaded = loaded_.find(key);  // one compiled kernel serves every problem of its class
    if (!loaded) loaded = load_saved(key);
    if (!loaded) {
      GS_TRY(const CompiledKernel compiled, target_.compile(
                                                [&](IrContext& context) {
                                                  return stage_kernel(context, candidate.config, p, device,
                                                                      {.check_bounds = options_.check_bounds});
                                                },
                                                {.verify = options_.verify}));
      GS_TRY(loaded, target_.load(compiled));
      if (options_.cache) options_.cache->save(key, compiled);
    }
    loaded = loaded_.keep(key, std::move(loaded));
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return std::unique_ptr<Kernel>(new NativeKernel(std::move(loaded), p, ms));
  }

 private:
  // The kernel of the binary cache; null if there is none that can be loaded.
  std::shared_ptr<LoadedKernel> load_saved(const std::string& key) {
    if (!options_.cache) return nullptr;
    const std::optional<CompiledKernel> saved = options_.cache->find(key);
    if (!saved) return nullptr;
    auto loaded = target_.load(*saved);
    if (loaded.ok()) return *std::move(loaded);
    options_.cache->reject(key, loaded.error());
    return nullptr;
  }

  Target& target_;
  NativeOptions options_;
  LoadedKernels loaded_;
};

}  // namespace

std::unique_ptr<Source> make_native_source(Target& target, const NativeOptions& options) {
  return std::make_unique<NativeSource>(target, options);
}

std::string native_kernel_key(const Target& target, const GemmProblem& p, const std::string& config) {
  return cache_key(target, kernel_key(config, p, target.facts()), /*check_bounds=*/false);
}

Result<CompiledKernel> compile_native(Target& target, const GemmProblem& p, const std::string& config,
                                      const NativeCompile& options) {
  GS_CHECK(check_candidate(config, p, target.facts()));
  KernelCache* const cache = options.report_only ? nullptr : options.cache;
  const std::string key = native_kernel_key(target, p, config);
  if (cache && options.object_only)
    if (std::optional<CompiledKernel> saved = cache->find(key)) return *std::move(saved);
  CompileOptions compile;
  compile.verify = true;
  compile.keep_stages = !options.object_only;
  compile.report_only = options.report_only;
  GS_TRY(CompiledKernel compiled,
         target.compile([&](IrContext& context) { return stage_kernel(context, config, p, target.facts()); }, compile));
  if (cache) cache->save(key, compiled);
  return compiled;
}

}  // namespace gemmsmith
