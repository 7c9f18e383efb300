// D[m,n] = epilogue(A[m,k] · B[n,k]ᵀ): as gemm_warp_specialized, but each of two consumer warpgroups has tiles of its own
// and they take turns at the tensor cores: while one multiplies, the other runs its epilogue. For long epilogues, short K
// and tiles too wide to share. After CUTLASS's sm90 "KernelTmaWarpSpecializedPingpong" schedule.
#include "templates/hopper_gemm.h"
#include "templates/hopper_space.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

constexpr int kConsumers = 2;

struct Config : PersistentConfig {
  template <class F>
  void fields(F&& f) {
    common_fields(f);
  }
};

void stage(GpuBuilder& k, const Config& c, const GemmClass& p) {
  const HopperOperands in = hopper_operands(p, c.swap);
  const Cluster cluster = k.cluster(c.cluster_m, c.cluster_n);
  const TmaInput a = k.tma_input(in.a, tile(c.block_m, c.block_k), multicast(cluster.n), c.tma());
  const TmaInput b =
      k.tma_input(in.b, tile(c.block_n, c.block_k), multicast(cluster.m), {.l2_promotion_bytes = c.l2_promotion});
  Ring& ring = k.ring(c.num_stages, a, b);
  Turns turns = k.turns(kConsumers);
  const TileShape block = tile(c.block_m, c.block_n);
  const TmaOutput d = k.tma_output(in.d, block, kConsumers, c.epilogue_buffers, c.vectors);
  const TileScheduler tiles = k.persistent_tiles(in.d, block, in.a, c.block_k, cluster, c.order());

  k.roles(producer(registers(c.producer_registers),
                   [&] {
                     for (Tile t : tiles)
                       for (Int kb : t.k_blocks()) ring.fill(a(t.batch, t.m, kb), b(t.batch, t.n, kb));
                   }),
          consumers(kConsumers, registers(c.consumer_registers), [&](const Consumer& warpgroup) {
            const Consumer self = warpgroup.alone();
            for (Tile t : tiles.alternate(self, ring)) {
              Accumulator acc(self, ring, a, b);
              turns.take(self, [&] {
                for (Ring::Stage s : ring.take(t.k_blocks())) acc.mma(s[a], s[b]);
              });
              d.store(self, t, std::move(acc).wait());
            }
          }));
}

Supports legal(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  return persistent_legal(c, p, device, kConsumers, 1, c.block_m / 64);
}

double predict_us(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  return predict_persistent_us(c, p, device, 1, /*hidden_epilogue=*/true);
}

std::vector<Config> space(const GemmProblem& p, const DeviceFacts& device) {
  std::vector<Config> out;
  for (const PersistentConfig& common : persistent_space(p, device)) {
    Config c;
    static_cast<PersistentConfig&>(c) = common;
    out.push_back(c);
  }
  return out;
}

}  // namespace

KernelTemplate gemm_ping_pong() {
  return make_template<Config>("gemm_ping_pong", "sm_90a", persistent_supports, space, legal, predict_us, stage);
}

}  // namespace gemmsmith
