// Sums on their way out of registers: through swizzled staging buffers and TMA, or through distributed shared memory.
#pragma once
#include <optional>

#include "dsl/accumulator.h"
#include "dsl/tile_scheduler.h"

namespace gemmsmith {

// D = epilogue(sums), written by TMA. A sum that is only converted goes straight from registers with stmatrix; any other
// epilogue goes through a small tile of f32, 16 bytes of D at a time along its contiguous mode, in a loop: it is compiled
// once, not once a register, and what it loads is loaded in vectors.
class TmaOutput {
 public:
  void store(const Consumer& self, const Tile&, const Fragment&, Where at = Where::current()) const;

 private:
  friend class GpuBuilder;
  void store_converted(const Consumer&, const Tile&, const Fragment&, const Where&) const;
  void store_evaluated(const Consumer&, const Tile&, const Fragment&, const Where&) const;
  void send(const Consumer&, const Tile&, const Int& buffer, const Int& row, const Int& column) const;
  void restart_buffers(const Consumer&, int boxes) const;
  explicit TmaOutput(Output output) : output_(std::move(output)) {}
  Output output_;
  Kind element_ = Kind::bf16;
  bool converted_ = true, batched_ = false, vectors_ = false;
  bool by_rows_ = true;  // rows of the kernel's D are contiguous
  TileShape tile_{};
  int consumers_ = 0;
  Layout box_;      // of the kernel's D: what is staged at a time
  TmaBoxes parts_;  // that TMA stores it in
  int buffers_ = 0;
  std::optional<Int> staging_, sums_;
  op::TensorMapRef map_{};
};

// A tile of f32 in shared memory that the other CTAs of the cluster read: partial sums of a split K.
class SharedTile {
 public:
  void store(const Consumer& self, const Fragment&, Where at = Where::current()) const;
  Vec load(const Int& row, const Int& column, const Int& rank, int lanes, Where at = Where::current()) const;
  TileShape shape() const { return {int(layout_.extent(0)), int(layout_.extent(1))}; }

 private:
  friend class GpuBuilder;
  Layout layout_;
  std::optional<Int> base_;
};

// D = epilogue(sums), a vector at a time at any coordinate; outside of D nothing is stored.
class GlobalOutput {
 public:
  void store(const Tile&, const Int& row, const Int& column, const Vec& sums, Where at = Where::current()) const;

 private:
  friend class GpuBuilder;
  GlobalOutput(Output output, bool vectors) : output_(std::move(output)), vectors_(vectors) {}
  Output output_;
  bool vectors_;
};

}  // namespace gemmsmith
