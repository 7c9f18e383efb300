// A bench whose kernels live in worker processes. The tuner's process plans, judges and decides, and runs no candidate.
//
// A worker is kept from candidate to candidate and from problem to problem, with many kernels alive in it; only one
// kernel is timed at a time, whichever worker it is in. What ends a worker costs the candidate that did it: those that
// were with it are built again in a new worker, by themselves, when they are asked for. Who did it is
//
// - the one that ran, if the end itself shows that: a touch beyond the shared operands, an illegal instruction, an exit,
//   a hang; or if it was alone;
// - otherwise whoever ends a new worker alone, the one that ran first; and if none does, whoever ends one that the one
//   that ran comes to next, and not after it: heap that is written over strikes others, later. If that shows nobody
//   either, the one that ran is let off once.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/clock.h"
#include "tuner/bench.h"
#include "tuner/gate.h"
#include "tuner/memory_plan.h"
#include "tuner/shared_operands.h"
#include "tuner/worker.h"

namespace gemmsmith {

struct WorkerBenchOptions {
  OpenRequest open;                  // `without` grows by sources that end workers while they are opened
  std::vector<std::string> sources;  // all names, in the order in which a worker opens them
  int workers = 1;                   // that builds are spread over
  double open_seconds = 30;          // no answer for so long is a hang: of opening and planning, of preparing operands,
  double build_seconds = 30;         // of building a kernel,
  double hang_seconds = 5;           // of running one, besides what it may be expected to take
  bool disturbed_by_builds = true;   // as Bench has it
};

class WorkerBench final : public Bench {
 public:
  // Starts the first worker, which has to be of the same version and to have opened the device with this fingerprint.
  // The clock has to outlive it. Errors: why there is no isolation to be had.
  static Result<std::unique_ptr<WorkerBench>> open(std::unique_ptr<WorkerLauncher>, const Clock&, WorkerBenchOptions,
                                                   const std::string& fingerprint);
  ~WorkerBench() override;

  // What the workers' sources offer, asked there: no library of theirs is opened in this process. Live as long as this.
  std::vector<Source*> sources() const;

  std::unique_ptr<WaveBuilder> make_builder(const GemmProblem&, const DeviceFacts&) override;
  Status prepare(const GemmProblem&, const DeviceFacts&, const BenchOptions&) override;
  Result<double> sample_us(Kernel&, int repeats) override;
  Result<Accuracy> check(Kernel&, uint64_t seed) override;
  bool disturbed_by_builds() const override { return options_.disturbed_by_builds; }
  std::string conditions() const override { return plan_.conditions(); }
  std::string memory() const override { return plan_.text(); }
  std::string isolation() const override;
  std::optional<std::string> fault_of(const Candidate&) const override;
  double cpu_seconds() const override;

 private:
  friend class RemoteBuilder;
  friend class RemoteSource;
  friend class RemoteKernel;

  // A worker and what it has of the problem at hand.
  struct Seat {
    Worker worker;
    int begun_life = 0;             // that was told of the problem,
    int operands_life = 0;          // and that has its operands
    std::vector<uint64_t> company;  // kernels built in this life, each where it was last used
    int kernels = 0;                // that live in it or are meant to
  };
  struct Known {
    Candidate candidate;
    int repeats = 1;      // of its last sample
    int unexplained = 0;  // ends of workers while it ran that nobody could be charged with
  };
  struct Call {
    FrameKind kind;
    int repeats;
    double seconds;     // until it counts as hung
    const char* phase;  // "checked"
  };

  WorkerBench(std::unique_ptr<WorkerLauncher>, const Clock&, WorkerBenchOptions);
  Status start(Seat&);
  Status ready(Seat&, bool with_operands);
  Result<std::vector<SourceOffer>> offers(const GemmProblem&, const DeviceFacts&);
  bool leave_out_source(const WorkerDeath&, const char* when);
  void begin_problem(const GemmProblem&, const DeviceFacts&);
  ProblemRequest problem_request(const GemmProblem&, const DeviceFacts&) const;

  size_t least_loaded() const;
  uint64_t ask_to_build(Seat&, uint64_t kernel);
  Status build_again(class RemoteKernel&);
  Result<Frame> perform(class RemoteKernel&, const Call&, const std::function<void()>& before = {});
  double expected_seconds(const class RemoteKernel&, int repeats) const;
  void touch(Seat&, uint64_t kernel);
  WorkerDeath end(Seat&, bool over, double waited_seconds);
  void drop(class RemoteKernel&);

  // worker_blame.cpp
  void blame(Seat&, const std::vector<uint64_t>& company, const WorkerDeath&, std::optional<uint64_t> running,
             const char* phase);
  std::optional<WorkerDeath> replay(Seat&, const std::vector<uint64_t>& kernels);
  void charge(uint64_t kernel, const std::string& how, const char* phase);
  std::string key(uint64_t kernel) const;
  Error fault_error(const Candidate&) const;

  std::unique_ptr<WorkerLauncher> launcher_;
  const Clock& clock_;
  WorkerBenchOptions options_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<SourceReport> reports_;  // of each source: version, or why it was left out
  std::vector<std::unique_ptr<Source>> sources_;

  // Of the problem at hand.
  GemmProblem problem_;
  DeviceFacts device_;
  std::string offered_for_;
  std::vector<SourceOffer> offers_;
  std::map<uint64_t, Known> known_;
  std::map<std::string, std::string> faults_;  // of candidates, by "source config"
  uint64_t last_kernel_ = 0;
  MemoryPlan plan_;
  std::optional<SharedOperands> shared_;
  Gate gate_;
  bool prepared_ = false;
  double best_us_ = 0;  // of any kernel so far
};

// A kernel in a worker. Must not outlive the bench.
class RemoteKernel final : public Kernel {
 public:
  RemoteKernel(WorkerBench& bench, uint64_t number, Candidate candidate, size_t seat, int life, double build_ms)
      : bench_(bench),
        number_(number),
        candidate_(std::move(candidate)),
        seat_(seat),
        life_(life),
        build_ms_(build_ms) {}
  ~RemoteKernel() override { bench_.drop(*this); }
  // An error: it is not in this process.
  Status run(const GemmArguments&) override;
  double build_ms() const override { return build_ms_; }

 private:
  friend class WorkerBench;
  WorkerBench& bench_;
  uint64_t number_;
  Candidate candidate_;
  size_t seat_;
  int life_;  // of the worker that has it
  double build_ms_;
  double us_ = 0;  // of a call, once it was timed
};

// Builds spread over the workers of a bench.
class RemoteBuilder final : public WaveBuilder {
 public:
  explicit RemoteBuilder(WorkerBench& bench) : bench_(bench) {}
  ~RemoteBuilder() override;
  void start(std::vector<BuildJob> jobs, std::function<bool()> stop) override;
  std::vector<BuildResult> take() override;

 private:
  struct Pending {
    BuildJob job;
    uint64_t kernel = 0, request = 0;
    size_t seat = 0;
    int life = 0;
    double deadline_seconds = 0;
    int attempts = 0;
  };
  void send(Pending&, size_t place);
  BuildResult wait_for(Pending&);
  BuildResult result_of(Pending&, const Frame&);

  WorkerBench& bench_;
  std::vector<Pending> pending_;
  std::function<bool()> stop_;
  bool told_to_skip_ = false;
};

}  // namespace gemmsmith
