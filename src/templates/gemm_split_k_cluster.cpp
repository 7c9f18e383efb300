// D[m,n] = epilogue(A[m,k] · B[n,k]ᵀ) for few tiles, where one CTA per tile would leave most of the GPU idle: the CTAs of a
// cluster share a tile and take turns along K. Each leaves its sum in its own shared memory; after one barrier among their
// consumers every CTA adds up its share of the columns, reading the other sums through distributed shared memory.
#include "templates/hopper_gemm.h"
#include "templates/hopper_space.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

constexpr int kVector = 4;  // sums of f32 in 16 bytes

struct Config : HopperConfig {
  Config() { block_m = 64, block_n = 64, block_k = 128, num_stages = 6; }
  int split_k = 2;
  template <class F>
  void fields(F&& f) {
    f("block_m", block_m), f("block_n", block_n), f("block_k", block_k), f("num_stages", num_stages);
    f("split_k", split_k), f("swap", swap), f("rows_loaded", rows_loaded), f("vectors", vectors);
    f("l2_promotion", l2_promotion);
  }
};

void stage(GpuBuilder& k, const Config& c, const GemmClass& p) {
  const HopperOperands in = hopper_operands(p, c.swap);
  const Cluster cluster = k.cluster(1, 1, c.split_k);
  const TmaInput a = k.tma_input(in.a, tile(c.block_m, c.block_k), {},
                                 {.rows_loaded = c.rows_loaded, .l2_promotion_bytes = c.l2_promotion});
  const TmaInput b = k.tma_input(in.b, tile(c.block_n, c.block_k), {}, {.l2_promotion_bytes = c.l2_promotion});
  Ring& ring = k.ring(c.num_stages, a, b);
  const TileShape block = tile(c.block_m, c.block_n);
  const SharedTile partial = k.shared_tile(block);
  ClusterBarrier all_stored = k.cluster_barrier(cluster, 1);
  const GlobalOutput d = k.global_output(in.d, c.vectors);
  const Tile t = k.one_tile_per_cluster(in.d, block, in.a, c.block_k, cluster).only();

  k.roles(producer(registers(24),
                   [&] {
                     for (Int kb : t.k_blocks()) ring.fill(a(t.batch, t.m, kb), b(t.batch, t.n, kb));
                   }),
          consumers(1, registers(240), [&](const Consumer& self) {
            Accumulator acc(self, ring, a, b);
            for (Ring::Stage s : ring.take(t.k_blocks())) acc.mma(s[a], s[b]);
            partial.store(self, std::move(acc).wait());
            all_stored.sync(self);

            const int columns = c.block_n / c.split_k, vectors = columns / kVector;  // of this CTA
            const int rows = c.rows_loaded ? c.rows_loaded : c.block_m;
            for (Int vector : range(self.thread, rows * vectors, 128)) {
              const Int row = vector / vectors, column = cluster.k.rank * columns + vector % vectors * kVector;
              Var<Vec> sum(partial.load(row, column, cluster.rank_of_k(0), kVector));
              for (int other = 1; other < c.split_k; ++other)
                sum = sum + partial.load(row, column, cluster.rank_of_k(other), kVector);
              d.store(t, t.m * c.block_m + row, t.n * c.block_n + column, sum);
            }
          }));
}

Supports supports(const GemmProblem& p, const DeviceFacts& device) {
  if (const Supports answer = hopper_supports(p, device); !answer) return answer;
  if (p.acc != DataType::f32)
    return Supports::no("partial sums are added in f32, not in " + std::string(name_of(p.acc)));
  return {};
}

Supports legal(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  if (c.split_k != 2 && c.split_k != 4 && c.split_k != 8)
    return Supports::no("split_k = " + std::to_string(c.split_k) + " is not 2, 4 or 8, the CTAs of a cluster");
  if (c.block_n % (c.split_k * kVector) != 0)
    return Supports::no("block_n = " + std::to_string(c.block_n) + " is not shared evenly by " +
                        std::to_string(c.split_k) + " CTAs in vectors of " + std::to_string(kVector));
  if (c.block_m / 64 * c.block_n / 2 > 200)
    return Supports::no("the sums of " + std::to_string(c.block_m) + " x " + std::to_string(c.block_n) +
                        " do not fit the registers of one warpgroup");
  const int64_t bytes = int64_t(c.num_stages) * (c.block_m + c.block_n) * c.block_k * element_bytes(p) +
                        int64_t(c.block_m) * (c.block_n * 4 + 32) + 2048;
  if (const Supports answer = fits_shared(bytes); !answer) return answer;
  (void)device;
  return hopper_legal(c, p, 1);
}

double predict_us(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  TileCost cost{double(c.block_m), double(c.block_n), std::max(device.cores, 1), c.split_k, 0.5, 1.5};
  return predict_gemm_us(cost, p, device);
}

std::vector<Config> space(const GemmProblem& p, const DeviceFacts&) {
  std::vector<Config> out;
  for (int swap : {0, 1})
    for (int block_n : {16, 32, 64, 128})
      for (int split : {2, 4, 8})
        for (int stages : {4, 6, 8}) {
          Config c;
          c.swap = swap, c.block_n = block_n, c.split_k = split, c.num_stages = stages;
          c.block_k = 128 / element_bytes(p) * 2;
          c.vectors = swap ? 0 : bool(has_vectors(p));
          const int64_t rows = swap ? p.n : p.m;
          if (rows < c.block_m && !rows_are_contiguous(c, p))
            c.rows_loaded = int(std::max<int64_t>((rows + 7) / 8 * 8, 8));
          out.push_back(c);
        }
  return out;
}

}  // namespace

KernelTemplate gemm_split_k_cluster() {
  return make_template<Config>("gemm_split_k_cluster", "sm_90a", supports, space, legal, predict_us, stage);
}

}  // namespace gemmsmith
