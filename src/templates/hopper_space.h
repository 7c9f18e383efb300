// The configurations of the persistent GEMM templates of Hopper: their common fields, which are legal, and which are worth
// considering.
#pragma once
#include <string>
#include <vector>

#include "templates/hopper_gemm.h"

namespace gemmsmith {

struct PersistentConfig : HopperConfig {
  int cluster_m = 1, cluster_n = 1;
  int raster = 0;  // 0 grouped along m, 1 along n, 2 Hilbert curves
  int raster_group = 8;
  int epilogue_buffers = 2;
  int producer_registers = 24, consumer_registers = 240;
  template <class F>
  void common_fields(F&& f) {
    f("block_m", block_m), f("block_n", block_n), f("block_k", block_k), f("num_stages", num_stages);
    f("cluster_m", cluster_m), f("cluster_n", cluster_n), f("raster", raster), f("raster_group", raster_group);
    f("epilogue_buffers", epilogue_buffers), f("swap", swap), f("rows_loaded", rows_loaded), f("vectors", vectors);
    f("l2_promotion", l2_promotion), f("producer_registers", producer_registers);
    f("consumer_registers", consumer_registers);
  }
  Raster order() const { return {static_cast<Raster::Kind>(raster), raster_group, 3}; }
  TmaOptions tma() const { return {.rows_loaded = rows_loaded, .l2_promotion_bytes = l2_promotion}; }
};

Supports persistent_supports(const GemmProblem&, const DeviceFacts&);
// `consumers` warpgroups in a CTA, of which `sharing` share the rows of one tile, `instructions` wgmmas of 64 rows each.
Supports persistent_legal(const PersistentConfig&, const GemmProblem&, const DeviceFacts&, int consumers, int sharing,
                          int instructions);
// What shared memory a CTA of it needs, barriers included.
int64_t persistent_shared_bytes(const PersistentConfig&, const GemmProblem&, int consumers);
Supports fits_shared(int64_t bytes);
std::vector<PersistentConfig> persistent_space(const GemmProblem&, const DeviceFacts&);
double predict_persistent_us(const PersistentConfig&, const GemmProblem&, const DeviceFacts&, int splits,
                             bool hidden_epilogue);

}  // namespace gemmsmith
