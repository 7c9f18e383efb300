#include "dsl/hopper_layout.h"

#include <algorithm>

namespace gemmsmith {
namespace {

constexpr int kMaxBox = 256;
constexpr int kStepBytes = 32;  // of k, of every wgmma

Error bad_tile(const Layout& tile, const std::string& given, const std::string& limit) {
  return Error{"tile " + print(tile), given, limit, {}, {}};
}

bool row_contiguous(const Layout& tile) {
  const auto leaves = tile.modes[0].leaves();
  return !leaves.empty() && leaves.front().stride == tile.element_bytes;
}

std::string at(int row, int column) { return "(" + std::to_string(row) + "," + std::to_string(column) + ")"; }

}  // namespace

Result<TmaBoxes> tma_boxes(const Layout& tile, int rows) {
  GS_CHECK(validate(tile));
  if (tile.rank() != 2) return bad_tile(tile, "a rank of " + std::to_string(tile.rank()), "is not 2");
  const bool by_rows = row_contiguous(tile);
  const int columns = int(tile.extent(1));
  if (rows < 1 || rows > tile.extent(0))
    return bad_tile(tile, std::to_string(rows) + " rows", "are not some of its " + std::to_string(tile.extent(0)));
  TmaBoxes boxes;
  const auto first_leaf = [](const Mode& mode, int n) {
    return int(std::min<int64_t>(mode.leaves().front().extent, n));
  };
  boxes.rows = first_leaf(tile.modes[0], rows);
  boxes.columns = first_leaf(tile.modes[1], columns);
  const int inner = by_rows ? boxes.rows : boxes.columns, outer = by_rows ? boxes.columns : boxes.rows;
  if (outer > kMaxBox || inner > kMaxBox)
    return bad_tile(tile, "a box of " + std::to_string(boxes.rows) + " x " + std::to_string(boxes.columns),
                    "has a side of more than 256, the limit of TMA");
  if (rows % boxes.rows != 0)
    return bad_tile(tile, std::to_string(rows) + " rows", "are not whole boxes of " + std::to_string(boxes.rows));
  // A box fills shared memory densely, the contiguous mode first.
  for (int r = 0; r < boxes.rows; ++r)
    for (int c = 0; c < boxes.columns; ++c) {
      const int64_t dense = (by_rows ? r + int64_t(c) * inner : c + int64_t(r) * inner) * tile.element_bytes;
      if (tile.linear({r, c}) != dense)
        return bad_tile(tile, "byte " + std::to_string(tile.linear({r, c})) + " at " + at(r, c),
                        "is not where a box of TMA puts it, byte " + std::to_string(dense));
    }
  for (int r = 0; r < rows; r += boxes.rows)
    for (int c = 0; c < columns; c += boxes.columns) boxes.at.push_back({r, c, tile.linear({r, c})});
  return boxes;
}

// PTX ISA, "Shared Memory Matrix Layout": K-major atoms are 8 rows of one swizzle width, MN-major ones 8 k of it; SBO
// steps over atoms along the 8, LBO along the width.
Result<WgmmaOperand> wgmma_operand(const Layout& tile, int instruction_mn) {
  GS_CHECK(validate(tile));
  WgmmaOperand operand;
  operand.mn_major = row_contiguous(tile);
  const bool k_major = !operand.mn_major;
  const int element = tile.element_bytes, step = kStepBytes / element;
  const int unit = tile.swizzle.width_bytes(), width = unit / element;
  const int rows = int(tile.extent(0)), columns = int(tile.extent(1));
  if (rows % instruction_mn != 0 || columns % step != 0)
    return bad_tile(
        tile, std::to_string(rows) + " x " + std::to_string(columns),
        "is not a whole number of instructions of " + std::to_string(instruction_mn) + " x " + std::to_string(step));
  if (operand.mn_major && element != 2)
    return bad_tile(tile, "an MN-major operand of " + std::to_string(element) + "-byte elements",
                    "is not there: only 16-bit types can be MN-major");
  if (operand.mn_major && tile.swizzle.bits == 0)
    return bad_tile(tile, "an MN-major operand without a swizzle", "is not offered: 16 contiguous elements have one");
  const int64_t sbo = k_major ? tile.linear({std::min(8, rows - 1), 0}) : tile.linear({0, 8});
  const int64_t lbo = k_major ? (unit < kStepBytes ? tile.linear({0, width}) : 16)
                              : (instruction_mn > width ? tile.linear({width, 0}) : 16);
  for (int mn = 0; mn < instruction_mn; ++mn)
    for (int k = 0; k < step; ++k) {
      const int64_t canonical = k_major ? (mn / 8) * sbo + (mn % 8) * unit + k % width * element + k / width * lbo
                                        : (mn / width) * lbo + (mn % width) * element + (k / 8) * sbo + (k % 8) * unit;
      if (canonical != tile.linear({mn, k}))
        return bad_tile(tile, "byte " + std::to_string(tile.linear({mn, k})) + " at " + at(mn, k),
                        "is not where a wgmma operand has it, byte " + std::to_string(canonical));
    }
  const uint64_t mode = tile.swizzle.bits ? uint64_t(4 - tile.swizzle.bits) : 0;  // 1: 128 bytes, 2: 64, 3: 32
  constexpr int64_t kField = 0x3FFF;
  if ((sbo >> 4) > kField || (lbo >> 4) > kField)
    return bad_tile(tile, "a step of " + std::to_string(std::max(sbo, lbo)) + " bytes",
                    "does not fit the 14 bits of a descriptor");
  operand.descriptor = mode << 62 | uint64_t(sbo >> 4) << 32 | uint64_t(lbo >> 4) << 16;
  for (int k = 0; k < columns; k += step) operand.k_steps.push_back(tile.linear({0, k}));
  for (int mn = 0; mn < rows; mn += instruction_mn) operand.mn_steps.push_back(tile.linear({mn, 0}));
  return operand;
}

const FragmentLayout& wgmma_fragment() {
  static const FragmentLayout layout{Mode{{4, 0}, {8, 1}, {4, 16}}, Mode{{4, 2}, {8, 0}, {4, 0}},
                                     Mode{{2, 0}, {2, 8}, {64, 0}}, Mode{{2, 1}, {2, 0}, {64, 8}}};
  return layout;
}
const MatrixRows& stmatrix_rows(bool transposed) {
  static const MatrixRows rows{Mode{{8, 1}, {2, 8}, {2, 0}, {4, 16}}, Mode{{8, 0}, {2, 0}, {2, 8}, {4, 0}}};
  static const MatrixRows columns{Mode{{8, 0}, {2, 8}, {2, 0}, {4, 16}}, Mode{{8, 1}, {2, 0}, {2, 8}, {4, 0}}};
  return transposed ? columns : rows;
}

}  // namespace gemmsmith
