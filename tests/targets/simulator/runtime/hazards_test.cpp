// Races and deadlocks of asynchronous copies, wgmma and mbarriers, one test for each class. Each has a right variant, which no schedule may
// complain about, and a wrong one, which every schedule must find; the text of the late schedule is compared whole.
#include "targets/simulator/runtime/bench.h"

namespace gemmsmith::simulator {
namespace {

// Two warps; thread 0 of the first and thread 32 of the second play the roles. Tiles are 16 rows of 64 bf16.
class Hazards : public testing::Test {
 protected:
  Hazards() {
    bench.launch.block.x = 64;
    data.assign(16 * 64, 0x3f80);
    bench.buffer("in", data, false);
    bench.buffer("out", out);
    map = tensor_map(
        {.base = data.data(), .extents = {64, 16}, .strides_bytes = {128}, .box = {64, 16}, .swizzle_bytes = 128});
    out_map = tensor_map(
        {.base = out.data(), .extents = {64, 16}, .strides_bytes = {128}, .box = {64, 16}, .swizzle_bytes = 128});
    for (int i = 0; i < 4; ++i) tile[i] = bench.region("tile " + std::to_string(i), kBytes, 1024);
    for (int i = 0; i < 4; ++i) bar[i] = bench.region("bar[" + std::to_string(i) + "]", 8);
    for (int line = 0; line < 60; ++line)
      bench.site(line < 10 ? "setup" : line < 20 ? "copy" : line < 30 ? "wait" : line < 40 ? "use" : "end", line);
  }
  // Initialises the barriers and lets every thread of the cluster know.
  void setup(std::initializer_list<int> counts, bool cluster = false) const {
    if (tid() == 0) {
      int i = 0;
      for (const int count : counts) sim_mbarrier_init(1, shared(bar[i++]), count);
      sim_fence_mbarrier_init(2);
    }
    if (cluster)
      cluster_sync(3);
    else
      sim_barrier_sync(3, 0, -1);
  }
  static void cluster_sync(int site, int order = kRelease) {
    sim_cluster_arrive(site, order);
    sim_cluster_wait(site);
  }
  void arrive(int site, int b, int count = 1) const {
    sim_mbarrier_arrive(site, shared(bar[b]), count, kRelease, kCta);
  }
  void expect(int site, int b, int bytes) const {
    sim_mbarrier_arrive_expect_tx(site, shared(bar[b]), bytes, kRelease, kCta);
  }
  void wait(int site, int b, int parity = 0) const {
    sim_mbarrier_wait_parity(site, shared(bar[b]), parity, kAcquire, kCta);
  }
  void tma(int site, int t, int b, int multicast = -1) const {
    sim_tma_load(site, shared(tile[t]), &map, shared(bar[b]), 2, 0, 0, 0, 0, 0, multicast, 0);
  }
  void read(int site, int t) const { load<uint32_t>(site, shared(tile[t])); }
  void write(int site, int t) const { store<uint32_t>(site, shared(tile[t]), 7); }
  // The same kernel right and wrong.
  void check(const std::function<void(bool wrong)>& kernel, const std::string& text) {
    EXPECT_EQ(bench.complaints([&] { kernel(false); }), "");
    EXPECT_EQ(bench.findings([&] { kernel(true); }), text);
    EXPECT_EQ(bench.found_in([&] { kernel(true); }), 12);
  }
  static constexpr int kBytes = 16 * 128;
  Bench bench;
  std::vector<uint16_t> data, out = std::vector<uint16_t>(16 * 64);
  TensorMap map, out_map;
  uint32_t tile[4], bar[4];
};

TEST_F(Hazards, ReadBeforeTheWaitForATmaLoad) {
  check(
      [&](bool wrong) {
        setup({1});
        if (tid() != 0) return;
        expect(10, 0, kBytes);
        tma(11, 0, 0);
        if (!wrong) wait(20, 0);
        read(30, 0);
        if (wrong) wait(21, 0);
      },
      "race: read after write, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
      "  first, writes: TMA load in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: ld in use at k.cpp:30, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

TEST_F(Hazards, OneOfTwoBarriersIsNotWaitedFor) {
  check(
      [&](bool wrong) {
        setup({1, 1});
        if (tid() != 0) return;
        for (const int i : {0, 1}) {
          expect(10 + i, i, kBytes);
          tma(12 + i, i, i);
        }
        wait(20, 0);
        if (!wrong) wait(21, 1);
        read(30, 0);
        read(31, 1);
        if (wrong) wait(22, 1);
      },
      "race: read after write, tile 1 (shared + 0x800 of CTA (0,0,0))\n"
      "  first, writes: TMA load in copy at k.cpp:13, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: ld in use at k.cpp:31, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

TEST_F(Hazards, TwoCopiesOnOneBarrierReadBeforeItsWait) {
  check(
      [&](bool wrong) {
        setup({1});
        if (tid() != 0) return;
        expect(10, 0, 2 * kBytes);
        tma(11, 0, 0);
        tma(12, 1, 0);
        if (!wrong) wait(20, 0);
        read(30, 1);
        if (wrong) wait(20, 0);
      },
      "race: read after write, tile 1 (shared + 0x800 of CTA (0,0,0))\n"
      "  first, writes: TMA load in copy at k.cpp:12, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: ld in use at k.cpp:30, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

// Waiting for the later of two loads says nothing of the earlier: they complete in any order.
TEST_F(Hazards, WaitTellsOnlyOfItsOwnBarrier) {
  check(
      [&](bool wrong) {
        setup({1, 1});
        if (tid() != 0) return;
        for (const int i : {0, 1}) {
          expect(10, i, kBytes);
          tma(11 + i, i, i);
        }
        wait(20, 1);
        read(30, wrong ? 0 : 1);
        wait(21, 0);
      },
      "race: read after write, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
      "  first, writes: TMA load in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: ld in use at k.cpp:30, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

TEST_F(Hazards, TmaLoadOverOneThatIsInFlight) {
  check(
      [&](bool wrong) {
        setup({1, 1});
        if (tid() != 0) return;
        expect(10, 0, kBytes);
        tma(11, 0, 0);
        if (!wrong) wait(20, 0);
        expect(12, 1, kBytes);
        tma(13, 0, 1);
        wait(21, 1);
        if (wrong) wait(22, 0);
      },
      "race: write after write, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
      "  first, writes: TMA load in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, writes: TMA load in copy at k.cpp:13, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

TEST_F(Hazards, WrongNumberOfBytesExpected) {
  for (const int off : {-16, 16})
    check(
        [&](bool wrong) {
          setup({1});
          if (tid() != 0) return;
          expect(10, 0, kBytes + (wrong ? off : 0));
          tma(11, 0, 0);
          wait(20, 0);
          read(30, 0);
        },
        "deadlock: no thread can run, and no asynchronous operation is in flight\n"
        "  CTA (0,0,0) thread 0 (warp 0, lane 0): mbarrier.try_wait in wait at k.cpp:20, waits for bar[0], parity 0; "
        "it is in phase 0, 0 of 1 "
        "arrivals pending, tx-count " +
            std::to_string(off) +
            "\n"
            "    earlier: init with count 1 in setup at k.cpp:1, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 0, 1 "
            "pending, tx-count 0\n"
            "    earlier: arrive and expect " +
            std::to_string(kBytes + off) +
            " bytes in copy at k.cpp:10, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 0, 0 pending, tx-count " +
            std::to_string(kBytes + off) +
            "\n"
            "    earlier: complete 2048 bytes in copy at k.cpp:11, CTA (0,0,0) thread 0 (warp 0, lane 0) -> phase 0, 0 "
            "pending, tx-count " +
            std::to_string(off));
}

TEST_F(Hazards, MulticastReadBeforeItsWait) {
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  check(
      [&](bool wrong) {
        setup({1}, true);
        if (tid() == 0) {
          expect(10, 0, kBytes);
          if (cta_rank() == 0) tma(11, 0, 0, 3);
          if (!wrong) wait(20, 0);
          if (!wrong || cta_rank() == 1) read(30, 0);
          if (wrong) wait(21, 0);
        }
        cluster_sync(40);
      },
      "race: read after write, tile 0 (shared + 0x0 of CTA (1,0,0))\n"
      "  first, writes: TMA load in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: ld in use at k.cpp:30, by CTA (1,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

TEST_F(Hazards, StoreToTheTargetOfAMulticast) {
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  check(
      [&](bool wrong) {
        setup({1}, true);
        if (tid() == 0) {
          expect(10, 0, kBytes);
          if (cta_rank() == 0) tma(11, 0, 0, 3);
        }
        cluster_sync(12);
        if (tid() == 0 && wrong && cta_rank() == 1) write(31, 0);
        if (tid() == 0) wait(20, 0);
        if (tid() == 0 && !wrong) write(31, 0);
        cluster_sync(40);
      },
      "race: write after write, tile 0 (shared + 0x0 of CTA (1,0,0))\n"
      "  first, writes: TMA load in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, writes: st in use at k.cpp:31, by CTA (1,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

// A barrier orders what was before it. A read behind it races with the next multicast.
TEST_F(Hazards, ReadBehindTheBarrierThatFreesATile) {
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  check(
      [&](bool wrong) {
        setup({1}, true);
        if (tid() == 0 && cta_rank() == 1) write(30, 0);
        if (tid() == 0 && cta_rank() == 1) sim_fence_proxy_async(30, int(ProxySpace::shared));
        if (!wrong && tid() == 0 && cta_rank() == 1) read(31, 0);
        cluster_sync(13);
        if (wrong && tid() == 0 && cta_rank() == 1) read(31, 0);
        if (tid() == 0) {
          expect(10, 0, kBytes);
          if (cta_rank() == 0) tma(11, 0, 0, 3);
          wait(20, 0);
        }
        cluster_sync(40);
      },
      "race: read after write, tile 0 (shared + 0x0 of CTA (1,0,0))\n"
      "  first, writes: TMA load in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: ld in use at k.cpp:31, by CTA (1,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

TEST_F(Hazards, MulticastAgainIntoTheSameTile) {
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  const auto kernel = [&] {
    setup({1}, true);
    for (int phase = 0; phase < 2; ++phase) {
      if (tid() == 0) expect(10, 0, kBytes);
      cluster_sync(13);
      if (tid() == 0 && cta_rank() == 0) tma(11, 0, 0, 3);
      if (tid() == 0) wait(20, 0, phase);
      if (tid() == 0) read(30, 0);
      cluster_sync(14);
    }
  };
  EXPECT_EQ(bench.complaints(kernel), "");
}

TEST_F(Hazards, ClusterBarrierThatOrdersNothing) {
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  check(
      [&](bool wrong) {
        cluster_sync(1);
        if (tid() == 0) write(30, 0);
        cluster_sync(13, wrong ? kRelaxed : kRelease);
        if (tid() == 0) load<uint32_t>(31, sim_mapa(31, shared(tile[0]), 1 - cta_rank()));
        cluster_sync(40);
      },
      "race: read after write, tile 0 (shared + 0x0 of CTA (1,0,0))\n"
      "  first, writes: st in use at k.cpp:30, by CTA (1,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: ld in use at k.cpp:31, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

TEST_F(Hazards, RemoteReadsAndStoresOfAWholeCluster) {
  bench.launch.grid.x = bench.launch.cluster.x = 2;
  for (const bool scatter : {false, true}) {
    const auto kernel = [&] {
      cluster_sync(1);
      const int t = tid(), peer = 1 - cta_rank();
      char* mine = shared(tile[0]) + 4 * t;
      store<int>(30, scatter ? sim_mapa(30, mine, peer) : mine, 100 * cta_rank() + t);
      cluster_sync(13);
      const int value = load<int>(31, scatter ? mine : sim_mapa(31, mine, peer));
      EXPECT_EQ(value, 100 * peer + t);
      cluster_sync(40);
    };
    EXPECT_EQ(bench.complaints(kernel), "");
  }
}

TEST_F(Hazards, CpAsyncOverOneThatIsInFlight) {
  check(
      [&](bool wrong) {
        if (tid() != 0) return;
        for (const int i : {0, 1}) {
          sim_cp_async(10 + i, shared(tile[i]), data.data(), 16, 16);
          sim_cp_async_commit_group(10 + i);
        }
        sim_cp_async_wait_group(20, wrong ? 2 : 1);
        sim_cp_async(12, shared(tile[0]), data.data(), 16, 16);
        sim_cp_async_commit_group(12);
        sim_cp_async_wait_group(21, 0);
      },
      "race: write after write, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
      "  first, writes: cp.async in copy at k.cpp:10, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, writes: cp.async in copy at k.cpp:12, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

// Waiting for its own copies is not enough for others: the barrier must come after the wait, and cover the right group.
TEST_F(Hazards, CpAsyncOfAnotherThreadInALaterGroup) {
  check(
      [&](bool wrong) {
        setup({1});
        if (tid() == 0) {
          for (const int i : {0, 1}) {
            sim_cp_async(10 + i, shared(tile[i]), data.data(), 16, 16);
            sim_cp_async_commit_group(10 + i);
          }
          sim_cp_async_wait_group(20, 1);
          arrive(12, 0);
          sim_cp_async_wait_group(22, 0);
        } else if (tid() == 32) {
          wait(21, 0);
          read(30, wrong ? 1 : 0);
        }
      },
      "race: read after write, tile 1 (shared + 0x800 of CTA (0,0,0))\n"
      "  first, writes: cp.async in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: ld in use at k.cpp:30, by CTA (0,0,0) thread 32 (warp 1, lane 0)\n"
      "  nothing orders the first before the second");
}

TEST_F(Hazards, CpAsyncBuffersOfAnotherPipeline) {
  check(
      [&](bool wrong) {
        if (tid() % 32 != 0) return;
        const int mine = tid() / 32 * 2;
        sim_cp_async(10, shared(tile[mine]), data.data(), 16, 16);
        sim_cp_async_commit_group(10);
        for (int i = 1; i < 6; ++i) {
          if (i < 5) {
            sim_cp_async(11, shared(tile[mine + i % 2]), data.data(), 16, 16);
            sim_cp_async_commit_group(11);
          }
          sim_cp_async_wait_group(20, i < 5 ? 1 : 0);
          read(30, (wrong ? 0 : mine) + (i - 1) % 2);
        }
      },
      "race: read after write, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
      "  first, writes: cp.async in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: ld in use at k.cpp:30, by CTA (0,0,0) thread 32 (warp 1, lane 0)\n"
      "  nothing orders the first before the second\n"
      "\n"
      "race: write after read, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
      "  first, reads: ld in use at k.cpp:30, by CTA (0,0,0) thread 32 (warp 1, lane 0)\n"
      "  second, writes: cp.async in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

// The arrival says that the copies are complete without a wait by the thread that issued them.
TEST_F(Hazards, CpAsyncWithAnArrivalBehindIt) {
  for (const int noinc : {0, 1}) {
    const auto kernel = [&] {
      setup({1});
      if (tid() == 0) {
        sim_cp_async(10, shared(tile[0]), data.data(), 16, 16);
        sim_cp_async_mbarrier_arrive(11, shared(bar[0]), noinc);
        if (!noinc) arrive(12, 0);
      } else if (tid() == 32) {
        wait(20, 0);
        EXPECT_EQ(load<uint32_t>(30, shared(tile[0])), 0x3f803f80u);
      }
    };
    EXPECT_EQ(bench.complaints(kernel), "");
  }
}

TEST_F(Hazards, StoreOverTheSourceOfATmaStore) {
  check(
      [&](bool wrong) {
        if (tid() != 0) return;
        for (const int i : {0, 1}) {
          sim_tma_store(10 + i, &out_map, shared(tile[i]), 2, 0, 0, 0, 0, 0);
          sim_bulk_commit_group(12);
          if (i == 0) sim_bulk_wait_group(13, 0, 0);  // both write the same tile of the output
        }
        sim_bulk_wait_group(20, 1, 1);
        write(30, 0);
        if (!wrong) sim_bulk_wait_group(21, 0, 1);
        write(31, 1);
        if (wrong) sim_bulk_wait_group(22, 0, 1);
      },
      "race: write after read, tile 1 (shared + 0x800 of CTA (0,0,0))\n"
      "  first, reads: TMA store in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, writes: st in use at k.cpp:31, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

TEST_F(Hazards, TwoTmaStoresToOneTile) {
  check(
      [&](bool wrong) {
        if (tid() != 0) return;
        for (const int i : {0, 1}) {
          sim_tma_store(10 + i, &out_map, shared(tile[i]), 2, 0, 0, 0, 0, 0);
          sim_bulk_commit_group(12);
          sim_bulk_wait_group(20, 0, wrong ? 1 : 0);  // .read: the source is free, the output not yet written
        }
      },
      "race: write after write, out + 0x0 (global memory)\n"
      "  first, writes: TMA store in copy at k.cpp:10, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, writes: TMA store in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

enum class Fence { none, producer, producer_after_arrive, consumer };

TEST_F(Hazards, FenceBetweenAStoreAndATmaStoreOfAnotherWarp) {
  const auto kernel = [&](Fence fence) {
    setup({1});
    if (tid() == 0) {
      write(30, 0);
      if (fence == Fence::producer) sim_fence_proxy_async(31, int(ProxySpace::shared));
      arrive(32, 0);
      if (fence == Fence::producer_after_arrive) sim_fence_proxy_async(33, int(ProxySpace::shared));
    } else if (tid() == 32) {
      wait(20, 0);
      if (fence == Fence::consumer) sim_fence_proxy_async(21, int(ProxySpace::shared));
      sim_tma_store(10, &out_map, shared(tile[0]), 2, 0, 0, 0, 0, 0);
      sim_bulk_commit_group(11);
      sim_bulk_wait_group(12, 0, 0);
    }
  };
  for (const Fence right : {Fence::producer, Fence::consumer}) EXPECT_EQ(bench.complaints([&] { kernel(right); }), "");
  for (const Fence wrong : {Fence::none, Fence::producer_after_arrive}) {
    EXPECT_EQ(bench.findings([&] { kernel(wrong); }),
              "missing fence.proxy.async: read after write, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
              "  first, writes: st in use at k.cpp:30, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
              "  second, reads: TMA store in copy at k.cpp:10, issued by CTA (0,0,0) thread 32 (warp 1, lane 0)\n"
              "  they are ordered, but no fence.proxy.async lies between: the async proxy may not see the first");
    EXPECT_EQ(bench.found_in([&] { kernel(wrong); }), 12);
  }
}

// A fence limited to shared memory does not cover global memory.
TEST_F(Hazards, FenceOfTheWrongSpace) {
  check(
      [&](bool wrong) {
        setup({1});
        if (tid() != 0) return;
        store<uint32_t>(30, out.data(), 1);
        sim_fence_proxy_async(31, int(wrong ? ProxySpace::shared : ProxySpace::global));
        expect(10, 0, kBytes);
        sim_tma_load(11, shared(tile[0]), &out_map, shared(bar[0]), 2, 0, 0, 0, 0, 0, -1, 0);
        wait(20, 0);
      },
      "missing fence.proxy.async: read after write, out + 0x0 (global memory)\n"
      "  first, writes: st in use at k.cpp:30, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: TMA load in copy at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  they are ordered, but no fence.proxy.async lies between: the async proxy may not see the first");
}

TEST_F(Hazards, PartsOfOneTile) {
  for (const bool overlap : {false, true}) {
    const auto kernel = [&](bool wrong) {
      setup({1});
      if (tid() == 0) {
        for (int i = 0; i < (overlap ? 16 : 8); ++i) store<uint64_t>(30, shared(tile[0]) + 8 * i, 1);
        arrive(31, 0);
      } else if (tid() == 32) {
        if (!wrong) wait(20, 0);
        load<uint64_t>(32, shared(tile[0]) + 64);
        if (wrong) wait(21, 0);
      }
    };
    EXPECT_EQ(bench.complaints([&] { kernel(false); }), "");
    EXPECT_EQ(bench.findings([&] { kernel(true); }),
              !overlap ? ""
                       : "race: read after write, tile 0 + 0x40 (shared + 0x40 of CTA (0,0,0))\n"
                         "  first, writes: st in use at k.cpp:30, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
                         "  second, reads: ld in use at k.cpp:32, by CTA (0,0,0) thread 32 (warp 1, lane 0)\n"
                         "  nothing orders the first before the second");
  }
}

// Two halves of a word are two places.
TEST_F(Hazards, HalvesOfAWordDoNotRace) {
  const auto kernel = [&](int stride) {
    if (tid() < 32) store<uint16_t>(30, shared(tile[0]) + stride * tid(), 1);
  };
  EXPECT_EQ(bench.complaints([&] { kernel(2); }), "");
  EXPECT_EQ(bench.findings([&] { kernel(0); }),
            "race: write after write, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
            "  first, writes: st in use at k.cpp:30, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
            "  second, writes: st in use at k.cpp:30, by CTA (0,0,0) thread 1 (warp 0, lane 1)\n"
            "  nothing orders the first before the second");
}

TEST_F(Hazards, SharedMemoryBeginsAsNan) {
  float value = 0;
  EXPECT_EQ(bench.complaints([&] {
    if (tid() == 0) value = load<float>(30, shared(tile[0]));
  }),
            "");
  EXPECT_NE(value, value);
}

}  // namespace
}  // namespace gemmsmith::simulator
