// D[m,n] = epilogue(A[m,k] · B[n,k]ᵀ): persistent clusters of CTAs take tiles of D in an order that keeps L2 warm. In each
// CTA one thread of a producer warp keeps a ring of shared-memory stages filled; consumer warpgroups split the rows of the
// tile. CTAs of a cluster that lie along m need the same tile of B, those along n the same tile of A: each loads a share
// for all. After CUTLASS's sm90 "KernelTmaWarpSpecializedCooperative" schedule.
#include "templates/hopper_gemm.h"
#include "templates/hopper_space.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

struct Config : PersistentConfig {
  Config() { block_n = 256, consumer_registers = 240; }
  int num_consumers = 2;
  template <class F>
  void fields(F&& f) {
    common_fields(f);
    f("num_consumers", num_consumers);
  }
};

void stage(GpuBuilder& k, const Config& c, const GemmClass& p) {
  const HopperOperands in = hopper_operands(p, c.swap);
  const Cluster cluster = k.cluster(c.cluster_m, c.cluster_n);
  const TmaInput a = k.tma_input(in.a, tile(c.block_m, c.block_k), multicast(cluster.n), c.tma());
  const TmaInput b =
      k.tma_input(in.b, tile(c.block_n, c.block_k), multicast(cluster.m), {.l2_promotion_bytes = c.l2_promotion});
  Ring& ring = k.ring(c.num_stages, a, b);
  const TileShape block = tile(c.block_m, c.block_n);
  const TmaOutput d = k.tma_output(in.d, block, c.num_consumers, c.epilogue_buffers, c.vectors);
  const TileScheduler tiles = k.persistent_tiles(in.d, block, in.a, c.block_k, cluster, c.order());

  k.roles(producer(registers(c.producer_registers),
                   [&] {
                     for (Tile t : tiles)
                       for (Int kb : t.k_blocks()) ring.fill(a(t.batch, t.m, kb), b(t.batch, t.n, kb));
                   }),
          consumers(c.num_consumers, registers(c.consumer_registers), [&](const Consumer& self) {
            for (Tile t : tiles) {
              Accumulator acc(self, ring, a, b);
              for (Ring::Stage s : ring.take(t.k_blocks())) acc.mma(s[a], s[b]);
              d.store(self, t, std::move(acc).wait());
            }
          }));
}

Supports legal(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  if (c.num_consumers < 1 || c.num_consumers > 3)
    return Supports::no("num_consumers = " + std::to_string(c.num_consumers) + " is not 1 to 3");
  return persistent_legal(c, p, device, c.num_consumers, c.num_consumers, c.block_m / 64 / c.num_consumers);
}

double predict_us(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  return predict_persistent_us(c, p, device, 1, /*hidden_epilogue=*/false);
}

std::vector<Config> space(const GemmProblem& p, const DeviceFacts& device) {
  std::vector<Config> out;
  for (const PersistentConfig& common : persistent_space(p, device))
    for (int consumers : {1, 2}) {
      Config c;
      static_cast<PersistentConfig&>(c) = common;
      c.num_consumers = consumers;
      out.push_back(c);
    }
  return out;
}

}  // namespace

KernelTemplate gemm_warp_specialized() {
  return make_template<Config>("gemm_warp_specialized", "sm_90a", persistent_supports, space, legal, predict_us, stage);
}

}  // namespace gemmsmith
