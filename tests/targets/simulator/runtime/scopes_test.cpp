// Synchronization through variables and its scopes, starts and ends of CTAs, dependent launches, bounds of memory.
#include <algorithm>

#include "targets/simulator/runtime/bench.h"

namespace gemmsmith::simulator {
namespace {

class Scopes : public testing::Test {
 protected:
  Scopes() {
    bench.launch.block.x = 32;
    tile = bench.region("tile", 256, 128);
    bar = bench.region("bar", 8);
    bench.buffer("data", data);
    bench.buffer("flags", flags);
    for (int line = 0; line < 60; ++line) bench.site("line", line);
  }
  void all_at_once(int ctas, int cluster = 1) {
    bench.launch.grid.x = ctas;
    bench.launch.cluster.x = cluster;
    bench.options.residency = Residency::all;
  }
  // Clears what kernels leave behind in global memory.
  LaunchResult run(const std::function<void()>& kernel) {
    std::ranges::fill(data, 0);
    std::ranges::fill(flags, 0);
    return bench.run(kernel);
  }
  std::string late(const std::function<void()>& kernel) {
    bench.options.detect_races = true;
    bench.options.schedule = Schedule::late;
    return run(kernel).text();
  }
  int found_in(const std::function<void()>& kernel) {
    int count = 0;
    bench.options.detect_races = true;
    for (int seed = -2; seed < 10; ++seed) {
      bench.options.schedule = seed == -2 ? Schedule::late : seed == -1 ? Schedule::eager : Schedule::random;
      bench.options.seed = uint64_t(seed);
      count += !run(kernel).ok();
    }
    return count;
  }
  static void cluster_sync(int site) {
    sim_cluster_arrive(site, kRelease);
    sim_cluster_wait(site);
  }
  static int64_t add(int site, void* at, int64_t value, int order, int scope) {
    return sim_atomic(site, at, int(AtomicOp::add), int(AtomicType::u32), value, 0, order, scope);
  }
  Bench bench;
  uint32_t tile, bar;
  std::vector<uint32_t> data = std::vector<uint32_t>(64), flags = std::vector<uint32_t>(4);
};

enum class Release { store, fence_and_relaxed, atomic, relaxed, cta_scope, cta_fence };

TEST_F(Scopes, FlagsBetweenCtas) {
  all_at_once(2);
  const auto kernel = [&](Release how, int acquire_scope) {
    if (tid() != 0) return;
    if (ctaid() == 0) {
      store<uint32_t>(10, &data[3], 42);
      const int scope = how == Release::cta_scope ? kCta : kGpu;
      if (how == Release::fence_and_relaxed || how == Release::cta_fence)
        sim_fence(11, kAcqRel, how == Release::cta_fence ? kCta : kGpu);
      const int order =
          how == Release::store || how == Release::atomic || how == Release::cta_scope ? kRelease : kRelaxed;
      if (how == Release::atomic)
        add(12, &flags[0], 1, order, scope);
      else
        sim_store_ordered(12, &flags[0], 4, 1, order, scope);
    } else {
      while (sim_load_ordered(20, &flags[0], 4, kAcquire, acquire_scope) == 0) {
      }
      EXPECT_EQ(load<uint32_t>(21, &data[3]), 42u);
    }
  };
  for (const Release right : {Release::store, Release::fence_and_relaxed, Release::atomic}) {
    EXPECT_EQ(late([&] { kernel(right, kGpu); }), "");
    EXPECT_EQ(found_in([&] { kernel(right, kGpu); }), 0);
  }
  const std::string places =
      "read after write, data + 0xc (global memory)\n"
      "  first, writes: st in line at k.cpp:10, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: ld in line at k.cpp:21, by CTA (1,0,0) thread 0 (warp 0, lane 0)\n";
  const std::string race = "race: " + places + "  nothing orders the first before the second";
  const std::string scope =
      "scope too small: " + places +
      "  they are ordered by a release or acquire whose scope does not reach from one thread to the other";
  const auto last = [](const std::string& text) {
    return text.substr(text.rfind("\n\n") == std::string::npos ? 0 : text.rfind("\n\n") + 2);
  };
  EXPECT_EQ(late([&] { kernel(Release::relaxed, kGpu); }), race);
  EXPECT_EQ(late([&] { kernel(Release::cta_fence, kGpu); }), scope);
  EXPECT_EQ(last(late([&] { kernel(Release::cta_scope, kGpu); })), scope);
  EXPECT_EQ(last(late([&] { kernel(Release::store, kCta); })), scope);
  EXPECT_EQ(found_in([&] { kernel(Release::relaxed, kGpu); }), 12);
}

// The flag itself: a store and a load whose scopes do not reach each other are a race.
TEST_F(Scopes, AccessesOfTheFlagItself) {
  all_at_once(2);
  EXPECT_EQ(late([&] {
              if (tid() == 0) add(10, &flags[0], 1, kRelaxed, ctaid() == 0 ? kGpu : kCta);
            }),
            "scope too small: write after write, flags + 0x0 (global memory)\n"
            "  first, writes: atom in line at k.cpp:10, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
            "  second, writes: atom in line at k.cpp:10, by CTA (1,0,0) thread 0 (warp 0, lane 0)\n"
            "  they are ordered by a release or acquire whose scope does not reach from one thread to the other");
}

// Split-K's last arriver: each CTA adds its part, fences, counts; who counts last reads all. Needs no co-residency.
TEST_F(Scopes, LastArriverOfASplit) {
  for (const Residency residency : {Residency::one_cluster, Residency::all})
    for (const bool fence : {true, false}) {
      bench.launch.grid.x = 4;
      bench.options.residency = residency;
      const auto kernel = [&] {
        if (tid() != 0) return;
        store<uint32_t>(10, &data[size_t(ctaid())], uint32_t(ctaid() + 1));
        if (fence) sim_fence(11, kAcqRel, kGpu);
        if (add(12, &flags[0], 1, kRelaxed, kGpu) != 3) return;
        if (fence) sim_fence(13, kAcqRel, kGpu);
        uint32_t sum = 0;
        for (size_t i = 0; i < 4; ++i) sum += load<uint32_t>(14, &data[i]);
        EXPECT_EQ(sum, 10u);
      };
      EXPECT_EQ(found_in(kernel), fence ? 0 : 12);
    }
}

TEST_F(Scopes, GridBarrierNeedsAllClustersAtOnce) {
  bench.launch.grid.x = 3;
  const auto kernel = [&] {
    if (tid() != 0) return;
    store<uint32_t>(10, &data[size_t(ctaid())], 1);
    add(11, &flags[0], 1, kAcqRel, kGpu);
    while (sim_load_ordered(12, &flags[0], 4, kAcquire, kGpu) < 3) {
    }
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(load<uint32_t>(13, &data[i]), 1u);
  };
  bench.options.residency = Residency::all;
  EXPECT_EQ(found_in(kernel), 0);
  bench.options.residency = Residency::one_cluster;
  EXPECT_EQ(late(kernel),
            "livelock: all threads that can run wait in loops, and nothing changes\n"
            "  CTA (0,0,0) thread 0 (warp 0, lane 0): ld in a loop in line at k.cpp:12, in a loop");
}

// Two CTAs that write one place race, also if the simulator runs one after the other.
TEST_F(Scopes, TilesOfTwoCtasThatOverlap) {
  bench.launch.grid.x = 2;
  EXPECT_EQ(late([&] { store<uint32_t>(10, &data[size_t(ctaid() * 31 + tid())], 1); }),
            "race: write after write, data + 0x7c (global memory)\n"
            "  first, writes: st in line at k.cpp:10, by CTA (0,0,0) thread 31 (warp 0, lane 31)\n"
            "  second, writes: st in line at k.cpp:10, by CTA (1,0,0) thread 0 (warp 0, lane 0)\n"
            "  nothing orders the first before the second");
  EXPECT_EQ(late([&] { store<uint32_t>(10, &data[size_t(ctaid() * 32 + tid())], 1); }), "");
}

// A remote arrival of .cta scope orders reads before later writes, but does not make its thread's writes visible.
TEST_F(Scopes, RemoteArrivals) {
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  const auto kernel = [&](int release, int acquire, bool data_is_written) {
    if (tid() == 0 && cta_rank() == 0) {
      sim_mbarrier_init(1, shared(bar), 1);
      sim_fence_mbarrier_init(1);
    }
    cluster_sync(2);
    if (tid() == 0 && cta_rank() == 1) {
      void* remote = sim_mapa(10, shared(tile), 0);
      if (data_is_written)
        store<uint32_t>(10, remote, 7);
      else
        load<uint32_t>(10, remote);
      sim_mbarrier_arrive(11, sim_mapa(11, shared(bar), 0), 1, kRelease, release);
    } else if (tid() == 0) {
      sim_mbarrier_wait_parity(20, shared(bar), 0, kAcquire, acquire);
      if (data_is_written)
        load<uint32_t>(21, shared(tile));
      else
        store<uint32_t>(21, shared(tile), 8);
    }
    cluster_sync(30);
  };
  EXPECT_EQ(found_in([&] { kernel(kInCluster, kInCluster, true); }), 0);
  for (const int scope : {kCta, kInCluster}) EXPECT_EQ(found_in([&] { kernel(scope, kCta, false); }), 0);
  for (const auto& [release, acquire] : {std::pair{kCta, kInCluster}, {kInCluster, kCta}, {kCta, kCta}})
    EXPECT_EQ(late([&, release = release, acquire = acquire] { kernel(release, acquire, true); }),
              "scope too small: read after write, tile (shared + 0x0 of CTA (0,0,0))\n"
              "  first, writes: st in line at k.cpp:10, by CTA (1,0,0) thread 0 (warp 0, lane 0)\n"
              "  second, reads: ld in line at k.cpp:21, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
              "  they are ordered by a release or acquire whose scope does not reach from one thread to the other");
}

TEST_F(Scopes, ClusterThatDoesNotSyncAfterItsInit) {
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  EXPECT_EQ(
      late([&] {
        if (tid() == 0 && cta_rank() == 0) {
          sim_mbarrier_init(1, shared(bar), 1);
          sim_fence_mbarrier_init(1);
        }
        if (tid() == 0 && cta_rank() == 1)
          sim_mbarrier_arrive(11, sim_mapa(11, shared(bar), 0), 1, kRelease, kInCluster);
        cluster_sync(30);
      }),
      "mbarrier used before its init: nothing orders the use after the init, bar (shared + 0x100 of CTA (0,0,0))\n"
      "  first, writes: mbarrier.init in line at k.cpp:1, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, writes: mbarrier.arrive in line at k.cpp:11, by CTA (1,0,0) thread 0 (warp 0, lane 0)");
}

TEST_F(Scopes, CtaThatMayNotHaveStarted) {
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  EXPECT_EQ(late([&] {
              if (tid() == 0 && cta_rank() == 1) store<uint32_t>(10, sim_mapa(10, shared(tile), 0), 7);
              cluster_sync(30);
            }),
            "CTA may not have started: nothing orders the access after the start of CTA (0,0,0), whose shared memory "
            "it is; a cluster barrier at "
            "the beginning does\n"
            "  in st in line at k.cpp:10, by CTA (1,0,0) thread 0 (warp 0, lane 0)");
}

TEST_F(Scopes, CtaThatEndsTooEarly) {
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  // Nothing orders the end of CTA 0 after the load from its memory; in this schedule it happens to end later.
  const std::string text = late([&] {
    cluster_sync(1);
    if (tid() == 0 && cta_rank() == 1) load<uint32_t>(10, sim_mapa(10, shared(tile), 0));
    if (cta_rank() == 0)
      for (int i = 0; i < 50; ++i) sim_nanosleep(11, 1);
  });
  EXPECT_EQ(text,
            "CTA exits too early: CTA (0,0,0) thread 31 (warp 0, lane 31) is the last of its CTA to end, and no thread "
            "of it has waited for a load "
            "from its shared memory\n"
            "  first, reads: ld in line at k.cpp:10, by CTA (1,0,0) thread 0 (warp 0, lane 0)");
  EXPECT_EQ(late([&] {
              cluster_sync(1);
              if (tid() == 0 && cta_rank() == 1) {
                for (int i = 0; i < 50; ++i) sim_nanosleep(11, 1);
                load<uint32_t>(10, sim_mapa(10, shared(tile), 0));
              }
            }),
            "CTA exits too early: the CTA whose shared memory this is has ended, tile (shared + 0x0 of CTA (0,0,0))\n"
            "  in ld in line at k.cpp:10, by CTA (1,0,0) thread 0 (warp 0, lane 0)");
}

TEST_F(Scopes, DependentLaunches) {
  std::ranges::fill(data, 0);
  const std::function<void()> first = [&] {
    store<uint32_t>(10, &data[size_t(tid())], uint32_t(tid()));
    sim_griddepcontrol_launch_dependents(11);
  };
  bool waits = true;
  const std::function<void()> second = [&] {
    if (waits) sim_griddepcontrol_wait(20);
    EXPECT_EQ(load<uint32_t>(21, &data[size_t(tid())]), uint32_t(tid()));
  };
  for (const bool dependent : {false, true})
    for (const bool wait : {false, true}) {
      waits = wait;
      std::vector<Launch> stream{bench.complete(first), bench.complete(second)};
      stream[1].programmatic_dependent = dependent;
      LaunchOptions options;
      options.detect_races = true;
      const auto result = Bench::simulator().run(stream, options);
      ASSERT_TRUE(result.ok());
      EXPECT_EQ(result->text(),
                dependent && !wait
                    ? "race: read after write, data + 0x0 (global memory)\n"
                      "  first, writes: st in line at k.cpp:10, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
                      "  second, reads: ld in line at k.cpp:21, by launch 1 CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
                      "  nothing orders the first before the second"
                    : "");
    }
}

// Waiting for the launch before is waiting for those before it only if that launch has waited too.
TEST_F(Scopes, DependenceIsNotTransitiveWithoutAWait) {
  const std::function<void()> first = [&] { store<uint32_t>(10, &data[size_t(tid())], 1); };
  bool middle_waits = true;
  const std::function<void()> middle = [&] {
    if (middle_waits) sim_griddepcontrol_wait(20);
  };
  const std::function<void()> last = [&] {
    sim_griddepcontrol_wait(30);
    load<uint32_t>(31, &data[size_t(tid())]);
  };
  for (const bool waits : {true, false}) {
    middle_waits = waits;
    std::vector<Launch> stream{bench.complete(first), bench.complete(middle), bench.complete(last)};
    stream[1].programmatic_dependent = stream[2].programmatic_dependent = true;
    LaunchOptions options;
    options.detect_races = true;
    const auto result = Bench::simulator().run(stream, options);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->ok(), waits) << result->text();
  }
}

TEST_F(Scopes, BoundsOfMemory) {
  std::vector<uint32_t> constant(4);
  bench.buffer("constant", constant, false);
  const auto thread_0 = [&](auto action) {
    return late([&] {
      if (tid() == 0) action();
    });
  };
  const std::string in_st = "\n  in st in line at k.cpp:10, by CTA (0,0,0) thread 0 (warp 0, lane 0)";
  EXPECT_EQ(thread_0([&] { sim_store(10, data.data() + 64, 4); }),
            "out of bounds: 4 bytes, 0 bytes behind the end of data" + in_st);
  EXPECT_EQ(thread_0([&] { sim_store(10, data.data() + 63, 16); }),
            "out of bounds: 16 bytes at data + 0xfc, which has 0x100 bytes" + in_st);
  EXPECT_EQ(thread_0([&] { sim_store(10, constant.data() + 1, 4); }),
            "write to read-only memory: constant + 0x4 (global memory)" + in_st);
  EXPECT_EQ(thread_0([&] { sim_store(10, nullptr, 4); }),
            "out of bounds: 4 bytes at an address that is in no buffer and no shared memory of the cluster" + in_st);
  EXPECT_EQ(thread_0([&] { sim_store(10, shared(264), 4); }),
            "out of bounds: 4 bytes at shared + 0x108, which has 0x108 bytes" + in_st);
  EXPECT_EQ(thread_0([&] { sim_store(10, sim_mapa(10, shared(0), 1), 4); }),
            "out of bounds: 4 bytes at an address that is in no buffer and no shared memory of the cluster" + in_st);
  EXPECT_EQ(thread_0([&] { sim_store(10, shared(6), 8); }),
            "misaligned: the address is not a multiple of 8, tile + 0x6 (shared + 0x6 of CTA (0,0,0))" + in_st);
  EXPECT_EQ(thread_0([&] { sim_store(10, reinterpret_cast<char*>(data.data()) + 2, 4); }),
            "misaligned: the address is not a multiple of 4, data + 0x2 (global memory)" + in_st);
  EXPECT_EQ(thread_0([&] {
              int local = 0;
              sim_store(10, &local, 4);
            }),
            "");
  EXPECT_EQ(
      thread_0([&] { sim_trap(10); }),
      "trap: the kernel has stopped itself\n  in trap in line at k.cpp:10, by CTA (0,0,0) thread 0 (warp 0, lane 0)");
}

}  // namespace
}  // namespace gemmsmith::simulator
