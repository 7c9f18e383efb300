// Layouts: functions from coordinates to byte offsets, as host objects usable outside any kernel.
//
// A layout has modes (rows, columns, ...); a mode is a list of (extent, stride) leaves, innermost first, as in CuTe:
// rows (128):(128), columns (64,2):(2,16384). An index into a mode runs through its leaves in mixed radix, the last one
// unbounded. Strides are in bytes, so that a swizzle, which permutes address bits, composes without an element size.
//
// The algebra is written once over a number type N. int64_t gives the layouts of tiles that are known in full; the tile
// language's Int, whose arithmetic folds or records code, those of tensors with run-time extents and strides. What
// needs to decide something about a number asks known(): an algorithm may refuse a number that it does not know, never
// guess it.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gemmsmith/result.h"

namespace gemmsmith {

// Which mode of a matrix is contiguous. A matrix of one row or column may count as either: `row` then.
enum class Major : uint8_t { row, column, none };

// Address bits [4, 4+bits) are xor-ed with bits [7, 7+bits): CuTe's Swizzle<bits,4,3>, the 32, 64 and 128 byte modes of
// TMA.
struct Swizzle {
  int bits = 0;
  int64_t mask() const { return ((int64_t(1) << bits) - 1) << 4; }
  int width_bytes() const { return 16 << bits; }
  int64_t operator()(int64_t byte) const { return byte ^ ((byte >> 3) & mask()); }
  friend bool operator==(const Swizzle&, const Swizzle&) = default;
};

// The value of a number that is known on the host.
inline std::optional<int64_t> known(int64_t n) { return n; }
template <class N>
std::optional<int64_t> known(const N& n) {
  return n.constant();
}

// Byte offsets may need more bits than coordinates do: 32-bit indices, 64-bit addresses.
template <class N>
struct OffsetOf {
  using type = N;
};
template <class N>
using OffsetType = typename OffsetOf<N>::type;

template <class N>
struct BasicLeaf {
  N extent;
  OffsetType<N> stride;  // bytes
  friend bool operator==(const BasicLeaf&, const BasicLeaf&)
    requires std::same_as<N, int64_t>
  = default;
};
template <class N>
using BasicMode = std::vector<BasicLeaf<N>>;

// How many indices a mode has. A mode without leaves has one.
template <class N>
N size(const BasicMode<N>& mode) {
  if (mode.empty()) return N(1);
  if (mode.size() == 1) return mode[0].extent;
  N inner = size(BasicMode<N>(mode.begin(), mode.end() - 1));
  return inner * mode.back().extent;
}

// The byte offset of an index, which may run past size(): the last leaf extends.
template <class N>
OffsetType<N> offset(const BasicMode<N>& mode, std::type_identity_t<N> index) {
  if (mode.empty()) return OffsetType<N>(0);
  if (mode.size() == 1) return index * mode[0].stride;
  const BasicMode<N> outer(mode.begin() + 1, mode.end());
  return N(index % mode[0].extent) * mode[0].stride + offset(outer, N(index / mode[0].extent));
}

// The same function with as few leaves as can be told: neighbours that continue each other become one, extents of 1
// vanish.
template <class N>
BasicMode<N> coalesce(const BasicMode<N>& mode) {
  BasicMode<N> out;
  for (size_t i = 0; i < mode.size(); ++i) {
    const BasicLeaf<N>& leaf = mode[i];
    const bool last = i + 1 == mode.size();
    // An extent of 1 in last place still says how offsets go on past the end, unless it is the only leaf that does.
    if (known(leaf.extent) == 1 && !(last && out.empty())) continue;
    if (!out.empty()) {
      const auto extent = known(out.back().extent), stride = known(out.back().stride), next = known(leaf.stride);
      int64_t continued = 0;
      if (extent && stride && next && !__builtin_mul_overflow(*extent, *stride, &continued) && continued == *next) {
        const BasicLeaf<N> merged{N(out.back().extent * leaf.extent), out.back().stride};
        out.pop_back();
        out.push_back(merged);
        continue;
      }
    }
    out.push_back(leaf);
  }
  return out;
}

namespace detail {
Error does_not_divide(const std::optional<int64_t>& tile, const std::optional<int64_t>& extent, size_t leaf);
}

// A mode divided by a tile: the indices in one tile, and the tiles.
template <class N>
struct Divided {
  BasicMode<N> tile, tiles;
};

// CuTe's logical_divide of one mode: offset(mode, i) = offset(tile, i % n) + offset(tiles, i / n). The last leaf may be
// divided by anything, its last tile is then partial; an inner leaf only by a known divisor or, together with its
// neighbours, by a known multiple. Errors: a tile of 0, one that splits an inner leaf unevenly, one that is not known
// where it has to be.
template <class N>
Result<Divided<N>> divide(const BasicMode<N>& mode, std::type_identity_t<N> n) {
  if (mode.empty()) return detail::does_not_divide(known(n), 1, 0);
  const BasicLeaf<N>& leaf = mode[0];
  const bool last = mode.size() == 1;
  const auto tile = known(n), extent = known(leaf.extent);
  if (tile && *tile <= 0) return detail::does_not_divide(tile, extent, mode.size());
  const BasicMode<N> rest(mode.begin() + 1, mode.end());
  if (!last && tile && extent && *extent > 0 &&
      *tile % *extent == 0) {  // all of this leaf, and perhaps more of the next
    if (*tile == *extent) return Divided<N>{{leaf}, rest};
    GS_TRY(const Divided<N> more, divide(rest, N(n / leaf.extent)));
    Divided<N> out{{leaf}, more.tiles};
    for (const BasicLeaf<N>& inner : more.tile) out.tile.push_back(inner);
    return out;
  }
  if (!last && !(tile && extent && *extent % *tile == 0)) return detail::does_not_divide(tile, extent, mode.size());
  Divided<N> out{{{n, leaf.stride}}, {{N((leaf.extent + (n - N(1))) / n), n * leaf.stride}}};
  for (const BasicLeaf<N>& outer : rest) out.tiles.push_back(outer);
  return out;
}

template <class N>
struct BasicLayout {
  std::vector<BasicMode<N>> modes;
  Swizzle swizzle;
  int element_bytes = 1;

  int rank() const { return int(modes.size()); }
  N extent(int mode) const { return size(modes[size_t(mode)]); }
  // The byte offset before the swizzle: the part of a layout that is additive over the modes.
  OffsetType<N> linear(const std::vector<N>& coordinate) const {
    OffsetType<N> sum(0);
    return accumulate(sum, coordinate, 0);
  }
  friend bool operator==(const BasicLayout&, const BasicLayout&)
    requires std::same_as<N, int64_t>
  = default;

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
// "((128),(64,2)):((128),(2,16384)) o Sw<3,4,3>"; one leaf or several, every mode has its own parentheses.
std::string print(const Layout&);
// A layout that can be worked with: positive extents, strides that are not negative, spans below 2^63 bytes, a known
// element.
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
