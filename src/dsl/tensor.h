// A tensor is a pointer and a layout whose extents and strides are numbers or staged Ints. Matrices in memory, packing
// buffers and tiles are all tensors; tiles, slices and partitions are views: a moved pointer, a smaller layout.
//
// Edges: a tile that may stick out of its tensor keeps the extent that exists, a staged Int, and is called ragged
// there. Loads and stores at a coordinate are masked in ragged modes. Staged indices of slices and tiles are the
// author's promise; recordings with check_bounds hold them to it.
#pragma once
#include <optional>
#include <vector>

#include "dsl/vec.h"
#include "gemmsmith/layout.h"

namespace gemmsmith {

template <>
struct OffsetOf<Int> {
  using type = Offset;
};

using Coord = std::vector<Int>;
inline const Int all = -1;  // in the shape of a tile: the whole mode
using TensorLayout = BasicLayout<Int>;
TensorLayout staged(const Layout&);

enum class Space : uint8_t { global, shared };

class Tensor {
 public:
  Tensor(Scalar pointer, Kind element, TensorLayout layout, Space space = Space::global, Offset linear = 0)
      : pointer_(pointer), linear_(linear), element_(element), layout_(std::move(layout)), space_(space) {}

  Kind element() const { return element_; }
  int rank() const { return layout_.rank(); }
  const TensorLayout& layout() const { return layout_; }
  Int extent(int mode) const { return layout_.extent(mode); }
  bool contiguous(int mode) const;                  // its first leaf steps from element to element
  const Offset& linear() const { return linear_; }  // known bytes from the pointer; if swizzled, all
  Scalar pointer() const;                           // of its first element; not of swizzled tensors
  bool is_static() const;                           // all extents are known: no masks
  std::optional<Layout> static_layout() const;      // if everything is known

  Tensor tile(const Coord& shape, const Coord& index, Where at = Where::current()) const;  // CuTe's local_tile
  Int tiles(int mode, Int n, Where at = Where::current()) const;                           // how many tiles of n
  Tensor divide(int mode, Int n, Where at = Where::current()) const;      // logical_divide: (.., n, tiles of n, ..)
  Tensor slice(int mode, Int index, Where at = Where::current()) const;   // without this mode
  Tensor transposed(Where at = Where::current()) const;                   // the last two modes change places
  Tensor exactly(const Coord& shape, Where at = Where::current()) const;  // the same memory, known to be this large
  Bool is_exactly(const Coord& shape, Where at = Where::current()) const;
  // The same memory where the author answers for every coordinate: no access is masked.
  Tensor unmasked() const;
  // The same bytes as elements of another size: bf16 pairs as i32. The contiguous mode's extent changes; what does not
  // come out even (extents, strides, the position in the tensor) is refused.
  Tensor recast(Kind, Where at = Where::current()) const;

  Vec load(const Coord& at, int lanes = 1, Where where = Where::current()) const;  // lanes along the contiguous mode
  void store(const Coord& at, VecArg value) const;                                 // converted to the element type
  // Lanes along a mode with any stride: a vector where it is contiguous, one element for all where its stride is 0,
  // else one access a lane.
  Vec load_along(int mode, const Coord& at, int lanes, Where where = Where::current()) const;
  void store_along(int mode, const Coord& at, VecArg value) const;
  void prefetch(const Coord& at, Where where = Where::current()) const;  // may lie outside

 private:
  Scalar address(const Coord& at) const;
  std::optional<Scalar> mask(const Coord& at, int lanes, int along, const Where&) const;  // none: all of it exists
  int vector_mode(int lanes, const Where&) const;
  bool rank_is(const Coord&, const char* what, const Where&) const;
  bool mode_is_there(int mode, const char* what, const Where&) const;
  Tensor moved(const std::vector<Offset>& bytes, std::vector<BasicMode<Int>> modes) const;
  Scalar pointer_;
  Offset linear_;  // bytes from pointer_: what is known of them, and for swizzled layouts all
  Kind element_;
  TensorLayout layout_;
  Space space_;
};

// Records `body` for a tile known to be complete and again for one with edges; the kernel takes the right one.
void full_or_edge(const Tensor& tile, const Coord& shape, const std::function<void(const Tensor&)>& body,
                  Where at = Where::current());
// The first `rows` slices of mode 0.
std::vector<Tensor> rows_of(const Tensor& tile, int rows, Where at = Where::current());

}  // namespace gemmsmith
