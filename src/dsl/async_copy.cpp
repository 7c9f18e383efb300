#include "dsl/async_copy.h"

#include "dsl/hopper.h"

namespace gemmsmith {
namespace {

constexpr int kMaxUnroll = 8;  // pieces of a tile that are copied without a loop

int elements_of(const Layout& tile) { return int(tile.extent(0) * tile.extent(1)); }

}  // namespace

AsyncInput GpuBuilder::async_input(const MatrixArg& arg, TileShape shape, int stages, int copy_bytes, Where at) {
  const Scope scope("async_input", at);
  const Tensor stored = matrix(arg, at);
  AsyncInput in(arg.transposed ? stored.transposed() : stored);
  const int element = bytes(in.element());
  in.name_ = arg.name;
  in.along_rows_ = arg.major != Major::none && (arg.major == Major::column) != arg.transposed;
  // Only 16-bit elements are transposed on their way to registers.
  in.layout_ =
      swizzled_tile(shape.rows, shape.columns, element, in.along_rows_ && element == 2 ? Major::column : Major::row);
  in.piece_ = copy_bytes / element;
  in.base_.emplace(allocate(arg.name, stages * span_bytes(in.layout_), stages, at));
  const bool power = copy_bytes == 4 || copy_bytes == 8 || copy_bytes == 16;
  const int line = in.along_rows_ ? shape.rows : shape.columns;
  if (copy_bytes != element && (!power || copy_bytes < element))
    op::fail(at, "copies of " + std::to_string(copy_bytes) + " bytes", "are not 4, 8 or 16 bytes, or one element",
             std::to_string(element));
  else if (in.piece_ > 1 && (arg.major == Major::none || in.along_rows_ != in.by_rows()))
    op::fail(at, "copies of " + std::to_string(copy_bytes) + " bytes of \"" + arg.name + "\"",
             arg.major == Major::none ? "need a contiguous mode" : "do not transpose elements of 8 bits",
             "of one element");
  else if (line % in.piece_ != 0)
    op::fail(at, "copies of " + std::to_string(in.piece_) + " elements",
             "do not divide the " + std::to_string(line) + " of a tile");
  else if (in.piece_ > 1)
    align(arg.name, copy_bytes, at);
  return in;
}

bool AsyncInput::by_rows() const { return layout_.modes[0].leaves().front().stride == layout_.element_bytes; }

Int AsyncInput::buffer(const Int& stage) const { return *base_ + stage * span_bytes(layout_); }

void AsyncInput::copy_piece(const Tensor& matrix, const Int& to, const Int& row, const Int& column,
                            const Int& piece) const {
  const int line = int(layout_.extent(along_rows_ ? 0 : 1)) / piece_;
  const Int across = piece / line, along = piece % line * piece_;
  const Int r = along_rows_ ? along : across, c = along_rows_ ? across : along;
  const Int global_row = row + r, global_column = column + c;
  const Bool inside = (global_row < matrix.extent(0)) & (global_column < matrix.extent(1));
  const Scalar from = matrix.unmasked().address({select(inside, global_row, 0), select(inside, global_column, 0)});
  const Tensor tile(op::shared_pointer(to), element(), staged(layout_), Space::shared);
  const int size = piece_ * layout_.element_bytes;
  if (piece_ == 1 && size < 4) return tile.unmasked().store({r, c}, op::load_if(inside, from, element(), 1));
  const Int left = along_rows_ ? matrix.extent(0) - global_row : matrix.extent(1) - global_column;
  op::copy_async(op::as_int(tile.address({r, c})), from, size,
                 select(inside, min(left, piece_) * layout_.element_bytes, 0));
}

void AsyncInput::copy(const Cta& self, const Int& stage, const Int& batch, const Int& row, const Int& column,
                      Where at) const {
  const Scope scope("async_input.copy", at);
  if (op::failed()) return;
  const Tensor matrix = matrix_.rank() == 3 ? matrix_.slice(0, batch) : matrix_;
  const Int to = buffer(stage);
  const int pieces = elements_of(layout_) / piece_, each = pieces / self.count;
  if (pieces % self.count == 0 && each <= kMaxUnroll) {
    for (int i = 0; i < each; ++i) copy_piece(matrix, to, row, column, self.thread + i * self.count);
    return;
  }
  for (Int piece : range(self.thread, pieces, self.count)) copy_piece(matrix, to, row, column, piece);
}

void multistage(const Cta& self, int stages, const Int& first, const Int& last,
                const std::function<void(const Int& stage, const Int& step)>& copy,
                const std::function<void(const Int& stage)>& use, Where at) {
  const auto glue = [at](auto f) {
    const Scope scope("multistage", at);
    return f();
  };
  if (stages < 2)
    return op::fail(at, std::to_string(stages) + " stages", "do not let a copy go on while another stage is read",
                    "2 or more");
  for (int i = 0; i + 1 < stages; ++i) {
    copy(i, glue([&] { return first + i; }));
    glue(op::copy_async_commit);
  }
  Var<Int> stage(0);
  for (Int step : range(first, last, 1, at)) {
    glue([&] {  // the stage before is read by now, in all threads: it is the one to be filled
      op::copy_async_wait(stages - 2);
      self.sync();
    });
    const Int now = stage;
    copy(glue([&] { return select(now == 0, stages - 1, now - 1); }), glue([&] { return step + (stages - 1); }));
    glue(op::copy_async_commit);
    use(now);
    stage = glue([&] { return select(now + 1 == stages, 0, now + 1); });
  }
  glue([&] {
    op::copy_async_wait(0);
    self.sync();
  });
}

}  // namespace gemmsmith
