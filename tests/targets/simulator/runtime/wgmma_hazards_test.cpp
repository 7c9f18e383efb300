// Operands of wgmma that are overwritten while it may still read them, or that it may read too early.
#include <cstring>

#include "targets/simulator/runtime/bench.h"

namespace gemmsmith::simulator {
namespace {

// A warpgroup and one more warp. Tiles of 64 x 64 bf16, which serve as A and B.
class WgmmaHazards : public testing::Test {
 protected:
  WgmmaHazards() {
    bench.launch.block.x = 160;
    for (int i = 0; i < 3; ++i) tile[i] = bench.region("tile " + std::to_string(i), kBytes, 1024);
    for (int i = 0; i < 3; ++i) bar[i] = bench.region("bar[" + std::to_string(i) + "]", 8);
    for (int line = 0; line < 60; ++line) bench.site("line", line);
    bench.blocks = {{.n = 64, .a_m_steps = {0}, .a_k_steps = {0, 32, 64, 96}, .b_k_steps = {0, 32, 64, 96}}};
    bench.buffer("in", data, false);
    map = tensor_map(
        {.base = data.data(), .extents = {64, 64}, .strides_bytes = {128}, .box = {64, 64}, .swizzle_bytes = 128});
  }
  void init() const {
    if (tid() == 0) {
      for (const uint32_t b : bar) sim_mbarrier_init(1, shared(b), 1);
      sim_fence_mbarrier_init(1);
    }
    sim_barrier_sync(2, 0, -1);
  }
  void fill(int t) const {  // by the warpgroup
    for (int i = 0; i < 64; i += 16) sim_store(3, shared(tile[t]) + tid() * 64 + i, 16);
    std::memset(shared(tile[t]) + tid() * 64, 0, 64);
  }
  void mma(int site, int a, int b, float (&acc)[32]) const {
    sim_wgmma_block(site, 0, acc, nullptr, int64_t(descriptor(shared(tile[a]), 128, 16, 1024)),
                    int64_t(descriptor(shared(tile[b]), 128, 16, 1024)), 0);
    sim_wgmma_commit_group(site);
  }
  void tma(int site, int t, int b) const {
    sim_mbarrier_arrive_expect_tx(site, shared(bar[b]), kBytes, kRelease, kCta);
    sim_tma_load(site, shared(tile[t]), &map, shared(bar[b]), 2, 0, 0, 0, 0, 0, -1, 0);
  }
  void wait(int site, int b) const { sim_mbarrier_wait_parity(site, shared(bar[b]), 0, kAcquire, kCta); }
  // Race detection finds it in each of 12 schedules; the late one's first finding is `text`.
  void check(const std::function<void(bool)>& kernel, const std::string& text) {
    EXPECT_EQ(bench.complaints([&] { kernel(false); }), "");
    const std::string all = bench.findings([&] { kernel(true); });
    EXPECT_EQ(all.substr(0, all.find("\n\n")), text);
    EXPECT_EQ(bench.found_in([&] { kernel(true); }), 12);
  }
  static constexpr int kBytes = 64 * 128;
  Bench bench;
  std::vector<uint16_t> data = std::vector<uint16_t>(64 * 64, 0x3f80);
  TensorMap map;
  uint32_t tile[3], bar[3];
};

TEST_F(WgmmaHazards, StoreOverAnOperandInFlight) {
  check(
      [&](bool wrong) {
        if (tid() >= 128) return;
        fill(0);
        sim_fence_proxy_async(4, 0);
        sim_barrier_sync(5, 1, 128);
        float acc[32];
        sim_wgmma_fence(6);
        mma(10, 0, 0, acc);
        if (!wrong) sim_wgmma_wait_group(11, 0, acc, 32);
        sim_barrier_sync(12, 1, 128);
        if (tid() == 7) store<int>(13, shared(tile[0]) + 256, 1);
        if (wrong) sim_wgmma_wait_group(14, 0, acc, 32);
      },
      "race: write after read, tile 0 + 0x100 (shared + 0x100 of CTA (0,0,0))\n"
      "  first, reads: wgmma in line at k.cpp:10, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, writes: st in line at k.cpp:13, by CTA (0,0,0) thread 7 (warp 0, lane 7)\n"
      "  nothing orders the first before the second");
}

// Two in flight, one waited for: the tile of the other is still read. Another warp is told through an mbarrier.
TEST_F(WgmmaHazards, WaitThatLeavesOneInFlight) {
  check(
      [&](bool wrong) {
        init();
        if (tid() >= 128) {
          if (tid() != 128) return;
          wait(20, 0);
          store<int>(21, shared(tile[wrong ? 1 : 0]), 1);
          return;
        }
        fill(0);
        fill(1);
        sim_fence_proxy_async(4, 0);
        sim_barrier_sync(5, 1, 128);
        float acc[2][32];
        sim_wgmma_fence(6);
        mma(10, 0, 0, acc[0]);
        mma(11, 1, 1, acc[1]);
        sim_wgmma_wait_group(12, 1, acc[0], 32);
        sim_barrier_sync(13, 1, 128);
        if (tid() == 0) sim_mbarrier_arrive(14, shared(bar[0]), 1, kRelease, kCta);
        sim_wgmma_wait_group(15, 0, acc[1], 32);
      },
      "race: write after read, tile 1 (shared + 0x2000 of CTA (0,0,0))\n"
      "  first, reads: wgmma in line at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, writes: st in line at k.cpp:21, by CTA (0,0,0) thread 128 (warp 4, lane 0)\n"
      "  nothing orders the first before the second");
}

// Loads one block ahead with one wgmma in flight need three buffers.
TEST_F(WgmmaHazards, TooFewBuffersForTheWgmmaInFlight) {
  check(
      [&](bool wrong) {
        const int buffers = wrong ? 2 : 3;
        init();
        if (tid() >= 128) return;
        float acc[32];
        if (tid() == 0) tma(10, 0, 0);
        for (int i = 0; i < 3; ++i) {
          if (tid() == 0 && i < 2) tma(11, (i + 1) % buffers, i + 1);
          wait(12, i);
          sim_wgmma_fence(13);
          mma(14, i % buffers, i % buffers, acc);
          sim_wgmma_wait_group(15, 1, nullptr, 0);
          sim_barrier_sync(16, 1, 128);
        }
        sim_wgmma_wait_group(17, 0, acc, 32);
      },
      "race: write after read, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
      "  first, reads: wgmma in line at k.cpp:14, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, writes: TMA load in line at k.cpp:11, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

TEST_F(WgmmaHazards, CpAsyncOverAnOperandInFlight) {
  check(
      [&](bool wrong) {
        if (tid() >= 128) return;
        fill(0);
        sim_fence_proxy_async(4, 0);
        sim_barrier_sync(5, 1, 128);
        float acc[32];
        sim_wgmma_fence(6);
        mma(10, 0, 0, acc);
        if (!wrong) sim_wgmma_wait_group(11, 0, acc, 32);
        if (!wrong) sim_barrier_sync(12, 1, 128);
        if (tid() == 0) sim_cp_async(13, shared(tile[0]), data.data(), 16, 16);
        if (tid() == 0) sim_cp_async_wait_all(14);
        if (wrong) sim_wgmma_wait_group(15, 0, acc, 32);
      },
      "race: write after read, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
      "  first, reads: wgmma in line at k.cpp:10, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, writes: cp.async in line at k.cpp:13, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

// st.shared, then wgmma: order is not enough.
TEST_F(WgmmaHazards, StoreWithoutProxyFence) {
  check(
      [&](bool wrong) {
        if (tid() >= 128) return;
        fill(0);
        if (!wrong) sim_fence_proxy_async(4, int(ProxySpace::shared));
        sim_barrier_sync(5, 1, 128);
        float acc[32];
        sim_wgmma_fence(6);
        mma(10, 0, 0, acc);
        sim_wgmma_wait_group(11, 0, acc, 32);
      },
      "missing fence.proxy.async: read after write, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
      "  first, writes: st in line at k.cpp:3, by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: wgmma in line at k.cpp:10, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  they are ordered, but no fence.proxy.async lies between: the async proxy may not see the first");
}

// One warp of the four has not waited for the copy.
TEST_F(WgmmaHazards, OneWarpDoesNotWaitForTheCopy) {
  check(
      [&](bool wrong) {
        init();
        if (tid() >= 128) return;
        if (tid() == 0) tma(10, 0, 0);
        if (!wrong || tid() / 32 != 2) wait(12, 0);
        float acc[32];
        sim_wgmma_fence(13);
        mma(14, 0, 0, acc);
        sim_wgmma_wait_group(15, 0, acc, 32);
      },
      "race: read after write, tile 0 (shared + 0x0 of CTA (0,0,0))\n"
      "  first, writes: TMA load in line at k.cpp:10, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  second, reads: wgmma in line at k.cpp:14, issued by CTA (0,0,0) thread 0 (warp 0, lane 0)\n"
      "  nothing orders the first before the second");
}

}  // namespace
}  // namespace gemmsmith::simulator
