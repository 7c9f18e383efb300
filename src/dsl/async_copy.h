// Tiles that the threads of a CTA copy to shared memory themselves, a few bytes at a time: for matrices that TMA's
// alignment rules exclude. Any strides and offsets will do.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "dsl/tma.h"

namespace gemmsmith {

class GpuBuilder;
struct Cta;

// Tiles of a matrix in stages of shared memory. Its copies are cp.async of 4, 8 or 16 bytes along the contiguous mode;
// where not even 4 bytes are aligned, or no mode is contiguous, they are loads and stores of single elements. Places outside
// of the matrix become zero.
class AsyncInput {
 public:
  // All threads of the CTA copy the tile that starts at (row, column) of a member of the batch into a stage. It is there
  // when they have waited for their copies and met: multistage().
  void copy(const Cta& self, const Int& stage, const Int& batch, const Int& row, const Int& column,
            Where at = Where::current()) const;

  const std::string& name() const { return name_; }
  Kind element() const { return matrix_.element(); }
  const Layout& layout() const { return layout_; }
  // Rows of a stage are contiguous: such operands are transposed when they are loaded into registers.
  bool by_rows() const;
  Int buffer(const Int& stage) const;

 private:
  friend class GpuBuilder;
  explicit AsyncInput(Tensor matrix) : matrix_(std::move(matrix)) {}
  void copy_piece(const Tensor& matrix, const Int& to, const Int& row, const Int& column, const Int& piece) const;
  std::string name_;
  Tensor matrix_;
  Layout layout_;
  bool along_rows_ = false;  // the pieces that threads copy lie along rows
  int piece_ = 1;            // elements
  std::optional<Int> base_;
};

// Steps first, first + 1, ..., last - 1 of a loop whose data all threads of a CTA copy for all: `copy` starts the copies of
// a step into a stage, `stages` - 1 steps ahead, past the last one too; `use` reads the stage of a step. Nothing is under
// way afterwards, and all threads have read what there was.
void multistage(const Cta& self, int stages, const Int& first, const Int& last,
                const std::function<void(const Int& stage, const Int& step)>& copy,
                const std::function<void(const Int& stage)>& use, Where at = Where::current());

}  // namespace gemmsmith
