// A whole GEMM: correct under every schedule, quiet under the race detector, and fast enough to be run on every commit.
#include <chrono>
#include <cstdio>

#include "targets/simulator/runtime/gemm_kernel.h"

namespace gemmsmith::simulator {
namespace {

TEST(SimulatorGemm, IsCorrectAndQuietUnderEverySchedule) {
  for (const auto& [m, n, k] : {std::array{128, 128, 256}, {64, 64, 64}, {200, 136, 72}, {64, 128, 320}})
    for (const int stages : {2, 3, 4})
      for (const int seed : {-2, -1, 0, 1, 2, 3})
        for (const bool races : {false, true}) {
          GemmKernel g(m, n, k, 64, stages, 1 + seed % 2 * (seed > 0));
          g.bench.options.schedule = seed == -2 ? Schedule::late : seed == -1 ? Schedule::eager : Schedule::random;
          g.bench.options.seed = uint64_t(seed);
          g.bench.options.detect_races = races;
          const LaunchResult r = g.run();
          ASSERT_EQ(r.text(), "") << m << "x" << n << "x" << k << " stages " << stages << " seed " << seed;
          ASSERT_EQ(g.error(), 0.0) << m << "x" << n << "x" << k << " stages " << stages << " seed " << seed;
        }
}

// The bugs of a GEMM's author: what each is reported as, in plain runs and with race detection.
enum class Seen { never, sometimes, always };
struct Case {
  const char* name;
  GemmBugs bugs;
  Seen plain;        // without race detection: in how many of 12 schedules there is a finding or a wrong result
  const char* text;  // of the first finding, late schedule, race detection
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const char* name, auto set, Seen plain, const char* text) {
    all.push_back({name, {}, plain, text});
    set(all.back().bugs);
  };
  add(
      "the consumer never arrives on empty", [](GemmBugs& b) { b.never_release = true; }, Seen::always,
      "deadlock: no thread can run, and no asynchronous operation is in flight\n"
      "  CTA (0,0,0) thread 0 (warp 0, lane 0) and 127 more: mbarrier.try_wait in ring.take at k.cpp:30, waits for "
      "full[0], parity 1; it is in "
      "phase 1, 1 of 1 arrivals pending, tx-count 0\n"
      "    earlier: init with count 1 in barriers at k.cpp:10, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 0, 1 "
      "pending, tx-count 0\n"
      "    earlier: arrive and expect 16384 bytes in ring.fill at k.cpp:21, CTA (0,0,0) thread 128 (warp 4, lane 0) -> "
      "phase 0, 0 pending, "
      "tx-count 16384\n"
      "    earlier: complete 8192 bytes in ring.fill at k.cpp:21, CTA (0,0,0) thread 128 (warp 4, lane 0) -> phase 0, "
      "0 pending, tx-count 8192\n"
      "    earlier: complete 8192 bytes in ring.fill at k.cpp:21, CTA (0,0,0) thread 128 (warp 4, lane 0) -> phase 1, "
      "1 pending, tx-count 0\n"
      "  CTA (0,0,0) thread 128 (warp 4, lane 0): mbarrier.try_wait in ring.fill at k.cpp:20, waits for empty[0], "
      "parity 0; it is in phase 0, 128 "
      "of 128 arrivals pending, tx-count 0\n"
      "    earlier: init with count 128 in barriers at k.cpp:10, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 0, 128 "
      "pending, tx-count 0");
  add(
      "the consumer does not wait for full", [](GemmBugs& b) { b.no_full_wait = true; }, Seen::always,
      "race: write after read, A stage 0 (shared + 0x0 of CTA (0,0,0))\n  first, reads: wgmma in acc.mma at k.cpp:31, "
      "issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n  second, writes: TMA load in ring.fill at k.cpp:21, issued by "
      "CTA (0,0,0) thread 128 (warp 4, lane 0)\n  nothing orders the first before the second");
  add(
      "the producer does not wait for empty", [](GemmBugs& b) { b.no_empty_wait = true; }, Seen::always,
      "barrier misuse: too many arrivals: 1 with 0 of 1 pending in phase 0, full[0] (shared + 0xa000 of CTA (0,0,0))\n "
      " in mbarrier.arrive.expect_tx in ring.fill at k.cpp:21, by CTA (0,0,0) thread 128 (warp 4, lane 0)");
  add(
      "a stage is released before its wgmma has finished", [](GemmBugs& b) { b.released_early = true; },
      Seen::sometimes,
      "race: write after read, A stage 0 (shared + 0x0 of CTA (0,0,0))\n  first, reads: wgmma in acc.mma at k.cpp:31, "
      "issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n  second, writes: TMA load in ring.fill at k.cpp:21, issued by "
      "CTA (0,0,0) thread 128 (warp 4, lane 0)\n  nothing orders the first before the second");
  add(
      "no fence between st and the TMA store", [](GemmBugs& b) { b.no_store_fence = true; }, Seen::never,
      "missing fence.proxy.async: read after write, staging (shared + 0x8000 of CTA (0,0,0))\n  first, writes: st in "
      "d.store at k.cpp:40, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n  second, reads: TMA store in d.copy at "
      "k.cpp:41, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n  they are ordered, but no fence.proxy.async lies "
      "between: the async proxy may not see the first");
  add(
      "no barrier before the TMA store", [](GemmBugs& b) { b.no_store_barrier = true; }, Seen::sometimes,
      "race: read after write, staging + 0x1b98 (shared + 0x9b98 of CTA (0,0,0))\n  first, writes: st in d.store at "
      "k.cpp:40, by CTA (0,0,0) thread 127 (warp 3, lane 31)\n  second, reads: TMA store in d.copy at k.cpp:41, issued "
      "by CTA (0,0,0) thread 0 (warp 0, lane 0)\n  nothing orders the first before the second");
  add(
      "the staging buffer is used again without a wait", [](GemmBugs& b) { b.no_store_wait = true; }, Seen::sometimes,
      "race: write after read, staging + 0x1b88 (shared + 0x9b88 of CTA (0,0,0))\n  first, reads: TMA store in d.copy "
      "at k.cpp:41, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n  second, writes: st in d.store at k.cpp:40, by "
      "CTA (0,0,0) thread 125 (warp 3, lane 29)\n  nothing orders the first before the second");
  add(
      "no fence.mbarrier_init", [](GemmBugs& b) { b.no_init_fence = true; }, Seen::never,
      "missing fence.mbarrier_init: another CTA or an asynchronous operation uses the mbarrier, and no "
      "fence.mbarrier_init followed its init, full[0] (shared + 0xa000 of CTA (0,0,0))\n  first, writes: mbarrier.init "
      "in barriers at k.cpp:10, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n  second, writes: TMA load in ring.fill at "
      "k.cpp:21, issued by CTA (0,0,0) thread 128 (warp 4, lane 0)");
  add(
      "no barrier after the init", [](GemmBugs& b) { b.no_init_barrier = true; }, Seen::sometimes,
      "mbarrier used before its init: nothing orders the use after the init, full[0] (shared + 0xa000 of CTA "
      "(0,0,0))\n  first, writes: mbarrier.init in barriers at k.cpp:10, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n  "
      "second, reads: mbarrier wait in ring.take at k.cpp:30, by CTA (0,0,0) thread 1 (warp 0, lane 1)");
  add(
      "no wgmma.fence", [](GemmBugs& b) { b.no_wgmma_fence = true; }, Seen::always,
      "missing wgmma.fence: accumulator registers may have been accessed since the last wgmma.fence of the thread\n  "
      "in wgmma in acc.mma at k.cpp:31, by CTA (0,0,0) thread 0 (warp 0, lane 0)");
  add(
      "elect in divergent code", [](GemmBugs& b) { b.elect_in_divergent_code = true; }, Seen::always,
      "deadlock: no thread can run, and no asynchronous operation is in flight\n  CTA (0,0,0) thread 0 (warp 0, lane "
      "0) and 127 more: mbarrier.try_wait in ring.take at k.cpp:30, waits for full[0], parity 0; it is in phase 0, 1 "
      "of 1 arrivals pending, tx-count 0\n    earlier: init with count 1 in barriers at k.cpp:10, CTA (0,0,0) thread 0 "
      "(warp 0, lane 0) -> phase 0, 1 pending, tx-count 0\n  CTA (0,0,0) thread 128 (warp 4, lane 0) and 15 more: "
      "elect.sync in roles at k.cpp:50, of the lanes 0xffffffff have come 0xffff");
  return all;
}

TEST(SimulatorGemm, EveryBugIsFoundAndNamed) {
  for (const Case& c : cases()) {
    int plain = 0, checked = 0;
    std::string late;
    for (int seed = -2; seed < 10; ++seed)
      for (const bool races : {false, true}) {
        GemmKernel g(128, 64, 320, 64, 2, 1, c.bugs);
        g.bench.options.schedule = seed == -2 ? Schedule::late : seed == -1 ? Schedule::eager : Schedule::random;
        g.bench.options.seed = uint64_t(seed);
        g.bench.options.detect_races = races;
        const LaunchResult r = g.run();
        const bool wrong = !r.ok() || g.error() != 0;
        (races ? checked : plain) += wrong;
        if (races && seed == -2 && !r.ok()) late = r.findings.front().text;
      }
    EXPECT_EQ(checked, 12) << c.name;
    EXPECT_EQ(plain == 0   ? Seen::never
              : plain < 12 ? Seen::sometimes
                           : Seen::always,
              c.plain)
        << c.name << ": " << plain;
    EXPECT_EQ(late, c.text) << c.name;
  }
}

}  // namespace
}  // namespace gemmsmith::simulator
