// A warp-specialized GEMM written with the entries: producer warp, one consumer warpgroup, ring of stages, TMA in and out. The bugs that
// tests put into it are switches.
#pragma once
#include <memory>

#include "support/half.h"
#include "targets/simulator/runtime/bench.h"

namespace gemmsmith::simulator {

struct GemmBugs {
  bool never_release = false;  // the consumer does not arrive on empty
  int expect_off = 0;          // bytes too many
  bool no_full_wait = false;   // the consumer does not wait for full
  bool no_empty_wait = false;
  bool released_early = false;    // before wgmma has finished
  bool no_store_fence = false;    // st.shared, then TMA store without fence.proxy.async
  bool no_store_barrier = false;  // the storing thread does not wait for the other warps
  bool no_store_wait = false;     // no wait_group.read before the staging buffer is used again, nor at the end
  bool no_init_fence = false;
  bool no_init_barrier = false;
  bool no_wgmma_fence = false;
  bool elect_in_divergent_code = false;
};

// D[m,n] = A[m,k] x B[n,k] in bf16, tiles of 64 x n x 64. One CTA takes all tiles, or `ctas` take turns.
struct GemmKernel {
  int m, n, k, tile_n, stages, ctas;
  GemmBugs bugs;
  std::vector<uint16_t> a, b;
  std::vector<float> d;
  Bench bench;
  TensorMap map_a, map_b, map_d;
  std::function<void()> body;

  static constexpr int kTileM = 64, kTileK = 64, kStagingColumns = 32;

  GemmKernel(int m, int n, int k, int tile_n = 64, int stages = 2, int ctas = 1, GemmBugs bugs = {})
      : m(m), n(n), k(k), tile_n(tile_n), stages(stages), ctas(ctas), bugs(bugs) {
    a.resize(size_t(m) * size_t(k));
    b.resize(size_t(n) * size_t(k));
    d.assign(size_t(m) * size_t(n), -1.0f);
    uint32_t state = 1;
    for (auto* operand : {&a, &b})
      for (uint16_t& x : *operand) x = bf16_from_float(float(int(state = state * 1664525u + 1013904223u) >> 28));
    build();
  }
  LaunchResult run() { return bench.run(body); }
  // The largest difference to the product in double precision.
  double error() const {
    double worst = 0;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int x = 0; x < k; ++x)
          sum += double(float_from_bf16(a[size_t(i * k + x)])) * float_from_bf16(b[size_t(j * k + x)]);
        const double difference = std::abs(sum - d[size_t(i * n + j)]);
        if (!(difference <= worst)) worst = difference;
      }
    return worst;
  }

 private:
  void build();
};

inline void GemmKernel::build() {
  const int64_t pitch = int64_t(k) * 2;
  map_a = tensor_map(
      {.base = a.data(), .extents = {k, m}, .strides_bytes = {pitch}, .box = {kTileK, kTileM}, .swizzle_bytes = 128});
  map_b = tensor_map(
      {.base = b.data(), .extents = {k, n}, .strides_bytes = {pitch}, .box = {kTileK, tile_n}, .swizzle_bytes = 128});
  map_d = tensor_map({.base = d.data(),
                      .type = TensorType::f32,
                      .extents = {n, m},
                      .strides_bytes = {int64_t(n) * 4},
                      .box = {kStagingColumns, kTileM}});
  bench.buffer("A", a, false);
  bench.buffer("B", b, false);
  bench.buffer("D", d);
  std::vector<uint32_t> stage_a, stage_b, full, empty;
  for (int s = 0; s < stages; ++s) {
    stage_a.push_back(bench.region("A stage " + std::to_string(s), kTileM * kTileK * 2, 1024));
    stage_b.push_back(bench.region("B stage " + std::to_string(s), uint32_t(tile_n) * kTileK * 2, 1024));
  }
  const uint32_t staging = bench.region("staging", kTileM * kStagingColumns * 4, 1024);
  for (int s = 0; s < stages; ++s) full.push_back(bench.region("full[" + std::to_string(s) + "]", 8));
  for (int s = 0; s < stages; ++s) empty.push_back(bench.region("empty[" + std::to_string(s) + "]", 8));
  bench.blocks.push_back({.n = tile_n, .a_m_steps = {0}, .a_k_steps = {0, 32, 64, 96}, .b_k_steps = {0, 32, 64, 96}});
  bench.launch.grid.x = ctas;
  bench.launch.block.x = 160;
  bench.launch.name = "gemm";
  const int init = bench.site("barriers", 10), fill_wait = bench.site("ring.fill", 20),
            fill = bench.site("ring.fill", 21), take = bench.site("ring.take", 30), mma = bench.site("acc.mma", 31),
            release = bench.site("ring.release", 32), done = bench.site("acc.wait", 33),
            put = bench.site("d.store", 40), out = bench.site("d.copy", 41), reuse = bench.site("d.reuse", 42),
            role = bench.site("roles", 50);
  body = [=, this] {
    const GemmBugs bug = bugs;
    const int thread = tid();
    const int tiles_n = (n + tile_n - 1) / tile_n, tiles = (m + kTileM - 1) / kTileM * tiles_n,
              k_blocks = (k + kTileK - 1) / kTileK;
    if (thread == 0) {
      for (int s = 0; s < stages; ++s) {
        sim_mbarrier_init(init, shared(full[size_t(s)]), 1);
        sim_mbarrier_init(init, shared(empty[size_t(s)]), 128);
      }
      if (!bug.no_init_fence) sim_fence_mbarrier_init(init);
    }
    if (!bug.no_init_barrier) sim_barrier_sync(init, 0, -1);
    int stage = 0, phase = 0;
    const auto advance = [&] {
      if (++stage == stages) stage = 0, phase ^= 1;
    };
    if (thread >= 128) {
      if (bug.elect_in_divergent_code && thread >= 144) return;
      if (!sim_elect(role, -1)) return;
      for (int tile = ctaid(); tile < tiles; tile += ctas)
        for (int kb = 0; kb < k_blocks; ++kb, advance()) {
          char *f = shared(full[size_t(stage)]), *e = shared(empty[size_t(stage)]);
          if (!bug.no_empty_wait) sim_mbarrier_wait_parity(fill_wait, e, phase ^ 1, kAcquire, kCta);
          sim_mbarrier_arrive_expect_tx(fill, f, (kTileM + tile_n) * kTileK * 2 + bug.expect_off, kRelease, kCta);
          sim_tma_load(fill, shared(stage_a[size_t(stage)]), &map_a, f, 2, kb * kTileK, tile / tiles_n * kTileM, 0, 0,
                       0, -1, 0);
          sim_tma_load(fill, shared(stage_b[size_t(stage)]), &map_b, f, 2, kb * kTileK, tile % tiles_n * tile_n, 0, 0,
                       0, -1, 0);
        }
      return;
    }
    float acc[128];
    for (int tile = ctaid(); tile < tiles; tile += ctas) {
      int previous = -1;
      for (int kb = 0; kb < k_blocks; ++kb, advance()) {
        if (!bug.no_full_wait) sim_mbarrier_wait_parity(take, shared(full[size_t(stage)]), phase, kAcquire, kCta);
        if (!bug.no_wgmma_fence) sim_wgmma_fence(mma);
        sim_wgmma_block(mma, 0, acc, nullptr, int64_t(descriptor(shared(stage_a[size_t(stage)]), 128, 16, 1024)),
                        int64_t(descriptor(shared(stage_b[size_t(stage)]), 128, 16, 1024)), kb > 0);
        sim_wgmma_commit_group(mma);
        sim_wgmma_wait_group(done, bug.released_early ? 2 : 1, nullptr, 0);
        if (previous >= 0 && !bug.never_release)
          sim_mbarrier_arrive(release, shared(empty[size_t(previous)]), 1, kRelease, kCta);
        previous = stage;
      }
      sim_wgmma_wait_group(done, 0, acc, tile_n / 2);
      if (previous >= 0 && !bug.never_release)
        sim_mbarrier_arrive(release, shared(empty[size_t(previous)]), 1, kRelease, kCta);
      for (int column = 0; column < tile_n; column += kStagingColumns) {
        if (thread == 0 && !bug.no_store_wait) sim_bulk_wait_group(reuse, 0, 1);
        sim_barrier_sync(reuse, 1, 128);
        for (int j = 0; j < kStagingColumns / 8; ++j)
          for (int h = 0; h < 2; ++h)
            for (int c = 0; c < 2; ++c) {
              const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * h, at = j * 8 + thread % 4 * 2 + c;
              store(put, shared(staging) + (row * kStagingColumns + at) * 4, acc[column / 2 + j * 4 + h * 2 + c]);
            }
        if (!bug.no_store_fence) sim_fence_proxy_async(put, int(ProxySpace::shared));
        if (!bug.no_store_barrier) sim_barrier_sync(put, 1, 128);
        if (thread == 0) {
          sim_tma_store(out, &map_d, shared(staging), 2, tile % tiles_n * tile_n + column, tile / tiles_n * kTileM, 0,
                        0, 0);
          sim_bulk_commit_group(out);
        }
      }
    }
    if (thread == 0 && !bug.no_store_wait) sim_bulk_wait_group(reuse, 0, 1);
  };
}

}  // namespace gemmsmith::simulator
