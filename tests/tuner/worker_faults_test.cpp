// Real workers, real faults: each costs the candidate that did it, which is named, and nothing else.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cerrno>
#include <set>

#include "fakes.h"
#include "faulty.h"
#include "problem/reference.h"
#include "tuner/tune.h"
#include "tuner/worker_bench.h"

namespace gemmsmith {
namespace {

using fake::candidate_in;
using fake::winner_of;

// Rows of D have gaps between them, so that all that pages cannot reach is there.
const char* const kProblem = "24x24x24 d=f32:row:ld=32";

struct FaultyWorld {
  explicit FaultyWorld(int workers = 1, const std::string& device = "cpu") {
    options.open = {device, 2, {}};
    if (device == "opening") options.sources.push_back("harmful");
    options.sources.push_back("faulty");
    options.workers = workers;
    options.hang_seconds = 1;
    options.build_seconds = 1;
    auto opened = WorkerBench::open(make_launcher(GEMMSMITH_FAULTY_WORKER, clock), clock, options,
                                    faulty::device().fingerprint());
    if (opened.ok())
      bench = *std::move(opened);
    else
      ADD_FAILURE() << opened.error().text();
  }
  TuneRequest request() {
    TuneRequest r;
    r.problem = GemmProblem::parse(kProblem).value();
    r.device = faulty::device();
    r.device.last_level_bytes = 1 << 20;
    r.sources = bench->sources();
    r.bench = bench.get();
    r.clock = &clock;
    r.options.budget_seconds = 300;
    r.options.max_memory_bytes = int64_t(64) << 20;  // to exhaust more takes time
    r.policy.patience = 1000;
    return r;
  }
  SystemClock clock;
  WorkerBenchOptions options;
  std::unique_ptr<WorkerBench> bench;
};

void expect_all_named(const TuneReport& report) {
  EXPECT_TRUE(winner_of(report) == "faulty right" || winner_of(report) == "faulty prints") << winner_of(report);
  for (const faulty::Expected& expected : faulty::faults()) {
    const CandidateReport& c = candidate_in(report, "faulty", expected.config);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (expected.config == "memory" || expected.config == "stack") continue;  // no limit there; its own report
#endif
    EXPECT_EQ(name_of(c.state), expected.state) << expected.config << ": " << c.reason;
    EXPECT_NE(c.reason.find(expected.evidence), std::string::npos) << expected.config << ": " << c.reason;
  }
  for (const char* well : {"right", "slow", "prints"})
    EXPECT_TRUE(candidate_in(report, "faulty", well).timing)
        << well << " is not blamed for what others did: " << candidate_in(report, "faulty", well).reason;
}

TEST(WorkerFaults, EachCostsOnlyTheCandidateThatDidIt) {
  FaultyWorld w;
  ASSERT_TRUE(w.bench);
  expect_all_named(search(w.request()).value());
}

TEST(WorkerFaults, EachCostsOnlyItselfWhereBuildsAreSpreadOverWorkers) {
  FaultyWorld w(3);
  ASSERT_TRUE(w.bench);
  expect_all_named(search(w.request()).value());
}

TEST(WorkerFaults, WhatCrashedIsNotTriedAgainUntilItsVersionChanges) {
  FaultyWorld w;
  ASSERT_TRUE(w.bench);
  Store store = Store::open(":memory:").value();
  const TuneReport first = tune_with_store(w.request(), &store).value();
  const std::vector<QuarantineEntry> entries = store.quarantine().value();
  std::set<std::string> quarantined;
  for (const QuarantineEntry& e : entries) {
    quarantined.insert(e.config);
    EXPECT_EQ(e.problem, first.problem.print());
    EXPECT_EQ(e.version, "1");
    EXPECT_EQ(e.evidence, candidate_in(first, "faulty", e.config).reason);
  }
  for (const CandidateReport& c : first.candidates)
    EXPECT_EQ(quarantined.contains(c.config), c.state == CandidateState::crashed) << c.config;

  TuneRequest again = w.request();
  again.options.retune = true;
  const double begin = w.clock.seconds();
  const TuneReport second = tune_with_store(again, &store).value();
  EXPECT_LT(w.clock.seconds() - begin, first.seconds) << "the hangs alone took longer";
  for (const QuarantineEntry& e : entries) {
    const CandidateReport& c = candidate_in(second, "faulty", e.config);
    EXPECT_EQ(c.state, CandidateState::quarantined) << c.reason;
    EXPECT_EQ(c.reason, "since " + e.since + ", " + e.evidence);
  }
  EXPECT_EQ(store.release().value(), int64_t(entries.size()));
  EXPECT_TRUE(store.quarantine().value().empty());
}

TEST(WorkerFaults, ASourceThatEndsItsWorkerWhileItIsOpenedIsLeftOut) {
  FaultyWorld w(1, "opening");
  ASSERT_TRUE(w.bench);
  const TuneReport report = search(w.request()).value();
  ASSERT_EQ(report.sources.size(), 2u);
  EXPECT_FALSE(report.sources[0].supported);
  EXPECT_EQ(report.sources[0].reason, "ended a worker process while it was opened: killed by SIGABRT");
  EXPECT_TRUE(report.best());
}

TEST(WorkerFaults, NoProcessStays) {
  std::set<pid_t> before;
  {
    FaultyWorld w(2);
    ASSERT_TRUE(w.bench);
    (void)search(w.request());
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "neither running nor a zombie";
  EXPECT_EQ(errno, ECHILD);
}

TEST(WorkerFaults, AnotherDeviceOrNoWorkerIsAnErrorThatSaysSo) {
  SystemClock clock;
  WorkerBenchOptions options;
  options.open = {"cpu", 2, {}};
  options.sources = {"faulty"};
  auto other = WorkerBench::open(make_launcher(GEMMSMITH_FAULTY_WORKER, clock), clock, options, "gpu x");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().text(),
            "worker: " + faulty::device().fingerprint() + " is not gpu x, the device to tune for");
  auto none = WorkerBench::open(make_launcher("/nowhere/gemmsmith", clock), clock, options, "gpu x");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().text(), "process: /nowhere/gemmsmith cannot be started: No such file or directory");
  auto no_worker = WorkerBench::open(make_launcher("/bin/true", clock), clock, options, "gpu x");
  ASSERT_FALSE(no_worker.ok());
  EXPECT_EQ(no_worker.error().text(), "worker: true ended while it opened the device: exited with 0");
}

}  // namespace
}  // namespace gemmsmith
