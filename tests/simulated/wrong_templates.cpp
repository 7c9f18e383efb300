#include "simulated/wrong_templates.h"

#include "templates/hopper_gemm.h"

namespace gemmsmith::test {
namespace {
constexpr int kBlockN = 64, kBlockK = 64, kStages = 3;
}

Result<KernelIr> wrong_warp_specialized(IrContext& context, const GemmProblem& problem, std::string_view mistake) {
  const auto wrong = [&](const char* name) { return mistake == name; };
  constexpr int kBlockM = 128, kConsumers = 2;
  return record_gpu(context, "wrong_warp_specialized", [&](GpuBuilder& k) {
    const HopperOperands in = hopper_operands(class_of(problem), false);
    const bool big = wrong("multicast along the wrong axis");
    const Cluster cluster = big ? k.cluster(2, 2) : k.cluster(1, 1);
    const TmaInput a = k.tma_input(in.a, tile(kBlockM, kBlockK), multicast(big ? cluster.m : cluster.n));
    const TmaInput b = k.tma_input(in.b, tile(kBlockN, kBlockK), multicast(big ? cluster.n : cluster.m));
    Ring& ring = k.ring(kStages, a, b);
    const TileShape block = tile(kBlockM, kBlockN);
    const TmaOutput d = k.tma_output(in.d, block, kConsumers, 2, true);
    const int k_of_tiles = wrong("half of K") ? 2 * kBlockK : kBlockK;
    const TileScheduler tiles = k.persistent_tiles(in.d, block, in.a, k_of_tiles, cluster, {});

    k.roles(producer(registers(24),
                     [&] {
                       for (Tile t : tiles) {
                         if (wrong("tile coordinates swapped")) {
                           for (Int kb : t.k_blocks()) ring.fill(a(t.n, kb), b(t.m, kb));
                         } else if (wrong("one fill too few")) {
                           for (Int kb : range(t.first_k, t.last_k - 1)) ring.fill(a(t.m, kb), b(t.n, kb));
                         } else if (wrong("one fill too many")) {
                           for (Int kb : range(t.first_k, t.last_k + 1))
                             ring.fill(a(t.m, kb), b(t.n, kb));  // ws.too_many
                         } else {
                           for (Int kb : t.k_blocks()) ring.fill(a(t.m, kb), b(t.n, kb));  // ws.fill
                         }
                       }
                     }),
            consumers(kConsumers, registers(240), [&](const Consumer& self) {
              const auto multiply_and_store = [&] {
                for (Tile t : tiles) {
                  Accumulator acc(self, ring, a, b);
                  for (Ring::Stage s : ring.take(t.k_blocks()))  // ws.take
                    acc.mma(s[a], s[b]);
                  const Tile transposed{t.batch, t.n, t.m, t.first_k, t.last_k, t.step_k};
                  d.store(self, wrong("stored at the transposed tile") ? transposed : t, std::move(acc).wait());
                }
              };
              if (wrong("one consumer idle"))
                when(self.index == 0, multiply_and_store);
              else
                multiply_and_store();
            }));
  });
}

Result<KernelIr> wrong_ping_pong(IrContext& context, const GemmProblem& problem, std::string_view mistake) {
  const auto wrong = [&](const char* name) { return mistake == name; };
  constexpr int kBlockM = 64, kConsumers = 2;
  return record_gpu(context, "wrong_ping_pong", [&](GpuBuilder& k) {
    const HopperOperands in = hopper_operands(class_of(problem), false);
    const Cluster cluster = k.cluster(1, 1);
    const TmaInput a = k.tma_input(in.a, tile(kBlockM, kBlockK)), b = k.tma_input(in.b, tile(kBlockN, kBlockK));
    Ring& ring = k.ring(kStages, a, b);
    Turns turns = k.turns(wrong("turns of three") ? 3 : kConsumers);
    const TileShape block = tile(kBlockM, kBlockN);
    const TmaOutput d = k.tma_output(in.d, block, kConsumers, 2, true);
    const TileScheduler tiles = k.persistent_tiles(in.d, block, in.a, kBlockK, cluster, {});

    k.roles(producer(registers(24),
                     [&] {
                       for (Tile t : tiles)
                         for (Int kb : t.k_blocks()) ring.fill(a(t.m, kb), b(t.n, kb));  // pp.fill
                     }),
            consumers(kConsumers, registers(240), [&](const Consumer& warpgroup) {
              const Consumer self = wrong("not alone") ? warpgroup : warpgroup.alone();
              const TileScheduler mine = wrong("no alternation")     ? tiles
                                         : wrong("ring left behind") ? tiles.alternate(self)
                                                                     : tiles.alternate(self, ring);  // pp.alternate
              for (Tile t : mine) {
                Accumulator acc(self, ring, a, b);
                const auto multiply = [&] {
                  for (Ring::Stage s : ring.take(t.k_blocks()))  // pp.take
                    acc.mma(s[a], s[b]);                         // pp.mma
                };
                if (wrong("no turns"))
                  multiply();
                else
                  turns.take(self, multiply);  // pp.turns
                d.store(self, t, std::move(acc).wait());
              }
            }));
  });
}

Result<KernelIr> wrong_split_k_cluster(IrContext& context, const GemmProblem& problem, std::string_view mistake) {
  const auto wrong = [&](const char* name) { return mistake == name; };
  constexpr int kBlockM = 64, kSplit = 2, kVector = 4, kColumns = kBlockN / kSplit, kVectors = kColumns / kVector;
  return record_gpu(context, "wrong_split_k_cluster", [&](GpuBuilder& k) {
    const HopperOperands in = hopper_operands(class_of(problem), false);
    const Cluster cluster = k.cluster(1, 1, kSplit);
    const TmaInput a = k.tma_input(in.a, tile(kBlockM, kBlockK)), b = k.tma_input(in.b, tile(kBlockN, kBlockK));
    Ring& ring = k.ring(kStages, a, b);
    const TileShape block = tile(kBlockM, kBlockN);
    const SharedTile partial = k.shared_tile(block);
    ClusterBarrier all_stored = k.cluster_barrier(cluster, wrong("barrier of two consumers") ? 2 : 1);
    const GlobalOutput d = k.global_output(in.d, true);
    const Tile t = k.one_tile_per_cluster(in.d, block, in.a, kBlockK, cluster).only();

    k.roles(producer(registers(24),
                     [&] {
                       for (Int kb : t.k_blocks()) ring.fill(a(t.m, kb), b(t.n, kb));
                     }),
            consumers(1, registers(240), [&](const Consumer& self) {
              Accumulator acc(self, ring, a, b);
              for (Ring::Stage s : ring.take(t.k_blocks())) acc.mma(s[a], s[b]);
              if (wrong("barrier before the sums are stored")) all_stored.sync(self);
              partial.store(self, std::move(acc).wait());  // sk.sums
              if (wrong("barrier reached by half"))
                when(self.thread < 64, [&] { all_stored.sync(self); });  // sk.half
              else if (!wrong("no barrier") && !wrong("barrier before the sums are stored"))
                all_stored.sync(self);  // sk.sync

              for (Int vector : range(self.thread, kBlockM * kVectors, 128)) {
                const Int share = wrong("both store the first half") ? Int(0) : cluster.k.rank;
                const Int row = vector / kVectors, column = share * kColumns + vector % kVectors * kVector;
                const int other = wrong("own sums twice") ? 0 : wrong("rank outside of the cluster") ? 2 : 1;
                const Vec first = partial.load(row, column, cluster.rank_of_k(0), kVector);
                const Vec second = partial.load(row, column, cluster.rank_of_k(other), kVector);  // sk.second
                d.store(t, t.m * kBlockM + row, t.n * kBlockN + column, first + second);          // sk.store
              }
            }));
  });
}

}  // namespace gemmsmith::test
