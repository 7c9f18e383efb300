// Layouts: functions from coordinates to offsets, as host objects usable outside any kernel.
//
// A mode is a leaf (extent, stride) or a tuple of modes: a nested tuple of leaves, printed as CuTe prints it, shape:stride,
// as in ((2,4),8):((1,2),16). Write its leaves, left to right, as (s_0:d_0) ... (s_r:d_r). They alone make the function of
// an index,
//
//   offset(i) = sum_k d_k * ((i / (s_0 ... s_(k-1))) mod s_k),       the last digit without its mod,
//
// so that an index may run past size() = s_0 ... s_r, where the last leaf goes on. The nesting says which coordinates name
// an index: (i, j) of ((2,4),8) is a digit of each part, and so is ((a,b),j). offset is additive over the digits, which is
// what the algebra (layout_algebra.h) rests on.
//
// A layout is such a tuple, whose parts are its modes (rows, columns, ...), with what is done to the sum: a swizzle, or
// another layout (composed layouts). In memory strides count bytes, so that a swizzle, which permutes address bits, needs
// no element size; the algebra has no unit.
//
// All of it is written over a number type N. int64_t gives the layouts of tiles that are known in full; SymInt
// (sym_int.h) those with symbols in them, and strides along basis directions; the tile language's Int, whose arithmetic
// folds or records code, those of tensors with run-time extents. What needs to decide something about a number asks
// known(): an algorithm may refuse a number that it does not know, never guess it.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gemmsmith/nested.h"
#include "gemmsmith/result.h"
#include "gemmsmith/sym_int.h"

namespace gemmsmith {

// Which mode of a matrix is contiguous. A matrix of one row or column may count as either: `row` then.
enum class Major : uint8_t { row, column, none };

// CuTe's Swizzle<bits,base,shift>: address bits [base, base+bits) are xor-ed with the bits `shift` above them (below them
// if shift is negative, with the window moved up instead). bits,4,3 are the 32, 64 and 128 byte modes of TMA.
struct Swizzle {
  int bits = 0;
  int base = 4;
  int shift = 3;
  int64_t mask() const { return ((int64_t(1) << bits) - 1) << (base + (shift < 0 ? -shift : 0)); }
  int width_bytes() const { return 16 << bits; }  // of a mode of TMA
  // No bit is xor-ed with itself, and all of them are bits of a positive offset.
  bool valid() const {
    const int distance = shift < 0 ? -shift : shift;
    return bits >= 0 && bits <= 62 && base >= 0 && base <= 62 && distance <= 62 && (bits == 0 || bits <= distance) &&
           base + bits + distance <= 62;
  }
  int64_t operator()(int64_t byte) const {
    return byte ^ (shift < 0 ? (byte << -shift) & mask() : (byte >> shift) & mask());
  }
  friend bool operator==(const Swizzle&, const Swizzle&) = default;
};

// The value of a number that is known on the host.
inline std::optional<int64_t> known(int64_t n) { return n; }
template <class N>
std::optional<int64_t> known(const N& n) {
  return n.constant();
}

// Offsets may be of another type than coordinates: 32-bit indices and 64-bit addresses, numbers and scaled bases.
template <class N>
struct OffsetOf {
  using type = N;
};
template <>
struct OffsetOf<SymInt> {
  using type = Stride;
};
template <class N>
using OffsetType = typename OffsetOf<N>::type;

template <class N>
struct BasicLeaf {
  N extent;
  OffsetType<N> stride;
  friend bool operator==(const BasicLeaf& a, const BasicLeaf& b)
    requires std::equality_comparable<N>
  {
    return a.extent == b.extent && a.stride == b.stride;
  }
};
template <class N>
using BasicMode = Nested<BasicLeaf<N>>;
template <class N>
using Leaves = std::vector<BasicLeaf<N>>;

namespace detail {
template <class N>
N size(const Leaves<N>& leaves, size_t end) {
  if (end == 0) return N(1);
  if (end == 1) return leaves[0].extent;
  return size(leaves, end - 1) * leaves[end - 1].extent;
}
template <class N>
OffsetType<N> offset(const Leaves<N>& leaves, size_t begin, const N& index) {
  // Recursive because staged numbers cannot be assigned to.
  if (begin == leaves.size()) return OffsetType<N>(0);
  if (begin + 1 == leaves.size()) return index * leaves[begin].stride;
  return N(index % leaves[begin].extent) * leaves[begin].stride +
         offset(leaves, begin + 1, N(index / leaves[begin].extent));
}
}  // namespace detail

// How many indices a mode has. A mode without leaves has one.
template <class N>
N size(const BasicMode<N>& mode) {
  const Leaves<N> leaves = mode.leaves();
  return detail::size<N>(leaves, leaves.size());
}

// The offset of an index, which may run past size(): the last leaf goes on.
template <class N>
OffsetType<N> offset(const BasicMode<N>& mode, std::type_identity_t<N> index) {
  return detail::offset<N>(mode.leaves(), 0, index);
}

// Whether a leaf goes on at stride `next`: extent * stride == next, as far as can be told.
template <class N>
bool continues(const BasicLeaf<N>& leaf, const OffsetType<N>& next) {
  const auto extent = known(leaf.extent), stride = known(leaf.stride), there = known(next);
  int64_t continued = 0;
  return extent && stride && there && !__builtin_mul_overflow(*extent, *stride, &continued) && continued == *there;
}
inline bool continues(const BasicLeaf<SymInt>& leaf, const Stride& next) { return leaf.extent * leaf.stride == next; }

// The same function of the indices below size() with as few leaves as can be told: neighbours that continue each other
// become one, extents of 1 vanish. One leaf is left bare, several are a flat tuple.
template <class N>
BasicMode<N> coalesce(const BasicMode<N>& mode) {
  Leaves<N> out;
  const Leaves<N> leaves = mode.leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const BasicLeaf<N>& leaf = leaves[i];
    const bool last = i + 1 == leaves.size();
    // Something has to be left, and the last leaf says how offsets go on past the end.
    if (known(leaf.extent) == 1 && !(last && out.empty())) continue;
    if (!out.empty() && continues(out.back(), leaf.stride)) {
      const BasicLeaf<N> merged{N(out.back().extent * leaf.extent), out.back().stride};
      out.pop_back();
      out.push_back(merged);
      continue;
    }
    out.push_back(leaf);
  }
  return out.size() == 1 ? BasicMode<N>(out[0]) : BasicMode<N>::tuple(out);
}

// A mode divided by a tile: the indices in one tile, and the tiles. Both are flat tuples.
template <class N>
struct Divided {
  BasicMode<N> tile, tiles;
};

namespace detail {
Error does_not_divide(const std::optional<int64_t>& tile, const std::optional<int64_t>& extent, size_t leaf);

template <class N>
Result<Divided<N>> divide(const Leaves<N>& mode, const N& n) {
  if (mode.empty()) return does_not_divide(known(n), 1, 0);
  const BasicLeaf<N>& leaf = mode[0];
  const bool last = mode.size() == 1;
  const auto tile = known(n), extent = known(leaf.extent);
  if (tile && *tile <= 0) return does_not_divide(tile, extent, mode.size());
  const Leaves<N> rest(mode.begin() + 1, mode.end());
  if (!last && tile && extent && *extent > 0 && *tile % *extent == 0) {  // all of this leaf, perhaps more of the next
    if (*tile == *extent) return Divided<N>{BasicMode<N>::tuple({leaf}), BasicMode<N>::tuple(rest)};
    GS_TRY(const Divided<N> more, divide<N>(rest, N(n / leaf.extent)));
    Divided<N> out{BasicMode<N>::tuple({leaf}), more.tiles};
    for (const BasicMode<N>& inner : more.tile) out.tile.push_back(inner);
    return out;
  }
  if (!last && !(tile && extent && *extent % *tile == 0)) return does_not_divide(tile, extent, mode.size());
  Divided<N> out{BasicMode<N>::tuple({{n, leaf.stride}}),
                 BasicMode<N>::tuple({{N((leaf.extent + (n - N(1))) / n), n * leaf.stride}})};
  for (const BasicLeaf<N>& outer : rest) out.tiles.push_back(outer);
  return out;
}
}  // namespace detail

// CuTe's logical_divide of one mode by the first n indices: offset(mode, i) = offset(tile, i % n) + offset(tiles, i / n).
// The last leaf may be divided by anything, its last tile is then partial; an inner leaf only by a known divisor or,
// together with its neighbours, by a known multiple. Errors: a tile of 0, one that splits an inner leaf unevenly, one
// that is not known where it has to be. layout_algebra.h divides by any layout.
template <class N>
Result<Divided<N>> divide(const BasicMode<N>& mode, std::type_identity_t<N> n) {
  return detail::divide<N>(mode.leaves(), n);
}

// offset(coordinate) = outer(swizzle(start + sum of the modes' offsets)), where outer is the identity unless given.
template <class N>
struct BasicLayout {
  BasicMode<N> modes;
  Swizzle swizzle;
  int element_bytes = 1;
  Nested<N> start;                  // a coordinate of `outer`, or an offset; the empty tuple is 0
  std::vector<BasicMode<N>> outer;  // at most one

  int rank() const { return int(modes.size()); }
  N extent(int mode) const { return size(modes[size_t(mode)]); }
  // The offset before start, swizzle and outer: the part of a layout that is additive over the modes.
  OffsetType<N> linear(const std::vector<N>& coordinate) const { return accumulate(OffsetType<N>(0), coordinate, 0); }
  friend bool operator==(const BasicLayout& a, const BasicLayout& b)
    requires std::equality_comparable<N>
  {
    return a.modes == b.modes && a.swizzle == b.swizzle && a.element_bytes == b.element_bytes && a.start == b.start &&
           a.outer == b.outer;
  }

 private:
  OffsetType<N> accumulate(const OffsetType<N>& sum, const std::vector<N>& coordinate, size_t mode) const {
    if (mode == modes.size() || mode == coordinate.size()) return sum;
    // Recursive because staged numbers cannot be assigned to.
    return accumulate(sum + offset(modes[mode], coordinate[mode]), coordinate, mode + 1);
  }
};

// Layouts whose numbers are all known.
using Leaf = BasicLeaf<int64_t>;
using Mode = BasicMode<int64_t>;
using Layout = BasicLayout<int64_t>;

// Where an element is: linear() through the swizzle.
int64_t byte_of(const Layout&, const std::vector<int64_t>& coordinate);
// Elements, and bytes from offset 0 to the end of what can be addressed, padding included. Of valid layouts only.
int64_t elements(const Layout&);
int64_t span_bytes(const Layout&);
// "((128),(64,2)):((128),(2,16384)) o Sw<3,4,3>"; layout_text.h parses it.
std::string print(const Layout&);
// A layout of memory that can be worked with: positive extents, strides that are not negative, spans below 2^63 bytes, a
// known element, a swizzle of TMA, not composed with another layout.
Status validate(const Layout&);

// A tile of a matrix whose rows (or columns: Major::column) are contiguous, with the widest swizzle of at most
// `max_bytes` that divides the contiguous extent: what TMA, wgmma and stmatrix work on.
Layout swizzled_tile(int64_t rows, int64_t columns, int element_bytes, Major major = Major::row, int max_bytes = 128);
// A row-major tile with `pad_bytes` between rows.
Layout padded_tile(int64_t rows, int64_t columns, int element_bytes, int64_t pad_bytes = 0);
// Panels of `panel` rows, each stored column by column: what a register tile of a packed GEMM streams through. Of every
// row, `group` neighbouring columns lie side by side: 2 for bf16 dot products, 4 for those of bytes. `group` divides
// columns.
Layout panels(int64_t rows, int64_t columns, int64_t panel, int element_bytes, int group = 1);

}  // namespace gemmsmith
