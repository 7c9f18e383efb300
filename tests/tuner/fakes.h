// A clock, sources, kernels and a bench that follow a script: the tuner is tested with no device and no sleeping.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "support/random.h"
#include "tuner/search.h"

namespace gemmsmith::fake {

class FakeClock final : public Clock {
 public:
  double seconds() const override { return double(nanoseconds_.load()) * 1e-9; }
  std::string timestamp() const override { return stamp; }
  void advance_us(double us) { nanoseconds_ += int64_t(us * 1e3); }
  std::string stamp = "2026-12-01T11:08:14Z";

 private:
  std::atomic<int64_t> nanoseconds_{5'000'000'000};
};

// A candidate and how its kernel will behave.
struct Script {
  std::string config;
  double us = 100;  // true time of a call
  double predicted_us = 0;
  bool builds = true;
  bool runs = true;
  int runs_for = -1;  // samples after which it reports an error; -1: never
  bool correct = true;
  bool correct_twice = true;  // false: passes the first gate, not one on other inputs
  double build_ms = 25;
};

struct FakeKernel final : Kernel {
  explicit FakeKernel(Script s, std::string source) : script(std::move(s)), source(std::move(source)) {}
  Status run(const GemmArguments&) override { return Done{}; }
  double build_ms() const override { return script.build_ms; }
  Script script;
  std::string source;
  int samples = 0;
  std::set<uint64_t> gate_seeds;
};

class FakeSource final : public Source {
 public:
  FakeSource(std::string name, std::vector<Script> scripts) : name_(std::move(name)), scripts(std::move(scripts)) {}
  std::string name() const override { return name_; }
  std::string version() const override { return version_text; }
  Supports supports(const GemmProblem&, const DeviceFacts&) const override {
    return refusal.empty() ? Supports{} : Supports::no(refusal);
  }
  CandidateSet candidates(const GemmProblem&, const DeviceFacts&) const override {
    CandidateSet set;
    for (const Script& s : scripts) set.kept.push_back({name_, s.config, s.predicted_us});
    set.dropped = dropped;
    return set;
  }
  Result<std::unique_ptr<Kernel>> build(const GemmProblem&, const DeviceFacts&, const Candidate& candidate) override {
    ++building;
    if (on_build) on_build(candidate);
    ++builds;
    --building;
    for (const Script& s : scripts) {
      if (s.config != candidate.config) continue;
      if (!s.builds) return Error{"tile.cpp:7", "mr = " + s.config, "is too wide", "near it: 8", {}};
      return std::unique_ptr<Kernel>(std::make_unique<FakeKernel>(s, name_));
    }
    return Error{name_, candidate.config, "is not a candidate", {}, {}};
  }

 private:
  std::string name_;

 public:
  std::vector<Script> scripts;
  std::vector<DroppedCandidate> dropped;
  std::string refusal, version_text = "1";
  std::atomic<int> building{0}, builds{0};
  std::function<void(const Candidate&)> on_build;  // called by the threads that build
};

class FakeBench final : public Bench {
 public:
  FakeBench(FakeClock& clock, uint64_t seed) : clock_(clock), random_(seed) {}

  Status prepare(const GemmProblem&, const DeviceFacts&, const BenchOptions& options) override {
    prepared_with = options;
    if (prepare_error) return *prepare_error;
    return Done{};
  }
  Result<double> sample_us(Kernel& kernel, int repeats) override {
    auto& k = dynamic_cast<FakeKernel&>(kernel);
    for (const FakeSource* source : watched) samples_during_builds += source->building > 0;
    log.push_back(k.source + " " + k.script.config);
    if (on_sample) on_sample(k);
    if (!k.script.runs || k.samples++ == k.script.runs_for)
      return Error{k.source, "run", "was refused by the library", {}, {}};
    // Noise as machines have it: small on both sides, now and then much slower, and a drift that all share.
    double us = k.script.us * (1 + noise * random_.normal()) * (1 + drift * double(log.size() % 64) / 64);
    if (random_.uniform() < spikes) us *= 1.5;
    clock_.advance_us(us * repeats);
    return us;
  }
  Result<Accuracy> check(Kernel& kernel, uint64_t seed) override {
    auto& k = dynamic_cast<FakeKernel&>(kernel);
    checked.push_back(k.source + " " + k.script.config);
    if (on_check) on_check(k);
    clock_.advance_us(k.script.us);
    if (!k.script.runs) return Error{k.source, "run", "was refused by the library", {}, {}};
    k.gate_seeds.insert(seed);
    Accuracy accuracy;
    accuracy.compared = 64;
    accuracy.max_rel = 1e-7;
    accuracy.allowed_rel = 1e-6;
    accuracy.passed = k.script.correct && (k.script.correct_twice || k.gate_seeds.size() < 2);
    if (!accuracy.passed) accuracy.failure = "D[3,17] of batch 0 is 1.25, reference 1.5";
    return accuracy;
  }
  bool disturbed_by_builds() const override { return disturbed; }
  std::string conditions() const override { return "fake operands"; }

  double noise = 0.01, spikes = 0, drift = 0;
  bool disturbed = true;
  std::optional<Error> prepare_error;
  std::optional<BenchOptions> prepared_with;
  std::vector<const FakeSource*> watched;
  int samples_during_builds = 0;
  std::vector<std::string> log, checked;  // kernels in the order of their samples and gates
  std::function<void(FakeKernel&)> on_sample, on_check;

 private:
  FakeClock& clock_;
  Random random_;
};

// All that a search needs, ready to be changed by a test.
struct World {
  explicit World(uint64_t seed = 1) : bench(clock, seed) {
    problem = make_problem(64, 64, 64, DataType::f32);
    device.kind = "cpu";
    device.model = "fake";
    device.threads = 2;
    options.seed = seed;
  }
  FakeSource& add(std::string name, std::vector<Script> scripts) {
    sources.push_back(std::make_unique<FakeSource>(std::move(name), std::move(scripts)));
    bench.watched.push_back(sources.back().get());
    return *sources.back();
  }
  TuneRequest request() {
    TuneRequest r;
    r.problem = problem;
    r.device = device;
    for (auto& source : sources) r.sources.push_back(source.get());
    r.bench = &bench;
    r.clock = &clock;
    r.options = options;
    r.policy = policy;
    r.incumbent = incumbent;
    return r;
  }
  TuneReport search() { return gemmsmith::search(request()).value(); }

  FakeClock clock;
  FakeBench bench;
  GemmProblem problem;
  DeviceFacts device;
  TuneOptions options;
  SearchPolicy policy;
  std::optional<Incumbent> incumbent;
  std::vector<std::unique_ptr<FakeSource>> sources;
};

inline std::string winner_of(const TuneReport& report) {
  return report.best() ? report.best()->source + " " + report.best()->config : "none";
}

inline const CandidateReport& candidate_in(const TuneReport& report, const std::string& source,
                                           const std::string& config) {
  for (const CandidateReport& c : report.candidates)
    if (c.source == source && c.config == config) return c;
  static const CandidateReport none{"no such candidate", {}, {}, {}, 0, 0, {}, {}};
  return none;
}

}  // namespace gemmsmith::fake
