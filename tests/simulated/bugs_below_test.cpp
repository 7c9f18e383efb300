// The bug corpus, first half: bugs below the tile language, as changes of what the templates record. Each runs under twelve
// schedules and has to be found in every one of them, by its kind, with both places and the name of the barrier or memory.
//
// From facts that were collected before the simulator was written: the bugs of a first simulator (a consumer that never
// arrives, wrong expect-tx, elect.sync in divergent code, no full wait, stage released before its wgmma, generic store
// without a proxy fence, no cluster sync after init or before exit, missing remote release; two more are of tcgen05, which
// sm_90a does not have), then those of the templates' prototypes.
#include <gtest/gtest.h>

#include <tuple>

#include "simulated/bugs.h"
#include "simulated/mutations.h"
#include "targets/cuda/ptx.h"
#include "templates/template.h"

namespace gemmsmith::test {
namespace {

using Kind = simulator::FindingKind;

// A kernel at a shape that exposes bugs: tiles that stick out on every side, several of them for each CTA, and
// 2 * stages + 1 k-blocks for each tile, so that no phase repeats at the same place.
struct KernelUnderTest {
  const char* file;
  const char* config;
  const char* problem;
};
const KernelUnderTest kWs = {"gemm_warp_specialized", " block_n=64 num_stages=3", "384x136x440 dtype=bf16 b=col"};
const KernelUnderTest kWsCluster = {"gemm_warp_specialized", " block_n=64 num_stages=3 cluster_m=2",
                                    "520x136x440 dtype=bf16 b=col"};
const KernelUnderTest kWsGelu = {"gemm_warp_specialized", " block_n=64 num_stages=3",
                                 "384x136x440 dtype=bf16 b=col epilogue=gelu(acc + bias[n])"};
const KernelUnderTest kWsOneBlock = {"gemm_warp_specialized", " block_m=64 block_n=64 num_stages=3 num_consumers=1",
                                     "64x64x64 dtype=bf16 b=col"};
const KernelUnderTest kPp = {"gemm_ping_pong", " block_m=64 block_n=64 num_stages=3", "384x136x440 dtype=bf16 b=col"};
const KernelUnderTest kPpCluster = {"gemm_ping_pong", " block_m=64 block_n=64 num_stages=3 cluster_n=2",
                                    "200x264x440 dtype=bf16 b=col"};
const KernelUnderTest kSk = {"gemm_split_k_cluster", " block_k=64 num_stages=3", "72x136x888 dtype=bf16 b=col"};

std::string file_of(const KernelUnderTest& k) { return std::string("src/templates/") + k.file + ".cpp"; }
const Statements& statements() {
  static const Statements kStatements = {{"roles", "k.roles("},         {"ring.fill", "ring.fill("},
                                         {"ring.take", "ring.take("},   {"mma", "acc.mma("},
                                         {"wait", "(acc).wait()"},      {"store", " d.store("},
                                         {"turns.take", "turns.take("}, {"shared_tile.store", "partial.store("}};
  return kStatements;
}

// What a finding's text has, in order. Where threads run in another order, another pair of accesses may be the first that is
// seen, or a barrier may be misused before there is a race: then there are several, one of which has to fit.
struct Sign {
  Kind kind;
  std::vector<std::string> parts;
};
struct Bug {
  const char* change;
  const KernelUnderTest& kernel;
  bool
      invisible;  // without the race detector: right results and no finding, under all twelve schedules. Random ones delay
                  // operations by up to 2^11 steps; with shorter delays, stages released early were invisible too
  std::vector<Sign> signs;
};

const Sign kStagingReused = {Kind::race,
                             {"d[", "first, reads: TMA store in {store}", "second, writes: stmatrix in {store}"}};
const Sign kExitsEarly = {Kind::unordered_exit, {"first, reads: TMA store in {store}"}};
const Sign kUnfenced = {Kind::missing_proxy_fence,
                        {"d[", "first, writes: stmatrix in {store}", "second, reads: TMA store in {store}"}};
const Sign kUnfencedStore = {Kind::missing_proxy_fence,
                             {"d[", "first, writes: st in {store}", "second, reads: TMA store in {store}"}};
const Sign kStoredTooSoon = {Kind::race,
                             {"d[", "first, writes: stmatrix in {store}", "second, reads: TMA store in {store}"}};
const Sign kReleasedEarly = {Kind::race,
                             {"a[0]", "first, reads: wgmma in {mma}", "second, writes: TMA load in {ring.fill}"}};
const Sign kOtherReleasedEarly = {Kind::race,
                                  {"b[0]", "first, reads: wgmma in {mma}", "second, writes: TMA load in {ring.fill}"}};
const Sign kNotLanded = {Kind::race, {"a[", "first, writes: TMA load in {ring.fill}", "second, reads: wgmma in {mma}"}};
const Sign kOtherNotLanded = {Kind::race,
                              {"b[", "first, writes: TMA load in {ring.fill}", "second, reads: wgmma in {mma}"}};
const Sign kOverwritten = {Kind::race,
                           {"a[", "first, reads: wgmma in {mma}", "second, writes: TMA load in {ring.fill}"}};
const Sign kFilledTwice = {Kind::barrier_misuse,
                           {"too many arrivals", "full[0]", "in mbarrier.arrive.expect_tx in {ring.fill}"}};
const Sign kLoadedTwice = {
    Kind::race, {"a[0]", "first, writes: TMA load in {ring.fill}", "second, writes: TMA load in {ring.fill}"}};
const Sign kInitUnfenced = {
    Kind::missing_init_fence,
    {"full[0]", "first, writes: mbarrier.init in {roles}", "second, writes: TMA load in {ring.fill}"}};
const Sign kInitUnordered = {
    Kind::use_before_init,
    {"full[0]", "first, writes: mbarrier.init in {roles}", "second, reads: mbarrier wait in {ring.take}"}};
const Sign kNotInitialised = {Kind::barrier_misuse,
                              {"not initialised", "full[0]", "in mbarrier.try_wait in {ring.take}"}};
const Sign kNeverEmpty = {Kind::deadlock,
                          {"mbarrier.try_wait in {ring.fill}, waits for empty[0], parity 0; it is in phase 0, "}};
const Sign kNeverFull = {Kind::deadlock,
                         {"mbarrier.try_wait in {ring.take}, waits for full[0], parity 0; it is in phase 0, 0 of 1 "
                          "arrivals pending, tx-count "}};

Sign with(Sign sign, const std::string& more) {
  sign.parts.back() += more;
  return sign;
}
Sign sums_race(Kind kind, const std::string& first, const std::string& second) {
  return {kind, {"partial sums", "first, " + first, "second, " + second}};
}
const std::string kSumsStored = "writes: st in {shared_tile.store}";
const std::string kSumsLoaded = "reads: ld in shared_tile.load at ";

const std::vector<Bug>& bugs() {
  static const std::vector<Bug> kBugs = {
      // The epilogue's staging buffers.
      {"no fence.proxy.async", kWs, true, {kUnfenced}},
      {"no fence.proxy.async", kWsGelu, true, {kUnfencedStore}},
      {"no fence.proxy.async", kPp, true, {kUnfenced}},
      {"no barrier before the TMA store", kWs, false, {kStoredTooSoon}},
      {"no barrier before the TMA store", kPp, false, {kStoredTooSoon}},
      {"no wait before a staging buffer is reused", kWs, true, {kStagingReused}},
      {"no wait before a staging buffer is reused", kPp, true, {kStagingReused}},
      {"wait before reuse lets one more group be pending", kWs, true, {kStagingReused}},
      {"wait before reuse lets one more group be pending", kPp, true, {kStagingReused}},
      {"no wait before exit", kWs, false, {kExitsEarly}},
      {"no wait before exit", kPp, false, {kExitsEarly}},
      {"no commit_group", kWs, false, {kStagingReused}},
      {"no commit_group", kPp, false, {kStagingReused}},
      {"no warp barrier around the sums",
       kWsGelu,
       false,
       {{Kind::race, {"sums[", "first, reads: ld in {store}", "second, writes: st in {store}"}},
        {Kind::race, {"sums[", "first, writes: st in {store}", "second, reads: ld in {store}"}}}},
      // Stages of the ring.
      {"stage released one k-block early", kWs, false, {kReleasedEarly}},
      {"stage released one k-block early", kWsCluster, false, {kReleasedEarly}},
      {"stage released one k-block early", kPp, false, {kReleasedEarly}},
      {"stage released one k-block early", kSk, false, {kReleasedEarly}},
      {"stage released to the own CTA only", kWsCluster, false, {kOtherReleasedEarly, kOtherNotLanded, kNeverEmpty}},
      {"stage released to the own CTA only", kPpCluster, false, {kReleasedEarly, kNotLanded, kNeverEmpty}},
      {"stage never released", kWs, false, {with(kNeverEmpty, "2 of 2 arrivals pending")}},
      {"stage never released", kWsCluster, false, {with(kNeverEmpty, "4 of 4 arrivals pending")}},
      {"stage never released", kPp, false, {with(kNeverEmpty, "1 of 1 arrivals pending")}},
      {"stage never released", kSk, false, {with(kNeverEmpty, "1 of 1 arrivals pending")}},
      {"empty barriers count one arrival too many", kWs, false, {with(kNeverEmpty, "1 of 3 arrivals pending")}},
      {"empty barriers count one arrival too many", kWsCluster, false, {with(kNeverEmpty, "1 of 5 arrivals pending")}},
      {"empty barriers count one arrival too many", kPp, false, {with(kNeverEmpty, "1 of 2 arrivals pending")}},
      {"expect-tx 128 bytes too many", kWs, false, {with(kNeverFull, "128")}},
      {"expect-tx 128 bytes too many", kWsCluster, false, {with(kNeverFull, "128")}},
      {"expect-tx 128 bytes too many", kSk, false, {with(kNeverFull, "128")}},
      {"expect-tx 128 bytes too few", kWs, false, {with(kNeverFull, "-128")}},
      {"expect-tx 128 bytes too few", kPp, false, {with(kNeverFull, "-128")}},
      {"multicast reaches one CTA only", kWsCluster, false, {with(kNeverFull, "8192")}},
      {"no wait for full", kWs, false, {kNotLanded, kOverwritten}},
      {"no wait for full", kPp, false, {kNotLanded, kOverwritten}},
      {"no wait for full", kSk, false, {kNotLanded, kOverwritten}},
      {"no wait for empty", kWs, false, {kFilledTwice, kLoadedTwice}},
      {"no wait for empty", kWsCluster, false, {kFilledTwice}},
      {"no wait for empty", kPp, false, {kFilledTwice, kLoadedTwice}},
      {"operand rewritten without fence.proxy.async",
       kWsOneBlock,
       true,
       {{Kind::missing_proxy_fence, {"a[0]", "first, writes: st in {mma}", "second, reads: wgmma in {mma}"}}}},
      {"elect.sync in half a warp",
       kWs,
       false,
       {{Kind::deadlock, {"elect.sync in {roles}, of the lanes 0xffffffff have come 0xffff", "waits for full[0]"}}}},
      // The begin and the end of a CTA.
      {"no fence.mbarrier_init", kWs, true, {kInitUnfenced}},
      {"no fence.mbarrier_init", kWsCluster, true, {kInitUnfenced}},
      {"no fence.mbarrier_init", kSk, true, {kInitUnfenced}},
      {"no CTA barrier after init", kWs, false, {kInitUnordered, kNotInitialised}},
      {"no cluster sync after init", kWsCluster, false, {kInitUnordered, kNotInitialised}},
      {"no cluster sync after init", kSk, false, {kInitUnordered, kNotInitialised}},
      {"no cluster sync before exit",
       kWsCluster,
       false,
       {{Kind::unordered_exit,
         {"no thread of it has waited for an arrival at its mbarrier", "first, writes: mbarrier.arrive in {wait}"}}}},
      {"no cluster sync before exit",
       kSk,
       false,
       {{Kind::unordered_exit,
         {"no thread of it has waited for a load from its shared memory", "first, " + kSumsLoaded}}}},
      // Partial sums in distributed shared memory, and global memory.
      {"no wait for the cluster barrier",
       kSk,
       false,
       {sums_race(Kind::race, kSumsStored, kSumsLoaded), sums_race(Kind::race, kSumsLoaded, kSumsStored)}},
      {"cluster barrier releases at CTA scope",
       kSk,
       true,
       {sums_race(Kind::scope_too_small, kSumsStored, kSumsLoaded)}},
      {"cluster barrier acquires at CTA scope",
       kSk,
       true,
       {sums_race(Kind::scope_too_small, kSumsStored, kSumsLoaded)}},
      {"global store without its guard",
       kSk,
       false,
       {{Kind::out_of_bounds, {"8 bytes, ", " bytes be", "in st in {store}"}}}},
      {"every cluster takes the same tiles",
       kWs,
       false,
       {{Kind::race,
         {"write after write, d + ", "first, writes: TMA store in {store}", "second, writes: TMA store in {store}"}}}},
      {"every cluster takes the same tiles",
       kSk,
       false,
       {{Kind::race, {"write after write, d + ", "first, writes: st in {store}", "second, writes: st in {store}"}}}},
  };
  return kBugs;
}

std::string shows(const Sign& sign, const simulator::Finding& finding, const KernelUnderTest& kernel) {
  if (finding.kind != sign.kind) return "not a " + std::string(name_of(sign.kind)) + ": " + finding.text;
  std::vector<std::string> parts;
  for (const std::string& part : sign.parts) parts.push_back(with_sites(part, file_of(kernel), statements()));
  return missing_from(finding.text, parts);
}
// Empty if one of the signs fits the first finding.
std::string shows_one(const Bug& bug, const Outcome& run) {
  if (run.findings.empty()) return "nothing was found";
  std::string why;
  for (const Sign& sign : bug.signs) {
    const std::string reason = shows(sign, run.findings.front(), bug.kernel);
    if (reason.empty()) return "";
    why += reason + "\n";
  }
  return why;
}

Result<SimulatedGemm> changed(const KernelUnderTest& kernel, const std::string& change) {
  bool applied = false;
  auto gemm = SimulatedGemm::create(kernel.problem, kernel.file + std::string(kernel.config), {},
                                    [&](KernelIr& ir) { applied = change.empty() || mutate(ir, change); });
  if (gemm.ok() && !applied)
    return Error{"mutate", "\"" + change + "\"", "changes nothing in " + std::string(kernel.file), {}, {}};
  return gemm;
}

class BugsBelow : public testing::TestWithParam<size_t> {
 protected:
  const Bug& bug() const { return bugs()[GetParam()]; }
};

TEST_P(BugsBelow, AreFoundAndNamedUnderEverySchedule) {
  auto gemm = changed(bug().kernel, bug().change);
  ASSERT_TRUE(gemm.ok()) << gemm.error().text();
  for (const auto& schedule : twelve_schedules(/*detect_races=*/true)) {
    const Outcome run = gemm->run(schedule);
    EXPECT_EQ(shows_one(bug(), run), "") << "schedule " << schedule.seed << "\n" << run.text;
  }
}

// What makes the race detector necessary: these kernels work, as far as results and protocol errors go.
TEST_P(BugsBelow, AreInvisibleWithoutTheDetectorWhereTheTableSaysSo) {
  auto gemm = changed(bug().kernel, bug().change);
  ASSERT_TRUE(gemm.ok()) << gemm.error().text();
  int shown = 0;
  for (const auto& schedule : twelve_schedules(/*detect_races=*/false)) shown += !gemm->run(schedule).clean();
  EXPECT_EQ(shown == 0, bug().invisible) << shown << " of 12 schedules";
}

std::string name_of_bug(const testing::TestParamInfo<size_t>& info) {
  const Bug& bug = bugs()[info.param];
  std::string name = std::string(bug.kernel.file) + "_" + bug.change + "_" + std::to_string(info.param);
  for (char& c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, BugsBelow, testing::Range<size_t>(0, bugs().size()), name_of_bug);

// No false reports: what the templates record, and changes of it that are legal.
TEST(NotBugs, AreCleanUnderEverySchedule) {
  const auto expect_clean = [](const KernelUnderTest& kernel, const std::string& change) {
    auto gemm = changed(kernel, change);
    ASSERT_TRUE(gemm.ok()) << gemm.error().text();
    for (bool races : {false, true})
      for (const auto& schedule : twelve_schedules(races)) {
        const Outcome run = gemm->run(schedule);
        EXPECT_TRUE(run.clean()) << kernel.file << kernel.config << " " << change << "\n" << run.text;
      }
  };
  for (const KernelUnderTest* kernel : {&kWs, &kWsCluster, &kWsGelu, &kWsOneBlock, &kPp, &kPpCluster, &kSk})
    expect_clean(*kernel, "");
  for (const KernelUnderTest* kernel : {&kWs, &kWsCluster, &kPp}) {
    expect_clean(*kernel, "legal: expect-tx after the copies");
    expect_clean(*kernel, "legal: fence by the storing thread, after the barrier");
  }
  expect_clean(kWsOneBlock, "legal: operand rewritten");
}

// Reading what a tensor core still writes is found before anything runs, on the way to every target.
TEST(StaticallyFound, AccumulatorsReadBeforeTheirWaitDoNotCompile) {
  const std::string change = "accumulators read before their wait";
  for (const auto& [kernel, reader, statement] : {std::tuple{&kWs, "store", " d.store("},
                                                  {&kPp, "store", " d.store("},
                                                  {&kSk, "shared_tile.store", "partial.store("}}) {
    const std::string text = line_of(file_of(*kernel), statement) + ": a sum that " + reader +
                             " reads may still be written by the wgmma of mma at " +
                             line_of(file_of(*kernel), "acc.mma(") +
                             "; an hw.wgmma_wait in between, and the values that it gives";
    const auto simulated = changed(*kernel, change);
    ASSERT_FALSE(simulated.ok());
    EXPECT_EQ(simulated.error().text(), text + "\n  while compiling " + kernel->file + " for the simulator");

    IrContext context;
    const auto target = make_simulator_target("sm_90a").value();
    auto ir = stage_kernel(context, kernel->file + std::string(kernel->config),
                           GemmProblem::parse(kernel->problem).value(), target->facts());
    ASSERT_TRUE(ir.ok() && mutate(*ir, change));
    const Status ptx = lower_to_nvvm(static_cast<mlir::Operation*>(ir->operation()), /*verify=*/true);
    ASSERT_FALSE(ptx.ok());
    EXPECT_EQ(ptx.error().text(), text);
  }
}

}  // namespace
}  // namespace gemmsmith::test
