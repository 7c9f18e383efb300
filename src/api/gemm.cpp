#include "gemmsmith/gemm.h"

#include "api/state.h"
#include "problem/overlap.h"
#include "tuner/tune.h"

namespace gemmsmith {
namespace {

std::optional<LoadMoment> load_now() {
  const std::optional<CpuTimes> cpu = machine_cpu_times();
  const std::optional<double> average = machine_load_average();
  if (!cpu || !average) return std::nullopt;
  return LoadMoment{*cpu, *average};
}

Result<TuneReport> tune_here(const Device& device, const GemmProblem& problem, const TuneOptions& options, Store* store,
                             std::unique_ptr<Kernel>* kernel) {
  GS_CHECK(problem.validate());
  Device::State& state = *device.state();
  TuneRequest request;
  request.problem = problem;
  request.device = device.facts();
  const std::lock_guard one_at_a_time(state.measuring);
  request.bench = &choose_bench(state, options);
  GS_TRY(request.sources, select_sources(sources_of(state, *request.bench), options.sources));
  request.clock = &state.clock;
  request.options = options;
  request.load = load_now;
  // A kernel in a worker is of no use to the caller.
  if (request.bench == state.bench.get()) request.kernel = kernel;
  return tune_with_store(std::move(request), store);
}

}  // namespace

Result<TuneReport> tune(const Device& device, const GemmProblem& problem, const TuneOptions& options, Store* store) {
  return tune_here(device, problem, options, store, nullptr);
}

struct Gemm::State {
  Device device;  // keeps target and sources alive
  std::string source, config;
  std::unique_ptr<Kernel> kernel;
  OverlapCheck overlap;
};

Gemm::Gemm(std::unique_ptr<State> state) : state_(std::move(state)) {}
Gemm::Gemm(Gemm&&) noexcept = default;
Gemm& Gemm::operator=(Gemm&&) noexcept = default;
Gemm::~Gemm() = default;

Result<Gemm> Gemm::create(const Device& device, const GemmProblem& problem, const TuneOptions& options, Store* store) {
  std::unique_ptr<Kernel> kernel;
  GS_TRY(const TuneReport report, tune_here(device, problem, options, store, &kernel));
  device.release_memory();  // a program that multiplies has better uses for it
  const CandidateReport* best = report.best();
  if (!best)
    return Error{
        "gemm", problem.print(), "has no kernel: " + report.decision, "`gemmsmith explain` lists every candidate", {}};
  if (!kernel) {
    Result<Gemm> stored = build(device, problem, best->source, best->config);
    if (stored.ok() || !report.from_store) return stored;
    // A choice that cannot be built here any more costs a tuning, which takes its place in the store.
    TuneOptions again = options;
    again.retune = true;
    return create(device, problem, again, store);
  }
  return Gemm(
      std::unique_ptr<State>(new State{device, best->source, best->config, std::move(kernel), OverlapCheck(problem)}));
}

Result<Gemm> Gemm::build(const Device& device, const GemmProblem& problem, const std::string& source,
                         const std::string& config) {
  GS_CHECK(problem.validate());
  GS_TRY(const std::vector<Source*> chosen, select_sources(*device.state(), {source}));
  if (const Supports answer = chosen[0]->supports(problem, device.facts()); !answer)
    return Error{"gemm", problem.print(), "is refused by the source " + source + ": " + answer.reason, "", {}};
  Candidate candidate{source, config, 0};
  if (config.empty()) {
    const CandidateSet set = chosen[0]->candidates(problem, device.facts());
    if (set.kept.empty()) return Error{"gemm", problem.print(), "has no candidate of the source " + source, "", {}};
    candidate = set.kept.front();
  }
  GS_TRY(std::unique_ptr<Kernel> kernel, chosen[0]->build(problem, device.facts(), candidate));
  return Gemm(
      std::unique_ptr<State>(new State{device, source, candidate.config, std::move(kernel), OverlapCheck(problem)}));
}

Status Gemm::run(const GemmArguments& arguments) {
  GS_CHECK(state_->overlap.check(arguments));
  return state_->kernel->run(arguments);
}
const std::string& Gemm::source() const { return state_->source; }
const std::string& Gemm::config() const { return state_->config; }

}  // namespace gemmsmith
