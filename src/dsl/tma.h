// Tiles on their way from global to shared memory through TMA.
#pragma once
#include <optional>
#include <vector>

#include "dsl/builder.h"
#include "dsl/hopper_layout.h"
#include "dsl/ops_gpu.h"

namespace gemmsmith {

struct TileShape {
  int rows, columns;
};
inline TileShape tile(int rows, int columns) { return {rows, columns}; }

// One direction of a cluster: how many CTAs lie along it, which of them this is, and the ranks of all that differ only
// along it, as a mask.
struct Axis {
  int size;
  Int rank, mask;
};
// CTAs that share a tile, or its operands. They are co-resident and reach into each other's shared memory.
struct Cluster {
  Axis m, n, k;
  int size() const { return m.size * n.size * k.size; }
  Int rank_of_k(int k_rank) const;  // of the CTA that differs from this one only along k
};

// All CTAs along the axis need the same tile: each loads its share of the rows for all of them.
struct Multicast {
  Axis axis;
};
inline Multicast multicast(const Axis& axis) { return {axis}; }

struct TmaOptions {
  int rows_loaded = 0;               // the first rows of a tile, where a matrix has no more; 0: all
  int max_swizzle_bytes = 128;       // 32, 64 or 128
  int l2_promotion_bytes = 128;      // 0, 64, 128 or 256
  std::optional<Kind> element = {};  // what the tensor cores take bytes for: e4m3, e5m2
};

class TmaInput;
struct TmaCopy {
  const TmaInput* input;
  Int row, column;  // of the matrix, in elements
  std::optional<Int> batch;
};

// Tiles of a matrix. Boxes, swizzle and byte counts follow from the layout of the tile in shared memory.
class TmaInput {
 public:
  // A tile by its number along rows and columns.
  TmaCopy operator()(Int tile_row, Int tile_column, Where at = Where::current()) const;
  TmaCopy operator()(Int batch, Int tile_row, Int tile_column, Where at = Where::current()) const;

  const std::string& name() const { return name_; }
  Kind element() const { return element_; }
  const Layout& layout() const { return layout_; }
  int rows() const { return int(layout_.extent(0)); }
  int columns() const { return int(layout_.extent(1)); }
  int64_t tile_bytes() const { return span_bytes(layout_); }
  // Of all slices together: what a stage waits for in each CTA.
  int64_t landing_bytes() const { return int64_t(rows_loaded_) * columns() * layout_.element_bytes; }
  bool multicasts() const { return multicast_ > 1; }

 private:
  friend class GpuBuilder;
  friend class Ring;
  void issue(const TmaCopy&, const Int& buffer, const Int& barrier) const;
  std::string name_;
  Kind element_ = Kind::bf16;
  op::TensorMapRef map_{};
  Layout layout_;
  TmaBoxes boxes_;
  int rows_loaded_ = 0, multicast_ = 1;
  bool batched_ = false;
  Mode slices_;  // where in the tile the slice of each CTA starts
  std::optional<Int> slice_, mask_;
};

}  // namespace gemmsmith
