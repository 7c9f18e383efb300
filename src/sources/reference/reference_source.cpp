#include "sources/reference/reference_source.h"

#include "problem/reference.h"
#include "sources/refusal.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr const char* kConfig = "float64";

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const GemmProblem& problem) : problem_(problem) {}
  Status run(const GemmArguments& arguments) override {
    compute_reference(problem_, arguments);
    return Done{};
  }

 private:
  GemmProblem problem_;
};

class ReferenceSource final : public Source {
 public:
  std::string name() const override { return "reference"; }
  std::string version() const override { return GEMMSMITH_VERSION; }
  Supports supports(const GemmProblem& problem, const DeviceFacts&) const override {
    const Status valid = problem.validate();
    return valid.ok() ? Supports{} : Supports::no(one_line(valid.error()));
  }
  // About 1 GFLOP/s: slow enough that the tuner drops it wherever another source has a prediction.
  CandidateSet candidates(const GemmProblem& problem, const DeviceFacts&) const override {
    return {{{name(), kConfig, 1 + problem.flops() * 1e-3}}, {}};
  }
  Result<std::unique_ptr<Kernel>> build(const GemmProblem& problem, const DeviceFacts&,
                                        const Candidate& candidate) override {
    GS_CHECK(problem.validate());
    if (candidate.config != kConfig)
      return Error{
          "reference", concat('"', candidate.config, '"'), "is not a configuration", concat("known: ", kConfig), {}};
    return std::unique_ptr<Kernel>(std::make_unique<ReferenceKernel>(problem));
  }
};

}  // namespace

std::unique_ptr<Source> make_reference_source() { return std::make_unique<ReferenceSource>(); }

}  // namespace gemmsmith
