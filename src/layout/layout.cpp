#include "gemmsmith/layout.h"

#include "gemmsmith/layout_algebra.h"
#include "gemmsmith/layout_text.h"

namespace gemmsmith {

namespace {
std::string text_of(const std::optional<int64_t>& n) { return n ? std::to_string(*n) : "a run-time number"; }

// Offsets of the last element of a mode, or nothing if that overflows.
bool add_span(const Mode& mode, int64_t& span) {
  for (const Leaf& leaf : mode.leaves()) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(leaf.extent - 1, leaf.stride, &bytes) || __builtin_add_overflow(span, bytes, &span))
      return false;
  }
  return true;
}
}  // namespace

Error detail::does_not_divide(const std::optional<int64_t>& tile, const std::optional<int64_t>& extent, size_t leaves) {
  const std::string given = "a tile of " + text_of(tile);
  if (tile && *tile <= 0) return {"divide", given, "is not positive", "", {}};
  if (leaves == 0) return {"divide", given, "does not divide a mode without leaves", "a tile of 1", {}};
  std::string remedy;
  if (extent) remedy = "a divisor or a multiple of " + std::to_string(*extent);
  return {"divide",
          given,
          "does not divide the inner leaf of the mode, which has " + text_of(extent) + " elements",
          remedy,
          {}};
}

int64_t byte_of(const Layout& layout, const std::vector<int64_t>& coordinate) {
  GS_ASSERT(coordinate.size() == layout.modes.size(), "a coordinate has one index for each mode");
  return layout.swizzle(layout.linear(coordinate));
}

int64_t elements(const Layout& layout) {
  int64_t n = 1;
  for (const Mode& mode : layout.modes) n *= size(mode);
  return n;
}

int64_t span_bytes(const Layout& layout) {
  int64_t last = 0;
  for (const Mode& mode : layout.modes) add_span(mode, last);
  const int64_t span = last + layout.element_bytes;
  if (!layout.swizzle.bits) return span;
  const int64_t row = 128;  // a swizzle moves bytes within their 128
  return (span + row - 1) / row * row;
}

std::string print(const Layout& layout) { return print(symbolic(layout)); }

Status validate(const Layout& layout) {
  const auto wrong = [&](const std::string& limit, const std::string& remedy) {
    return Error{"layout", print(layout), limit, remedy, {}};
  };
  if (layout.element_bytes <= 0)
    return wrong("has elements of " + std::to_string(layout.element_bytes) + " bytes", "1 or more");
  if (layout.swizzle.bits < 0 || layout.swizzle.bits > 3)
    return wrong("has a swizzle of " + std::to_string(layout.swizzle.bits) + " bits",
                 "0 to 3: 16, 32, 64 or 128 bytes");
  if (layout.swizzle.bits && (layout.swizzle.base != 4 || layout.swizzle.shift != 3))
    return wrong("has a swizzle that moves units of other than 16 bytes by other than 128", "Sw<1..3,4,3>");
  if (!layout.outer.empty() || !layout.start.empty())
    return wrong("is composed with another layout or starts elsewhere", "composition() of the two, or a moved pointer");
  int64_t last = 0, count = 1;
  for (const Mode& mode : layout.modes) {
    const std::vector<Leaf> leaves = mode.leaves();
    if (leaves.empty()) return wrong("has a mode without leaves", "a leaf 1:0");
    for (const Leaf& leaf : leaves) {
      if (leaf.extent <= 0) return wrong("has an extent of " + std::to_string(leaf.extent), "1 or more");
      if (leaf.stride < 0) return wrong("has a stride of " + std::to_string(leaf.stride), "0 or more");
      if (__builtin_mul_overflow(count, leaf.extent, &count)) return wrong("has more than 2^63 elements", "");
    }
    if (!add_span(mode, last)) return wrong("spans more than 2^63 bytes", "");
  }
  if (__builtin_add_overflow(last, int64_t(layout.element_bytes) + 128, &last))
    return wrong("spans more than 2^63 bytes", "");
  return Done{};
}

Layout swizzled_tile(int64_t rows, int64_t columns, int element_bytes, Major major, int max_bytes) {
  GS_ASSERT(major != Major::none, "a tile has a contiguous mode");
  const bool row_major = major == Major::row;
  const int64_t contiguous = row_major ? columns : rows, other = row_major ? rows : columns;
  Swizzle swizzle{3};
  while (swizzle.bits && (swizzle.width_bytes() > max_bytes || contiguous * element_bytes % swizzle.width_bytes() != 0))
    --swizzle.bits;
  int64_t width = swizzle.width_bytes() / element_bytes;
  if (width == 0 || contiguous % width != 0) width = contiguous;  // not in units of 16 bytes: rows as they are
  Mode inner{{width, element_bytes}}, outer{{other, width * element_bytes}};
  if (contiguous > width) inner.push_back({contiguous / width, other * width * element_bytes});
  if (row_major) return {{outer, inner}, swizzle, element_bytes};
  return {{inner, outer}, swizzle, element_bytes};
}

Layout padded_tile(int64_t rows, int64_t columns, int element_bytes, int64_t pad_bytes) {
  return {{{{rows, columns * element_bytes + pad_bytes}}, {{columns, element_bytes}}}, {}, element_bytes};
}

Layout panels(int64_t rows, int64_t columns, int64_t panel, int element_bytes, int group) {
  GS_ASSERT(group > 0 && columns % group == 0, "groups of columns fill a panel");
  const int64_t step = panel * group * element_bytes;  // from one group of columns to the next
  const Mode row{{panel, int64_t(group) * element_bytes}, {(rows + panel - 1) / panel, columns / group * step}};
  if (group == 1) return {{row, {{columns, step}}}, {}, element_bytes};
  return {{row, {{group, element_bytes}, {columns / group, step}}}, {}, element_bytes};
}

}  // namespace gemmsmith
