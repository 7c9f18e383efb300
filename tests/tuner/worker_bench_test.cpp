// The bench over workers that are no processes: scripts in this one, with a clock of their own.
#include "tuner/worker_bench.h"
#include "tuner/search.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <csignal>
#include <deque>
#include <set>

#include "fakes.h"
#include "problem/reference.h"

namespace gemmsmith {
namespace {

using fake::candidate_in;
using fake::FakeClock;
using fake::winner_of;

DeviceFacts fake_device() {
  DeviceFacts facts;
  facts.kind = "fake";
  facts.threads = 2;
  facts.last_level_bytes = 1 << 16;
  return facts;
}

// What happened to all workers of a test.
struct Log {
  int started = 0, alive = 0;
  std::vector<std::string> timed;
};

// Candidates are named for what they do: "ok 3", "dies_built", "dies_run", "dies_timed", "hangs", "damages", "lost".
class FakeLink final : public WorkerLink {
 public:
  FakeLink(FakeClock& clock, Log& log, std::vector<std::string> configs)
      : clock_(clock), log_(log), configs_(std::move(configs)) {
    ++log_.started;
    ++log_.alive;
  }
  ~FakeLink() override { --log_.alive; }

  Status send(const Frame& frame, int file) override {
    if (over_ || hung_) return Done{};
    answer(frame, file);
    return Done{};
  }
  Received receive(double deadline_seconds) override {
    if (!answers_.empty()) {
      Frame frame = std::move(answers_.front());
      answers_.pop_front();
      return {std::move(frame), false};
    }
    if (over_) return {std::nullopt, true};
    if (deadline_seconds > clock_.seconds()) clock_.advance_us((deadline_seconds - clock_.seconds()) * 1e6 + 1);
    return {};
  }
  WorkerDeath end(WorkerDeath::Cause cause) override {
    WorkerDeath death;
    death.cause = over_ ? WorkerDeath::Cause::ended : cause;
    death.end.signal = over_ ? SIGSEGV : SIGKILL;
    death.signal = over_ ? SIGSEGV : 0;
    if (at_ != 0) death.at.push_back(at_);
    over_ = true;
    return death;
  }
  double cpu_seconds() const override { return 0; }

 private:
  void say(const Frame& request, std::string text = "{}", FrameKind kind = FrameKind::done) {
    answers_.push_back({kind, request.request, std::move(text)});
  }
  bool is(const std::string& what) const { return kernels_.at(at_).starts_with(what); }

  void answer(const Frame& frame, int file) {
    switch (frame.kind) {
      case FrameKind::open:
        return say(
            frame,
            print(Opened{kProtocolVersion, GEMMSMITH_VERSION, fake_device().fingerprint(), {{"s", "1", true, {}}}}));
      case FrameKind::plan: {
        SourceOffer offer{"s", {}, {}};
        for (const std::string& config : configs_) offer.candidates.kept.push_back({"s", config, 0});
        return say(frame, print(std::vector<SourceOffer>{offer}));
      }
      case FrameKind::begin:
        problem_ = GemmProblem::parse(parse_problem_request(frame.text)->problem).value();
        kernels_.clear();
        return say(frame);
      case FrameKind::operands:
        operands_ =
            MappedOperands::map(parse_operands(frame.text).value(), FileDescriptor(fcntl(file, F_DUPFD_CLOEXEC, 3)))
                .value();
        return say(frame, print_number("copies", 4));
      case FrameKind::skip:
        return say(frame);
      case FrameKind::build: {
        const BuildRequest build = parse_build(frame.text).value();
        at_ = build.kernel;
        kernels_[at_] = build.config;
        if (is("dies_built")) return die();
        at_ = 0;
        return say(frame, print_number("build_ms", 25));
      }
      case FrameKind::run:
      case FrameKind::sample:
        return work(frame);
      default:
        return;
    }
  }
  void work(const Frame& frame) {
    const KernelRequest request = parse_kernel_request(frame.text).value();
    at_ = request.kernel;
    const bool run = frame.kind == FrameKind::run;
    if (!run) log_.timed.push_back(kernels_.at(at_));
    if (damaged_by_ != 0 && damaged_by_ != at_) return die();
    if (is("dies_run") || (is("dies_timed") && !run)) return die();
    if (is("hangs") && !run) {
      hung_ = true;
      return;
    }
    if (is("damages")) damaged_by_ = at_;
    if (is("lost")) {
      at_ = 0;
      return say(frame, print_error(Error{"device", "error 700", {}, {}, {}}), FrameKind::device_lost);
    }
    if (run) compute_reference(problem_, operands_.arguments);
    const double us = 100 + double(kernels_.at(at_).size());
    if (!run) clock_.advance_us(us * request.repeats);
    at_ = 0;
    say(frame, run ? "{}" : print_number("us", us));
  }
  void die() { over_ = true; }

  FakeClock& clock_;
  Log& log_;
  std::vector<std::string> configs_;
  std::deque<Frame> answers_;
  std::map<uint64_t, std::string> kernels_;
  GemmProblem problem_;
  MappedOperands operands_;
  uint64_t at_ = 0, damaged_by_ = 0;
  bool over_ = false, hung_ = false;
};

class FakeLauncher final : public WorkerLauncher {
 public:
  FakeLauncher(FakeClock& clock, Log& log, std::vector<std::string> configs)
      : clock_(clock), log_(log), configs_(std::move(configs)) {}
  Result<std::unique_ptr<WorkerLink>> launch() override {
    return std::unique_ptr<WorkerLink>(std::make_unique<FakeLink>(clock_, log_, configs_));
  }
  std::string name() const override { return "fake"; }

 private:
  FakeClock& clock_;
  Log& log_;
  std::vector<std::string> configs_;
};

struct Crew {
  explicit Crew(const std::vector<std::string>& configs, int workers = 1) {
    WorkerBenchOptions options;
    options.open = {"fake", 2, {}};
    options.sources = {"s"};
    options.workers = workers;
    bench = WorkerBench::open(std::make_unique<FakeLauncher>(clock, log, configs), clock, options,
                              fake_device().fingerprint())
                .value();
  }
  TuneReport tune(const std::string& problem = "8x8x8") {
    TuneRequest r;
    r.problem = GemmProblem::parse(problem).value();
    r.device = fake_device();
    r.sources = bench->sources();
    r.bench = bench.get();
    r.clock = &clock;
    r.options.budget_seconds = 1e6;
    r.policy.patience = 1000;
    return search(r).value();
  }
  FakeClock clock;
  Log log;
  std::unique_ptr<WorkerBench> bench;
};

TEST(WorkerBench, OneWorkerServesManyProblems) {
  Crew crew({"ok", "ok longer", "ok the longest"});
  for (const char* problem : {"8x8x8", "4x12x7", "1x9x3 dtype=bf16"}) {
    const TuneReport report = crew.tune(problem);
    EXPECT_EQ(winner_of(report), "s ok");
    EXPECT_EQ(report.isolation, "worker process");
    EXPECT_EQ(report.conditions.substr(0, 27), "operands partly warm: 4 cop")
        << "as many copies as the worker could have";
  }
  EXPECT_EQ(crew.log.started, 1);
}

// Faults at random among kernels that are well: each is named, none that is well is blamed, and the fastest wins.
TEST(WorkerBench, NamesWhoDidItWhateverTheMix) {
  const char* const kKinds[] = {"dies_built", "dies_run", "dies_timed", "hangs", "damages", "lost"};
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    std::vector<std::string> configs = {"ok"};
    for (int i = 0; i < 14; ++i)
      configs.push_back((random.below(3) == 0 ? std::string(kKinds[random.below(6)]) : "ok") + " no " +
                        std::to_string(i));
    for (size_t i = configs.size(); i > 1; --i) std::swap(configs[i - 1], configs[random.below(i)]);
    Crew crew(configs, 1 + int(random.below(3)));
    const TuneReport report = crew.tune();
    EXPECT_EQ(winner_of(report), "s ok") << seed;
    for (const std::string& config : configs) {
      const CandidateReport& c = candidate_in(report, "s", config);
      EXPECT_EQ(c.state == CandidateState::crashed, !config.starts_with("ok"))
          << seed << " " << config << ": " << c.reason;
    }
    crew.bench.reset();
    EXPECT_EQ(crew.log.alive, 0);
  }
}

TEST(WorkerBench, AHangCostsItsTimeOnceAndIsNotTimedAgain) {
  Crew crew({"ok", "hangs"});
  const TuneReport report = crew.tune();
  EXPECT_EQ(std::count(crew.log.timed.begin(), crew.log.timed.end(), "hangs"), 1);
  const CandidateReport& c = candidate_in(report, "s", "hangs");
  EXPECT_EQ(c.reason.find("while it was timed: no answer for 5.00 s"), 0u) << c.reason;
  EXPECT_LT(report.seconds, 6);
}

TEST(WorkerBench, ADeviceThatIsLostGivesANewWorker) {
  Crew crew({"lost", "ok"});
  const TuneReport report = crew.tune();
  EXPECT_EQ(winner_of(report), "s ok");
  EXPECT_EQ(candidate_in(report, "s", "lost").reason,
            "while it was checked: the device was lost: device: error 700, again when it was alone");
}

TEST(WorkerBench, AllThatCrashIsAReportWithoutWinner) {
  Crew crew({"dies_run", "dies_built"});
  const TuneReport report = crew.tune();
  EXPECT_FALSE(report.best());
  EXPECT_EQ(report.decision, "no winner: no candidate both ran and passed the numeric gate");
}

}  // namespace
}  // namespace gemmsmith
