// Products on the tensor cores of single warps: mma.sync, whose operands come through registers.
#pragma once
#include <vector>

#include "dsl/async_copy.h"

namespace gemmsmith {

// rows x columns sums in the registers of a warp, both multiples of 16, of a tile whose operands are stages of A and B.
class WarpTile {
 public:
  // The warp's first row in stages of A, and in those of B.
  WarpTile(const AsyncInput& a, const AsyncInput& b, TileShape shape, const Int& row, const Int& column,
           const Int& lane, Where at = Where::current());
  // Adds all of a stage.
  void mma(const Int& stage, Where at = Where::current());
  // Into a tile of the CTA in shared memory, of f32 (i32) and row-major.
  void store(const Tensor& tile, Where at = Where::current()) const;

 private:
  // Where this lane's row of the 8x8 matrices of a unit of 16 rows and 32 bytes of k lies in a stage: [unit][k step].
  using Addresses = std::vector<std::vector<Int>>;
  static Addresses addresses_of(const AsyncInput&, int units, const Int& first, const Int& lane, bool is_b);
  struct Sums : VarBase {
    explicit Sums(std::vector<Scalar> initial) : VarBase(std::move(initial)) {}
    std::vector<Scalar>& values() { return values_; }
    const std::vector<Scalar>& values() const { return values_; }
  };
  const AsyncInput *a_, *b_;
  TileShape shape_;
  Int row_, column_, lane_;
  Addresses from_a_, from_b_;
  Sums sums_;  // four of each 16 x 8, row by row
};

}  // namespace gemmsmith
