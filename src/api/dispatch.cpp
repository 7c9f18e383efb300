#include "gemmsmith/dispatch.h"

#include "api/dispatcher.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr int64_t kLongestRange = int64_t(1) << 20;  // values of m: an array of 8 MB
constexpr int kMostPoints = 16;

GemmProblem first_rows(GemmProblem problem, int64_t m) {
  problem.m = m;
  return problem;
}

Status check(const GemmProblem& largest, const DispatchOptions& options) {
  GS_CHECK(largest.validate());
  if (options.min_m < 1 || options.min_m > largest.m)
    return Error{"dispatch",
                 concat("min_m = ", options.min_m),
                 concat("is not from 1 to ", largest.m, ", the m of the problem"),
                 "",
                 {}};
  if (largest.m - options.min_m >= kLongestRange)
    return Error{"dispatch",
                 concat(largest.m - options.min_m + 1, " values of m"),
                 concat("are more than ", kLongestRange),
                 "create a handle for each part of the range",
                 {}};
  if (options.points_per_octave < 1 || options.points_per_octave > kMostPoints)
    return Error{"dispatch",
                 concat("points_per_octave = ", options.points_per_octave),
                 concat("is not from 1 to ", kMostPoints),
                 "",
                 {}};
  return Done{};
}

// What is as fast as the winner by the measurements of a report, as the tuner counts ties.
Result<TunedPoint> point_of(const TuneReport& report, double tie) {
  const CandidateReport* best = report.best();
  if (!best)
    return Error{"dispatch",
                 report.problem.print(),
                 "has no kernel: " + report.decision,
                 "`gemmsmith explain` lists every candidate",
                 {}};
  if (report.interrupted)
    return Error{"dispatch", report.problem.print(), "was interrupted while it was tuned", "", {}};
  TunedPoint point{{best->source, best->config}, {}};
  for (const CandidateReport& c : report.candidates)
    if (best->timing && c.timing && c.accuracy && c.accuracy->passed &&
        c.timing->median_us <= best->timing->median_us * (1 + tie))
      point.tied.push_back({c.source, c.config});
  return point;
}

}  // namespace

struct Dispatch::State {
  State(const Device& device, const GemmProblem& largest, const DispatchOptions& options, std::optional<Store> store)
      : device(device),
        largest(largest),
        options(options),
        store(std::move(store)),
        dispatcher(
            options.min_m, largest.m, options.points_per_octave, [this](int64_t m) { return tune_at(m); },
            [this](int64_t m, const KernelChoice& choice) { return build(m, choice); }) {}

  Result<TunedPoint> tune_at(int64_t m) {
    GS_TRY(const TuneReport report, tune(device, first_rows(largest, m), options.tune, store ? &*store : nullptr));
    device.release_memory();
    return point_of(report, options.tune.tie);
  }
  Result<Dispatcher::Run> build(int64_t m, const KernelChoice& choice) {
    GS_TRY(Gemm built, Gemm::build(device, first_rows(largest, m), choice.source, choice.config));
    return Dispatcher::Run([gemm = std::make_shared<Gemm>(std::move(built))](const GemmArguments& arguments) {
      return gemm->run(arguments);
    });
  }

  Device device;
  GemmProblem largest;
  DispatchOptions options;
  std::optional<Store> store;
  Dispatcher dispatcher;
};

Dispatch::Dispatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
Dispatch::Dispatch(Dispatch&&) noexcept = default;
Dispatch& Dispatch::operator=(Dispatch&&) noexcept = default;
Dispatch::~Dispatch() = default;

Result<Dispatch> Dispatch::create(const Device& device, const GemmProblem& largest, const DispatchOptions& options,
                                  std::optional<Store> store) {
  GS_CHECK(check(largest, options));
  return Dispatch(std::make_unique<State>(device, largest, options, std::move(store)));
}

Status Dispatch::prepare(int64_t m) { return state_->dispatcher.prepare(m); }
Status Dispatch::prepare() { return state_->dispatcher.prepare(); }
Status Dispatch::run(int64_t m, const GemmArguments& arguments) { return state_->dispatcher.run(m, arguments); }
std::vector<DispatchRange> Dispatch::table() const { return state_->dispatcher.table(); }

}  // namespace gemmsmith
