// The bug corpus, second half: what an author can write wrong in the tile language. Most of what could be written wrong in the
// language's first version is derived now (counts, skips, releases, passes): nobody can say it, as tests/dsl/hopper_test.cpp
// shows, and what is left of it is refused while the kernel is recorded, with a sentence.
#include <gtest/gtest.h>

#include "simulated/bugs.h"
#include "simulated/wrong_templates.h"

namespace gemmsmith::test {
namespace {

using Kind = simulator::FindingKind;

constexpr const char* kFile = "tests/simulated/wrong_templates.cpp";
struct WrongTemplate {
  Result<KernelIr> (*stage)(IrContext&, const GemmProblem&, std::string_view mistake);
  const char* config;  // of the template whose arguments it has
  const char* problem;
};
const WrongTemplate kWs = {wrong_warp_specialized, "gemm_warp_specialized block_n=64 num_stages=3",
                           "384x136x440 dtype=bf16 b=col"};
const WrongTemplate kPp = {wrong_ping_pong, "gemm_ping_pong block_m=64 block_n=64 num_stages=3",
                           "384x136x440 dtype=bf16 b=col"};
const WrongTemplate kSk = {wrong_split_k_cluster, "gemm_split_k_cluster block_k=64 num_stages=3",
                           "72x136x888 dtype=bf16 b=col"};

Result<SimulatedGemm> simulated(const WrongTemplate& t, const std::string& mistake) {
  const GemmProblem problem = GemmProblem::parse(t.problem).value();
  return SimulatedGemm::create(t.problem, t.config,
                               [&](IrContext& context) { return t.stage(context, problem, mistake); });
}
std::string line(const char* statement) { return line_of(kFile, statement); }

struct Sign {
  Kind kind;
  std::vector<std::string> parts;  // of its text, in order
};

// Every schedule's first finding is one of the signs.
void expect_found(const WrongTemplate& t, const std::string& mistake, const std::vector<Sign>& signs) {
  auto gemm = simulated(t, mistake);
  ASSERT_TRUE(gemm.ok()) << gemm.error().text();
  for (const auto& schedule : twelve_schedules(/*detect_races=*/true)) {
    const Outcome run = gemm->run(schedule);
    ASSERT_FALSE(run.findings.empty()) << mistake << ", schedule " << schedule.seed << ": " << run.text;
    const simulator::Finding& found = run.findings.front();
    std::string why;
    bool fits = false;
    for (const Sign& sign : signs) {
      const std::string missing = missing_from(found.text, sign.parts);
      fits = fits || (found.kind == sign.kind && missing.empty());
      why += std::string(name_of(sign.kind)) + " expected; " + missing + "\n";
    }
    EXPECT_TRUE(fits) << mistake << ", schedule " << schedule.seed << "\n" << found.text << "\n" << why;
  }
}
// Nothing is wrong with the protocol: only the numbers are, which is what the comparison with the reference is for.
void expect_only_wrong(const WrongTemplate& t, const std::string& mistake) {
  auto gemm = simulated(t, mistake);
  ASSERT_TRUE(gemm.ok()) << gemm.error().text();
  for (const auto& schedule : twelve_schedules(/*detect_races=*/true)) {
    const Outcome run = gemm->run(schedule);
    EXPECT_TRUE(run.findings.empty()) << mistake << "\n" << run.text;
    EXPECT_FALSE(run.right) << mistake;
    EXPECT_EQ(run.text.substr(0, 2), "D[") << mistake << "\n" << run.text;
  }
}
void expect_refused(const WrongTemplate& t, const std::string& mistake, const std::string& text) {
  const auto gemm = simulated(t, mistake);
  ASSERT_FALSE(gemm.ok()) << mistake;
  const std::string said = gemm.error().text();
  EXPECT_EQ(said.substr(0, said.find("\n  while staging")), text);
}

TEST(BugsOfAuthors, TheRightTemplatesAreClean) {
  for (const WrongTemplate* t : {&kWs, &kPp, &kSk}) {
    auto gemm = simulated(*t, "");
    ASSERT_TRUE(gemm.ok()) << gemm.error().text();
    for (bool races : {false, true})
      for (const auto& schedule : twelve_schedules(races)) {
        const Outcome run = gemm->run(schedule);
        EXPECT_TRUE(run.clean()) << run.text;
      }
  }
}

TEST(BugsOfAuthors, WrongCoordinatesGiveWrongResults) {
  expect_only_wrong(kWs, "tile coordinates swapped");
  expect_only_wrong(kWs, "stored at the transposed tile");
  expect_only_wrong(kWs, "half of K");
  expect_only_wrong(kWs, "multicast along the wrong axis");
  expect_only_wrong(kSk, "own sums twice");
}

// Who waits is named, with the barrier and what it still lacks; what is missing is somebody else's call.
TEST(BugsOfAuthors, UnequalTripCountsDeadlock) {
  const std::string take = "mbarrier.try_wait in ring.take at " + line("ws.take") + ", waits for full[";
  expect_found(kWs, "one fill too few", {{Kind::deadlock, {take, "1 of 1 arrivals pending, tx-count 0"}}});
  expect_found(kWs, "one fill too many",
               {{Kind::deadlock,
                 {"mbarrier.try_wait in ring.fill at " + line("ws.too_many") + ", waits for empty[",
                  "2 of 2 arrivals pending"}}});
  expect_found(
      kWs, "one consumer idle",
      {{Kind::deadlock,
        {"mbarrier.try_wait in ring.fill at " + line("ws.fill") + ", waits for empty[0]", "1 of 2 arrivals pending"}}});
}

TEST(BugsOfAuthors, PingPong) {
  // Two consumers that both take every tile, and turns: each stage would have to be read twice, at different times.
  expect_found(
      kPp, "no alternation",
      {{Kind::deadlock,
        {"mbarrier.try_wait in ring.fill at " + line("pp.fill") + ", waits for empty[0]", "1 of 2 arrivals pending",
         "mbarrier.try_wait in turns.take at " + line("pp.turns") + ", waits for turn[1]"}}});
  // Turns are needed for more than speed: a parity is one bit, and a consumer that is ahead sees the phase after its own.
  expect_found(kPp, "no turns",
               {{Kind::race,
                 {"first, reads: wgmma in mma at " + line("pp.mma"),
                  "second, writes: TMA load in ring.fill at " + line("pp.fill")}},
                {Kind::race,
                 {"first, writes: TMA load in ring.fill at " + line("pp.fill"),
                  "second, reads: wgmma in mma at " + line("pp.mma")}},
                {Kind::deadlock, {"mbarrier.try_wait in ring.fill at " + line("pp.fill") + ", waits for empty["}},
                {Kind::barrier_misuse, {"missed a phase", "in mbarrier.try_wait in ring.fill at " + line("pp.fill")}}});
}

TEST(BugsOfAuthors, SplitK) {
  const std::string stored = "writes: st in shared_tile.store at " + line("sk.sums"),
                    loaded = "reads: ld in shared_tile.load at ";
  const std::vector<Sign> races = {{Kind::race, {"partial sums", "first, " + stored, "second, " + loaded}},
                                   {Kind::race, {"partial sums", "first, " + loaded, "second, " + stored}}};
  expect_found(kSk, "no barrier", races);
  expect_found(kSk, "barrier before the sums are stored", races);
  expect_found(
      kSk, "barrier reached by half",
      {races[0],
       races[1],
       {Kind::deadlock, {"mbarrier.try_wait in cluster_barrier.sync at " + line("sk.half"), "waits for cluster"}}});
  expect_found(kSk, "both store the first half",
               {{Kind::race,
                 {"write after write, d + ", "first, writes: st in store at " + line("sk.store"),
                  "second, writes: st in store at " + line("sk.store")}}});
  expect_found(
      kSk, "rank outside of the cluster",
      {{Kind::out_of_bounds,
        {"no buffer and no shared memory of the cluster", "in ld in shared_tile.load at " + line("sk.second")}}});
}

// Of the mistakes of the first version, those that can still be spelled. The rest does not compile, or is refused with
// the texts of tests/dsl/hopper_test.cpp: budgets of registers, stages that are not read, accumulators of other loops.
TEST(BugsOfAuthors, CountsThatDoNotFitAreRefused) {
  expect_refused(
      kPp, "ring left behind",
      line("pp.take") +
          ": a ring whose tiles alternate among 2 consumers does not follow them: stages that others take would be "
          "taken twice; tiles.alternate(self, ring)");
  expect_refused(kPp, "not alone",
                 line("pp.alternate") +
                     ": consumers that share their tiles cannot alternate: each would have a part of every other tile; "
                     "self.alone()");
  expect_refused(kPp, "turns of three",
                 line("pp.turns") + ": turns of 3 are taken by 2 consumers: one would wait for ever; k.turns(2)");
  expect_refused(kSk, "barrier of two consumers",
                 line("sk.sync") +
                     ": a cluster barrier of 2 consumers is reached by 1: it would count the wrong number of threads; "
                     "k.cluster_barrier(cluster, 1)");
}

}  // namespace
}  // namespace gemmsmith::test
