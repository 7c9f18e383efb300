// What the GEMM templates of Hopper share: operands of a problem class in the orientation that wgmma wants, and the rules
// that all of their configurations obey.
#pragma once
#include "dsl/hopper.h"
#include "gemmsmith/device.h"
#include "gemmsmith/problem.h"
#include "templates/gemm_class.h"

namespace gemmsmith {

// Fields that every such configuration has; templates derive from it and add theirs.
struct HopperConfig {
  int block_m = 128, block_n = 128, block_k = 64;  // the tile of a CTA
  int num_stages = 4;
  int swap = 0;            // computes D^T = B^T * A^T: the columns of D are the 64 rows of wgmma, its few rows the n
  int rows_loaded = 0;     // of A's tile, where m has no more; 0: all
  int vectors = 1;         // of 16 bytes of D never stick out of D, C or full inputs, and are aligned
  int l2_promotion = 128;  // bytes that L2 fetches at once: 0, 64, 128, 256
};

// Operands as (m, k), (n, k) and D, m and n exchanged if the configuration swaps them.
struct HopperOperands {
  MatrixArg a, b;
  OutputArg d;
};
HopperOperands hopper_operands(const GemmClass&, bool swap);

// Whether TMA and wgmma can serve the problem's operands at all. The reason names operand, rule and numbers.
Supports hopper_supports(const GemmProblem&, const DeviceFacts&);
// Whether TMA can write D.
Supports tma_stores(const GemmProblem&);
// Whether the operand whose rows become those of wgmma's A is MN-major.
bool rows_are_contiguous(const HopperConfig&, const GemmProblem&);
// What is legal of the common fields, for `consumers` warpgroups of 64 rows each, or a multiple.
Supports hopper_legal(const HopperConfig&, const GemmProblem&, int consumers);
// Whether a vector of D, and of what is read beside it, is 16 bytes of one row (or column) and aligned.
Supports has_vectors(const GemmProblem&);

// What every run along the contiguous mode of an operand starts at a multiple of, if the operand itself does: 16, 8, ... down
// to its element. 0: it has no contiguous mode.
int aligned_bytes(const MatrixSpec&, Major contiguous, int64_t rows, int64_t columns, int64_t batch);

int element_bytes(const GemmProblem&);  // of A and B

// The analytic time of a tiling: waves of tiles at the speed of the tensor cores, of L2 and of memory, whichever is
// slowest, and what it costs to start and to drain. `concurrent` tiles run at a time.
struct TileCost {
  double tile_rows, tile_columns;  // of what runs together: a CTA
  int tiles_at_once;               // on the whole device
  int splits = 1;                  // of K
  double mma_efficiency = 1;       // of the tensor cores' peak while a tile is multiplied
  double epilogue_us = 0;          // of a tile, that nothing hides
};
double predict_gemm_us(const TileCost&, const GemmProblem&, const DeviceFacts&);

// The analytic time of a kernel that reads a matrix once: at the rate that its loads in flight allow (Little's law), at that
// of memory, or at that of the arithmetic, whichever is slowest, and what each round of CTAs costs.
struct Reading {
  double bytes = 0;       // all that is read
  double operations = 0;  // of one thread each, all together
  double ctas = 1;
  double bytes_in_flight = 0;  // of a thread
  int threads = 0, registers = 0;
  double round_us = 0;
};
double predict_reading_us(const Reading&, const DeviceFacts&);

}  // namespace gemmsmith
