#include "templates/hopper_space.h"

#include <algorithm>

namespace gemmsmith {
namespace {

constexpr int64_t kSharedBytes = 232448;  // of a CTA on sm_90
constexpr int kSpareRegisters = 40;       // of a consumer, beside its sums: addresses, descriptors
constexpr int kEpilogueRegisters = 72;    // with an epilogue, eight lanes at a time: with fewer, gelu spills

std::string number(int64_t n) { return std::to_string(n); }

bool converts(const GemmProblem& p) {
  return p.alpha == 1 && !p.reads_c() && p.epilogue.is_accumulator() && bytes_of(p.d.type) == 2 &&
         p.acc == DataType::f32;
}

// Columns of a staging box: GpuBuilder::tma_output cuts them the same way.
int box_columns(const PersistentConfig& c, const GemmProblem& p) {
  const bool by_rows = (p.d.column_stride == 1) != bool(c.swap);
  int columns = 64;
  if (by_rows) {
    int width = 128;
    while (width > 16 && c.block_n * bytes_of(p.d.type) % width != 0) width /= 2;
    columns = width / int(bytes_of(p.d.type));
  }
  while (c.block_n % columns != 0) columns /= 2;
  return columns;
}

}  // namespace

Supports fits_shared(int64_t bytes) {
  if (bytes <= kSharedBytes) return {};
  return Supports::no(number(bytes) + " bytes of shared memory do not fit the " + number(kSharedBytes) +
                      " of a CTA on sm_90; fewer stages or a smaller tile");
}

int64_t persistent_shared_bytes(const PersistentConfig& c, const GemmProblem& p, int consumers) {
  const auto aligned = [](int64_t bytes) { return (bytes + 1023) / 1024 * 1024; };
  const int columns = box_columns(c, p);
  const int64_t element = element_bytes(p);
  int64_t bytes =
      aligned(c.num_stages * c.block_m * c.block_k * element) + aligned(c.num_stages * c.block_n * c.block_k * element);
  bytes += aligned(int64_t(consumers) * c.epilogue_buffers * 64 * columns * bytes_of(p.d.type));
  if (!converts(p)) bytes += aligned(int64_t(consumers) * 64 * std::min(columns, 32) * 4);
  return bytes + 8 * (2 * c.num_stages + consumers + 1);
}

Supports persistent_supports(const GemmProblem& p, const DeviceFacts& device) {
  if (const Supports answer = hopper_supports(p, device); !answer) return answer;
  return tma_stores(p);
}

Supports persistent_legal(const PersistentConfig& c, const GemmProblem& p, const DeviceFacts&, int consumers,
                          int sharing, int instructions) {
  if (const Supports answer = hopper_legal(c, p, sharing); !answer) return answer;
  const auto rule = [](const std::string& what, const std::string& why) { return Supports::no(what + " " + why); };
  if (c.cluster_m < 1 || c.cluster_n < 1 || c.cluster_m * c.cluster_n > 8)
    return rule("a cluster of " + number(c.cluster_m) + " x " + number(c.cluster_n), "is not one of 1 to 8 CTAs");
  const int rows = c.rows_loaded ? c.rows_loaded : c.block_m;
  if (rows % (8 * c.cluster_n) != 0 || c.block_n % (8 * c.cluster_m) != 0)
    return rule("a cluster of " + number(c.cluster_m) + " x " + number(c.cluster_n),
                "does not share tiles of " + number(rows) + " and " + number(c.block_n) + " rows in multiples of 8");
  // Slices of an MN-major tile are whole swizzles.
  const GemmClass operands = class_of(p);
  const bool a_mn = operands.a.major == Major::column, b_mn = operands.b.major == Major::row;
  const auto slices = [&](const char* name, int extent, int shares, bool mn_major) -> Supports {
    int width = 128;
    while (width > 32 && extent * element_bytes(p) % width != 0) width /= 2;
    if (!mn_major || shares == 1 || extent / shares * element_bytes(p) % width == 0) return {};
    return rule("a cluster of " + number(c.cluster_m) + " x " + number(c.cluster_n),
                "cuts " + std::string(name) + ", MN-major, in slices of " + number(extent / shares) +
                    " rows, which are not whole swizzles of " + number(width / element_bytes(p)));
  };
  for (const Supports& answer : {slices(c.swap ? "B" : "A", rows, c.cluster_n, c.swap ? b_mn : a_mn),
                                 slices(c.swap ? "A" : "B", c.block_n, c.cluster_m, c.swap ? a_mn : b_mn)})
    if (!answer) return answer;
  if (c.raster < 0 || c.raster > 2) return rule("raster = " + number(c.raster), "is not 0, 1 or 2");
  if (c.raster_group < 1 || c.raster_group > 1024)
    return rule("raster_group = " + number(c.raster_group), "is not 1 to 1024");
  if (c.epilogue_buffers < 2 || c.epilogue_buffers > 8)
    return rule("epilogue_buffers = " + number(c.epilogue_buffers), "is not 2 to 8");
  const int sums = instructions * c.block_n / 2;
  const int spare = converts(p) ? kSpareRegisters : kEpilogueRegisters;
  if (sums + spare > c.consumer_registers)
    return rule(number(sums) + " sums and " + number(spare) + " other registers",
                "do not fit the " + number(c.consumer_registers) + " of a consumer");
  // ptxas: C7602. Registers at launch are what all threads have before setmaxnreg.
  const int at_launch = 65536 / (128 * (consumers + 1)) / 8 * 8, of_wgmma = c.block_n / 2 + 26;
  if (of_wgmma > at_launch)
    return rule(number(of_wgmma) + " registers of one wgmma", "do not fit the " + number(at_launch) +
                                                                  " that a thread of " + number(consumers) +
                                                                  " consumers is launched with");
  for (int count : {c.producer_registers, c.consumer_registers})
    if (count < 24 || count > 256 || count % 8 != 0)
      return rule(number(count) + " registers", "are not a multiple of 8 from 24 to 256, as setmaxnreg wants");
  const int registers = 128 * (c.producer_registers + consumers * c.consumer_registers);
  if (registers > 65536) return rule(number(registers) + " registers", "do not fit the 65536 of an SM");
  const int box = box_columns(c, p);
  if (!converts(p) && box * 16 * bytes_of(p.d.type) < 16)
    return rule("block_n = " + number(c.block_n), "has no whole vectors of 16 bytes to store");
  return fits_shared(persistent_shared_bytes(c, p, consumers));
}

std::vector<PersistentConfig> persistent_space(const GemmProblem& p, const DeviceFacts&) {
  std::vector<PersistentConfig> out;
  const bool vectors = bool(has_vectors(p));
  const int block_k = 128 / element_bytes(p);
  struct Tile {
    int m, n;
  };
  std::vector<Tile> tiles;
  for (int m : {64, 128, 192, 256})
    for (int n : {16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256}) tiles.push_back({m, n});
  for (int swap : {0, 1})
    for (const Tile& t : tiles)
      for (const auto& [cluster_m, cluster_n] : {std::pair{1, 1}, {2, 1}, {1, 2}})
        for (int raster : {0, 1}) {
          PersistentConfig c;
          c.block_m = t.m, c.block_n = t.n, c.block_k = block_k;
          c.cluster_m = cluster_m, c.cluster_n = cluster_n, c.raster = raster, c.swap = swap, c.vectors = vectors;
          const int64_t rows = swap ? p.n : p.m, columns = swap ? p.m : p.n;
          if (rows < t.m && !rows_are_contiguous(c, p)) c.rows_loaded = int(std::max<int64_t>((rows + 7) / 8 * 8, 8));
          if (swap && p.m > 256) continue;                // there are rows enough without
          if (t.n > 16 && columns <= t.n - 16) continue;  // a narrower tile does the same
          if (c.rows_loaded && t.m > 64) continue;
          const int64_t stage = int64_t(t.m + t.n) * block_k * element_bytes(p);
          const int64_t fixed = persistent_shared_bytes(
              [&] {
                PersistentConfig one = c;
                one.num_stages = 0;
                return one;
              }(),
              p, 2);
          c.num_stages = int(std::clamp<int64_t>((kSharedBytes - fixed - 256) / stage, 1, 12));
          for (int fewer : {0, 1}) {
            if (c.num_stages - fewer < 2) continue;
            PersistentConfig one = c;
            one.num_stages -= fewer;
            if (fewer) one.epilogue_buffers = 4;
            out.push_back(one);
          }
        }
  return out;
}

double predict_persistent_us(const PersistentConfig& c, const GemmProblem& p, const DeviceFacts& device, int splits,
                             bool hidden_epilogue) {
  const int units = std::max(device.cores, 1);
  TileCost cost;
  cost.tile_rows = c.swap ? c.block_n : c.block_m;
  cost.tile_columns = c.swap ? c.block_m : c.block_n;
  cost.tiles_at_once = units / (c.cluster_m * c.cluster_n) * (c.cluster_m * c.cluster_n);
  cost.splits = splits;
  // Narrow wgmmas read A again for few columns: measured rates of shared-memory operands, facts of m64nNk16 on H800.
  cost.mma_efficiency = std::min(1.0, 0.25 + double(c.block_n) / 128 * 0.75) * (hidden_epilogue ? 0.99 : 0.97);
  cost.epilogue_us = hidden_epilogue ? 0 : double(c.block_m) * c.block_n / 128 / 256 * 1.0;
  return predict_gemm_us(cost, p, device);
}

}  // namespace gemmsmith
