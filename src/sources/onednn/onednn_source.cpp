#include "sources/onednn/onednn_source.h"

#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "sources/epilogue_pass.h"
#include "sources/onednn/matmul.h"
#include "sources/refusal.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

#ifdef GEMMSMITH_HAVE_ONEDNN
using onednn::Api;
using onednn::Matmul;
using onednn::MatmulPlan;

constexpr const char* kFused = "matmul";
constexpr const char* kWithPass = "matmul + epilogue pass";

bool nothing_to_do(const GemmProblem& p) { return p.batch == 0 || p.m == 0 || p.n == 0; }

class OneDnnKernel final : public Kernel {
 public:
  OneDnnKernel(const GemmProblem& problem, int threads, std::unique_ptr<Matmul> matmul, std::string implementation,
               bool sums_into_d, EpiloguePass pass, double build_ms)
      : problem_(problem),
        threads_(threads),
        matmul_(std::move(matmul)),
        implementation_(std::move(implementation)),
        sums_into_d_(sums_into_d),
        pass_(std::move(pass)),
        build_ms_(build_ms) {}

  Status run(const GemmArguments& arguments) override {
    if (nothing_to_do(problem_)) return Done{};
    if (sums_into_d_) set_d_from_c(problem_, arguments, 1, threads_);
    GS_CHECK(matmul_->run(arguments));
    pass_.run(arguments);
    return Done{};
  }
  double build_ms() const override { return build_ms_; }
  std::string stage(const std::string& name) const override {
    return name == "implementation" ? implementation_ : std::string();
  }

 private:
  GemmProblem problem_;
  int threads_;
  std::unique_ptr<Matmul> matmul_;  // null if there is nothing to do
  std::string implementation_;
  bool sums_into_d_;
  EpiloguePass pass_;
  double build_ms_;
};

// What the library would be asked for.
struct Choice {
  std::string config;
  std::optional<MatmulPlan> plan;  // nothing if there is nothing to do
};

Supports covers(const GemmProblem& p) {
  if (p.k == 0) return Supports::no("k = 0: its matmul leaves D unwritten where there is nothing to add up");
  if (p.alpha == 0) return Supports::no("alpha = 0: its matmul reads A and B all the same, and 0 * NaN is NaN");
  for (const auto& [name, value] : {std::pair{"alpha", p.alpha}, std::pair{"beta", p.beta}})
    if (value != 0 && !std::isnormal(float(value)))
      return Supports::no(concat(name, " = ", value, " is not a normal number in f32"));
  const DataType acc = p.a.type == DataType::i8 ? DataType::i32 : DataType::f32;
  if (p.acc != acc)
    return Supports::no(
        concat("acc is ", name_of(p.acc), "; its matmul of ", name_of(p.a.type), " adds up in ", name_of(acc)));
  return {};
}

// Whether what is converted to D may be NaN although A and B are integers.
bool may_be_nan(const GemmProblem& p, const std::vector<onednn::PostOp>& post_ops) {
  if (p.reads_c() && is_float(p.c.type)) return true;
  for (const InputSpec& input : p.inputs)
    if (is_float(input.type)) return true;
  for (const onednn::PostOp& op : post_ops)
    if (op.function != "linear" && op.function != "abs" && op.function != "tanh" && op.function != "sigmoid")
      return true;
  return false;
}

// The configuration for a problem: fused if the library has the epilogue, else with a pass over an f32 D. The two are
// not offered together: the pass reads and writes D once more and has never been the faster one.
Result<Choice> choose(const std::shared_ptr<const Api>& api, const GemmProblem& p, const DeviceFacts& device) {
  if (Supports answer = covers(p); !answer) return Error{{}, answer.reason, {}, {}, {}};
  if (nothing_to_do(p)) return Choice{kFused, std::nullopt};
  std::string refusal = concat("epilogue ", p.epilogue.print(), ": not a chain of its post-ops");
  if (const auto post_ops = onednn::post_ops_of(p.epilogue)) {
    if (!is_float(p.d.type) && may_be_nan(p, *post_ops))
      return Error{
          {},
          concat("D is ", name_of(p.d.type), " and may be made from NaN, which it converts to the largest number"),
          {},
          {},
          {}};
    Result<MatmulPlan> fused = MatmulPlan::create_best(api, p, *post_ops, device.threads);
    if (fused.ok()) return Choice{kFused, std::move(fused).value()};
    refusal = fused.error().text();
  }
  if (p.epilogue.is_accumulator()) return Error{{}, refusal, {}, {}, {}};
  if (p.d.type != DataType::f32)
    return Error{
        {}, concat(refusal, "; a pass over D instead needs an f32 D, this one is ", name_of(p.d.type)), {}, {}, {}};
  Result<MatmulPlan> plain = MatmulPlan::create_best(api, p, {}, device.threads);
  if (!plain.ok()) return Error{{}, plain.error().text(), {}, {}, {}};
  return Choice{kWithPass, std::move(plain).value()};
}

class OneDnnSource final : public Source {
 public:
  explicit OneDnnSource(std::shared_ptr<const Api> api) : api_(std::move(api)) {}

  std::string name() const override { return "onednn"; }
  std::string version() const override { return api_->version(); }

  Supports supports(const GemmProblem& p, const DeviceFacts& device) const override {
    const Result<Choice> choice = choose(api_, p, device);
    return choice.ok() ? Supports{} : Supports::no(one_line(choice.error()));
  }

  CandidateSet candidates(const GemmProblem& p, const DeviceFacts& device) const override {
    CandidateSet set;
    if (const Result<Choice> choice = choose(api_, p, device); choice.ok())
      set.kept.push_back({name(), choice->config, 0});
    return set;
  }

  Result<std::unique_ptr<Kernel>> build(const GemmProblem& p, const DeviceFacts& device,
                                        const Candidate& candidate) override {
    const auto start = std::chrono::steady_clock::now();
    Result<Choice> choice = choose(api_, p, device);
    if (!choice.ok()) return Error{"onednn", "cannot compute the problem", choice.error().text(), {}, {}};
    if (candidate.config != choice->config)
      return Error{"onednn",
                   concat('"', candidate.config, '"'),
                   "is not a configuration for this problem",
                   concat("known: ", choice->config),
                   {}};
    std::unique_ptr<Matmul> matmul;
    if (choice->plan) {
      GS_TRY(matmul, Matmul::create(*choice->plan, device.threads));
    }
    const auto elapsed = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start);
    return std::unique_ptr<Kernel>(std::make_unique<OneDnnKernel>(
        p, device.threads, std::move(matmul), choice->plan ? choice->plan->implementation() : std::string(),
        choice->plan && choice->plan->sums_into_d(),
        choice->config == kWithPass ? EpiloguePass(p, device.threads) : EpiloguePass(), elapsed.count()));
  }

 private:
  std::shared_ptr<const Api> api_;
};
#endif

// Stands in where the library cannot be used.
class AbsentSource final : public Source {
 public:
  explicit AbsentSource(std::string reason) : reason_(std::move(reason)) {}
  std::string name() const override { return "onednn"; }
  std::string version() const override { return "not found"; }
  Supports supports(const GemmProblem&, const DeviceFacts&) const override { return Supports::no(reason_); }
  CandidateSet candidates(const GemmProblem&, const DeviceFacts&) const override { return {}; }
  Result<std::unique_ptr<Kernel>> build(const GemmProblem&, const DeviceFacts&, const Candidate&) override {
    return Error{"onednn", "is not there", reason_, {}, {}};
  }

 private:
  std::string reason_;
};

}  // namespace

std::unique_ptr<Source> make_onednn_source(const OneDnnOptions& options) {
#ifdef GEMMSMITH_HAVE_ONEDNN
  Result<std::shared_ptr<const Api>> api = Api::open(options);
  if (api.ok()) return std::make_unique<OneDnnSource>(std::move(api).value());
  return std::make_unique<AbsentSource>(one_line(api.error()));
#else
  return std::make_unique<AbsentSource>(
      concat(options.library_names.front(),
             ": gemmsmith was built without the headers of oneDNN 2; Debian's package is libdnnl-dev"));
#endif
}

}  // namespace gemmsmith
