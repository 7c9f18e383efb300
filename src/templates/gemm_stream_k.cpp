// D[m,n] = epilogue(A[m,k] · B[n,k]ᵀ): as gemm_warp_specialized, but where tiles do not fill the GPU evenly, its CTAs share
// what is left over by k-blocks (dsl/stream_k.h): whole tiles first, then a part of one or two. Partial sums go through L2
// to the CTA that finishes the tile. For tile counts just above a multiple of the SMs, and few tiles with a long K.
#include "templates/hopper_gemm.h"
#include "templates/hopper_space.h"
#include "templates/template.h"

namespace gemmsmith {
namespace {

struct Config : PersistentConfig {
  Config() { block_n = 256, consumer_registers = 240; }
  int num_consumers = 2;
  int max_splits = 16;  // CTAs for each tile, where there are fewer tiles than CTAs
  template <class F>
  void fields(F&& f) {
    f("block_m", block_m), f("block_n", block_n), f("block_k", block_k), f("num_stages", num_stages);
    f("max_splits", max_splits), f("num_consumers", num_consumers), f("raster", raster),
        f("raster_group", raster_group);
    f("epilogue_buffers", epilogue_buffers), f("swap", swap), f("rows_loaded", rows_loaded), f("vectors", vectors);
    f("l2_promotion", l2_promotion), f("producer_registers", producer_registers);
    f("consumer_registers", consumer_registers);
  }
};

void stage(GpuBuilder& k, const Config& c, const GemmClass& p) {
  const HopperOperands in = hopper_operands(p, c.swap);
  const TmaInput a = k.tma_input(in.a, tile(c.block_m, c.block_k), {}, c.tma());
  const TmaInput b = k.tma_input(in.b, tile(c.block_n, c.block_k), {}, {.l2_promotion_bytes = c.l2_promotion});
  Ring& ring = k.ring(c.num_stages, a, b);
  const TileShape block = tile(c.block_m, c.block_n);
  const TmaOutput d = k.tma_output(in.d, block, c.num_consumers, c.epilogue_buffers, c.vectors);
  const StreamK work = k.stream_k(in.d, block, in.a, c.block_k, c.order(), c.num_consumers, c.max_splits);

  k.roles(producer(registers(c.producer_registers),
                   [&] {
                     for (PartOfTile t : work)
                       for (Int kb : t.k_blocks()) ring.fill(a(t.batch, t.m, kb), b(t.batch, t.n, kb));
                   }),
          consumers(c.num_consumers, registers(c.consumer_registers), [&](const Consumer& self) {
            for (PartOfTile t : work) {
              Accumulator acc(self, ring, a, b);
              for (Ring::Stage s : ring.take(t.k_blocks())) acc.mma(s[a], s[b]);
              work.finish(self, t, std::move(acc).wait(), [&](const Fragment& sums) { d.store(self, t, sums); });
            }
          }));
}

// Tiles, k-blocks and CTAs of a problem on a device.
struct Shares {
  int64_t tiles, k_blocks, ctas;
  int64_t waves() const { return tiles / ctas; }
  int64_t shared_tiles() const { return tiles % ctas; }
};
Shares shares_of(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  const auto count = [](int64_t n, int64_t unit) { return (n + unit - 1) / unit; };
  const int64_t rows = c.swap ? p.n : p.m, columns = c.swap ? p.m : p.n;
  const int64_t tiles = std::max<int64_t>(count(rows, c.block_m) * count(columns, c.block_n) * p.batch, 1);
  const int64_t ctas = std::min<int64_t>(std::max(device.cores, 1), tiles * c.max_splits);
  return {tiles, std::max<int64_t>(count(p.k, c.block_k), 1), ctas};
}

Supports legal(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  if (c.num_consumers < 1 || c.num_consumers > 3)
    return Supports::no("num_consumers = " + std::to_string(c.num_consumers) + " is not 1 to 3");
  if (c.max_splits < 1 || c.max_splits > 1024)
    return Supports::no("max_splits = " + std::to_string(c.max_splits) + " is not 1 to 1024");
  if (c.cluster_m != 1 || c.cluster_n != 1) return Supports::no("stream-K has no clusters");
  if (const Supports answer =
          persistent_legal(c, p, device, c.num_consumers, c.num_consumers, c.block_m / 64 / c.num_consumers);
      !answer)
    return answer;
  // What a part of a tile needs beside the tile, found by assembling: 8 registers more than gemm_warp_specialized, 16 with an
  // epilogue; and the addresses of staging boxes of 16 columns, where many sums leave no room for them.
  const bool converts = p.alpha == 1 && !p.reads_c() && p.epilogue.is_accumulator() && bytes_of(p.d.type) == 2;
  const int sums = c.block_m / 64 / c.num_consumers * c.block_n / 2, others = converts ? 48 : 88;
  if (sums + others > c.consumer_registers)
    return Supports::no(std::to_string(sums) + " sums and " + std::to_string(others) +
                        " other registers do not fit the " + std::to_string(c.consumer_registers) + " of a consumer");
  if (sums > 96 && c.block_n % 32 != 0)
    return Supports::no("block_n = " + std::to_string(c.block_n) +
                        " is stored in boxes of 16 columns, whose addresses do not fit beside " + std::to_string(sums) +
                        " sums; a multiple of 32");
  // Numbers of shared k-blocks have 32 bits, on GPUs of up to 1024 SMs.
  const int64_t limit = int64_t(1) << 31, k_blocks = shares_of(c, p, device).k_blocks;
  if (k_blocks > limit / 1024)
    return Supports::no(std::to_string(k_blocks) + " k-blocks of " + std::to_string(c.block_k) + " are more than " +
                        std::to_string(limit / 1024) + ", what 32-bit numbers of shared blocks allow");
  return {};
}

// Whole waves as those of gemm_warp_specialized; the rest takes its share of a wave, and what the partial sums cost: written
// and read through L2, once for each CTA.
double predict_us(const Config& c, const GemmProblem& p, const DeviceFacts& device) {
  const Shares s = shares_of(c, p, device);
  const double whole = predict_persistent_us(c, p, device, 1, /*hidden_epilogue=*/false);
  const int64_t sms = std::max(device.cores, 1), full_waves = (s.tiles + sms - 1) / sms;
  const double all_waves = double(full_waves);
  const double wave_us = whole / std::max(all_waves, 1.0);
  double us = wave_us * double(s.waves());
  if (s.shared_tiles() > 0) {
    constexpr double kL2BytesPerUs = 5.5e6;
    const double exchanged = 2.0 * double(s.ctas) * c.block_m * c.block_n * 4;
    const double peers = double(s.ctas) / double(s.shared_tiles());
    us += wave_us * double(s.shared_tiles()) / double(s.ctas) + exchanged / kL2BytesPerUs + 1.0 + 0.4 * peers;
  }
  return us;
}

std::vector<Config> space(const GemmProblem& p, const DeviceFacts& device) {
  std::vector<Config> out;
  for (const PersistentConfig& common : persistent_space(p, device)) {
    if (common.cluster_m * common.cluster_n != 1) continue;
    for (int consumers : {1, 2})
      for (int splits : {4, 16}) {
        Config c;
        static_cast<PersistentConfig&>(c) = common;
        c.num_consumers = consumers, c.max_splits = splits;
        const Shares s = shares_of(c, p, device);
        if (s.shared_tiles() == 0) continue;  // full waves: gemm_warp_specialized is the same
        if (splits != 16 && s.tiles * splits >= device.cores) continue;  // the limit changes nothing
        out.push_back(c);
      }
  }
  return out;
}

}  // namespace

KernelTemplate gemm_stream_k() {
  return make_template<Config>("gemm_stream_k", "sm_90a", persistent_supports, space, legal, predict_us, stage);
}

}  // namespace gemmsmith
