// The algebra of layouts (layout.h): CuTe's, for modes whose numbers are known or symbolic and whose strides may be
// scaled bases. Everything here is a pure function of modes; a layout's swizzle and outer layout stay outside of it
// (of a composed layout the inner modes are what is divided, multiplied, grouped).
//
// Definitions. A mode A is a function A(i) of an index, and of any coordinate that names the index. size(A) is the number
// of its indices, cosize(A) = 1 + the largest offset. With E the operation and i an index, where it is not refused:
//
//   composition     R = A o B            R(c) = A(B(c)), R nested like B or deeper
//   complement      R of A up to M       A(i) + R(j) are all different; R(j) is increasing in j; they cover [0, M) if each
//                                        stride of A is a multiple of extent * stride of the next smaller one
//   right inverse   R of A               A(R(i)) = i for i < size(R), as far as A reaches 0, 1, 2, ... in whole leaves
//   left inverse    L of A               A(L(A(i))) = A(i); L(A(i)) = i where no stride of A is 0
//   divide          A / B                A o (B, complement of B up to size(A)): tiles of the form B, and the tiles
//   product         A * B                (A, complement of A o B): B is how copies of A are laid out
//
// What has to be decided about a symbol and cannot be is refused, never guessed. A symbol stands for a positive number.
// Errors say which modes do not fit, and what would; so does a number beyond 64 bits, which never wraps.
//
// Sources: CuTe (CUTLASS, include/cute/layout.hpp) for names, results and nesting; C. Cecka, "CuTe Layout Representation
// and Algebra"; J. Shah, "A note on the algebra of CuTe layouts" for admissibility. Composition here is checked more
// strictly than CuTe's: A o B is taken leaf by leaf of B, which is A(B(c)) only if the digits never carry, and the carry is
// looked for.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/layout.h"

namespace gemmsmith {

using Shape = Nested<SymInt>;
using Coordinate = Nested<SymInt>;
using SymbolicLeaf = BasicLeaf<SymInt>;
using SymbolicMode = BasicMode<SymInt>;
using SymbolicLayout = BasicLayout<SymInt>;

SymbolicMode symbolic(const Mode&);
SymbolicLayout symbolic(const Layout&);
// All numbers known and all strides without basis, or an error that names the first one that is not.
Result<Mode> known(const SymbolicMode&);
Result<Layout> known(const SymbolicLayout&);

// Shapes and coordinates.
Shape shape_of(const SymbolicMode&);
SymbolicMode compact(const Shape&);  // (4,(2,8)) -> (4,(2,8)):(1,(4,8)): a shape as the identity of its indices
// Strides that grow from leaf to leaf in the order of `order`'s numbers (a number orders a whole part); ties go left to
// right. CuTe's make_ordered_layout. Errors: an order that is not nested like the shape, or not known.
Result<SymbolicMode> ordered(const Shape&, const Nested<int64_t>& order);
SymInt product(const Shape&);
Shape product_each(const Shape&);  // the product of each part: (2,(3,4)) -> (2,12)
// Part by part. A number divides the parts of a tuple from the first on, until it is used up.
Result<Shape> ceil_div(const Shape&, const Shape&);
Result<Shape> shape_div(const Shape&, const Shape&);  // CuTe's: ceil_div where neither divides is an error
// Part by part; a part that one of them lacks counts as 0. Errors: a number against a tuple, unless it is 0.
Result<Coordinate> add(const Coordinate&, const Coordinate&);
Result<Coordinate> subtract(const Coordinate&, const Coordinate&);
// The index that a coordinate names, colexicographic; a number in place of a part is an index of that part.
Result<SymInt> index_of(const Coordinate&, const Shape&);
// The coordinate of an index, or with tuples for indices of their parts. The last extent of a tuple is not looked at: an
// index past the end goes on there. Errors: a tuple that is not nested like the shape.
Result<Coordinate> coordinate_of(const Coordinate& index, const Shape&);
// The next coordinate in colexicographic order, after the last the first. Errors: a coordinate that is not nested like
// the shape; numbers that are not known.
Result<Coordinate> increment(const Coordinate&, const Shape&);
// Calls f with each coordinate of a known shape in colexicographic order. Errors: an extent that is not known.
Status for_each_coordinate(const Shape&, const std::function<void(const Coordinate&)>&);
// Whether every coordinate of `a` is one of `b`: nested like `a` or deeper with parts of the same sizes.
bool compatible(const Shape& a, const Shape& b);

// Evaluation. Plain strides give a number, scaled bases a coordinate, with 0 in the parts that no stride steps in.
Result<Coordinate> evaluate(const SymbolicMode&, const Coordinate&);
// Through start, swizzle and outer layout. Errors: a coordinate that does not fit, a swizzle of what is not known.
Result<Coordinate> evaluate(const SymbolicLayout&, const Coordinate&);
// 1 + the largest offset; of scaled bases the product over the parts. Errors: overflow.
Result<SymInt> cosize(const SymbolicMode&);

// Nesting. The function of an index stays what it is.
SymbolicMode flatten(const SymbolicMode&);
// Modes [begin, end) become one. Errors: a range that is not there.
Result<SymbolicMode> group(const SymbolicMode&, size_t begin, size_t end);
// coalesce() part by part where `profile` is a tuple; of whole parts where it is a leaf.
Result<SymbolicMode> coalesce_by(const SymbolicMode&, const Nested<int64_t>& profile);
// Leaves of stride 0 are left out: each offset once. filter_zeros keeps them with extent 1.
SymbolicMode filter(const SymbolicMode&);
SymbolicMode filter_zeros(const SymbolicMode&);
// R with A(R(j)) = 0: the indices of the leaves of stride 0, as a mode of the same flat order. 1:0 if there are none.
SymbolicMode nullspace(const SymbolicMode&);

// A coordinate with gaps: a leaf without a number keeps that part. What is left of the mode, and the offset of what is
// fixed. Errors: a coordinate that does not fit.
struct Sliced {
  SymbolicMode rest;
  Coordinate offset;
};
Result<Sliced> slice(const SymbolicMode&, const Nested<std::optional<SymInt>>&);

// Algebra.
// Past its size A goes on with its last leaf, also where that is 1:d; a last leaf 1:0 only pads the rank and is passed by.
Result<SymbolicMode> composition(const SymbolicMode& a, const SymbolicMode& b);
// Of plain strides up to `end`; nothing is 1, which leaves the gaps inside of A. Of scaled bases part by part.
Result<SymbolicMode> complement(const SymbolicMode&, const std::optional<Shape>& end = {});
Result<SymbolicMode> right_inverse(const SymbolicMode&);
Result<SymbolicMode> left_inverse(const SymbolicMode&);
// The largest R with a(R(i)) = b(R(i)) = i, and how many such i there are.
Result<SymbolicMode> max_common_layout(const SymbolicMode& a, const SymbolicMode& b);
Result<SymInt> max_common_vector(const SymbolicMode& a, const SymbolicMode& b);

// The same bits in units of `to_bits` instead of `from_bits`: of stride 1 the extent changes, of others the stride.
// Errors: sizes of which neither divides the other; extents or strides that do not come out even, with the leaf.
Result<SymbolicMode> recast(const SymbolicMode&, int from_bits, int to_bits);
Result<SymbolicLayout> recast(const SymbolicLayout&, int from_bits, int to_bits);

// A tiler: a mode tiles all of what it meets; a tuple tiles part by part, further parts are left as they are; nothing
// says that the part is a (tile, tiles) pair already.
using Tiler = Nested<std::optional<SymbolicMode>>;
Tiler tiler(const SymbolicMode&);
Tiler tiler(const Shape&);  // each number n is n:1

Result<SymbolicMode> composition(const SymbolicMode&, const Tiler&);     // part by part
Result<SymbolicMode> logical_divide(const SymbolicMode&, const Tiler&);  // ((tile_m, tiles_m), (tile_n, tiles_n), ...)
Result<SymbolicMode> zipped_divide(const SymbolicMode&, const Tiler&);   // ((tile_m, tile_n), (tiles_m, tiles_n, ...))
Result<SymbolicMode> tiled_divide(const SymbolicMode&, const Tiler&);    // ((tile_m, tile_n), tiles_m, tiles_n, ...)
Result<SymbolicMode> flat_divide(const SymbolicMode&, const Tiler&);     // (tile_m, tile_n, tiles_m, tiles_n, ...)

Result<SymbolicMode> logical_product(const SymbolicMode&, const SymbolicMode&);  // (block, copies)
Result<SymbolicMode> zipped_product(const SymbolicMode&, const SymbolicMode&);   // (block, copies), the same for modes
Result<SymbolicMode> tiled_product(const SymbolicMode&, const SymbolicMode&);    // (block, copies_0, copies_1, ...)
Result<SymbolicMode> flat_product(const SymbolicMode&, const SymbolicMode&);     // (block_0, ..., copies_0, ...)
Result<SymbolicMode> blocked_product(const SymbolicMode&, const SymbolicMode&);  // ((block_0, copies_0), ...)
Result<SymbolicMode> raked_product(const SymbolicMode&, const SymbolicMode&);    // ((copies_0, block_0), ...)
// Copies of the block until they fill the shape, in the order of `order` (nothing: the first mode first). Errors: a
// block that does not divide the shape.
Result<SymbolicMode> tile_to_shape(const SymbolicMode& block, const Shape&,
                                   const std::optional<Nested<int64_t>>& order = {});

// An operation on the modes of a layout that leaves what is done to their sum as it is.
template <class Operation, class... More>
Result<SymbolicLayout> on_modes(SymbolicLayout layout, const Operation& operation, const More&... more) {
  GS_TRY(layout.modes, operation(layout.modes, more...));
  return layout;
}

}  // namespace gemmsmith
