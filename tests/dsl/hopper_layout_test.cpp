#include "dsl/hopper_layout.h"

#include <gtest/gtest.h>

#include <set>

namespace gemmsmith {
namespace {

// Every tile that TMA fills is covered by its boxes exactly once, and dense in each.
TEST(HopperLayout, BoxesCoverTheirTile) {
  for (Major major : {Major::row, Major::column})
    for (int element : {1, 2, 4})
      for (int rows : {8, 16, 64, 80, 128, 176, 256})
        for (int columns : {16, 32, 64, 128, 176})
          for (int swizzle : {32, 64, 128}) {
            const Layout tile = swizzled_tile(rows, columns, element, major, swizzle);
            const auto boxes = tma_boxes(tile, rows);
            ASSERT_TRUE(boxes.ok()) << boxes.error().text();
            std::set<int64_t> bytes;
            for (const TmaBoxes::At& box : boxes->at)
              for (int r = 0; r < boxes->rows; ++r)
                for (int c = 0; c < boxes->columns; ++c) {
                  const int64_t there = major == Major::row ? r * boxes->columns + c : c * boxes->rows + r;
                  EXPECT_EQ(box.byte + there * element, tile.linear({box.row + r, box.column + c}));
                  bytes.insert(box.byte + there * element);
                }
            EXPECT_EQ(int64_t(bytes.size()), int64_t(rows) * columns) << print(tile);
          }
}

TEST(HopperLayout, BoxesOfTheFirstRowsOnly) {
  const auto boxes = tma_boxes(swizzled_tile(64, 128, 2), 16);
  ASSERT_TRUE(boxes.ok());
  EXPECT_EQ(boxes->rows, 16);
  EXPECT_EQ(boxes->columns, 64);
  ASSERT_EQ(boxes->at.size(), 2u);
  EXPECT_EQ(boxes->at[1].column, 64);
  EXPECT_EQ(boxes->at[1].byte, 64 * 128);
}

TEST(HopperLayout, BoxesThatTmaDoesNotHave) {
  EXPECT_EQ(
      tma_boxes(swizzled_tile(512, 64, 2), 512).error().text(),
      "tile ((512),(64)):((128),(2)) o Sw<3,4,3>: a box of 512 x 64 has a side of more than 256, the limit of TMA");
  EXPECT_EQ(tma_boxes(padded_tile(64, 64, 2, 16), 64).error().text(),
            "tile ((64),(64)):((144),(2)): byte 144 at (1,0) is not where a box of TMA puts it, byte 128");
  EXPECT_EQ(tma_boxes(swizzled_tile(64, 64, 2), 65).error().text(),
            "tile ((64),(64)):((128),(2)) o Sw<3,4,3>: 65 rows are not some of its 64");
}

// The descriptor's canonical form, written out from the PTX ISA's tables once more: start + what SBO and LBO say is
// where the tile has the element, for every coordinate of every step.
TEST(HopperLayout, DescriptorsFindEveryElement) {
  for (int element : {1, 2, 4})
    for (Major major : {Major::row, Major::column})
      for (int rows : {64, 80, 128, 176, 256})
        for (int columns : {64, 128})
          for (int swizzle : {32, 64, 128}) {
            if (major == Major::column && element != 2) continue;
            const Layout tile = swizzled_tile(rows, columns, element, major, swizzle);
            const int instruction = rows % 64 == 0 ? 64 : rows;
            const auto operand = wgmma_operand(tile, instruction);
            ASSERT_TRUE(operand.ok()) << operand.error().text();
            const int step = 32 / element, width = tile.swizzle.width_bytes();
            const int64_t sbo = int64_t(operand->descriptor >> 32 & 0x3FFF) * 16;
            const int64_t lbo = int64_t(operand->descriptor >> 16 & 0x3FFF) * 16;
            EXPECT_EQ(operand->descriptor >> 62, uint64_t(width == 128 ? 1 : width == 64 ? 2 : 3));
            EXPECT_EQ(operand->mn_major, major == Major::column);
            EXPECT_EQ(int(operand->k_steps.size()), columns / step);
            EXPECT_EQ(int(operand->mn_steps.size()), rows / instruction);
            for (size_t i = 0; i < operand->mn_steps.size(); ++i)
              for (size_t s = 0; s < operand->k_steps.size(); ++s)
                for (int mn = 0; mn < instruction; ++mn)
                  for (int k = 0; k < step; ++k) {
                    const int64_t start = operand->mn_steps[i] + operand->k_steps[s];
                    const int64_t inside = major == Major::row ? mn / 8 * sbo + mn % 8 * width + k * element
                                                               : mn * element / width * lbo + mn * element % width +
                                                                     k / 8 * sbo + k % 8 * width;
                    ASSERT_EQ(start + inside, tile.linear({int(i) * instruction + mn, int(s) * step + k}))
                        << print(tile);
                  }
          }
}

TEST(HopperLayout, OperandsThatWgmmaDoesNotHave) {
  EXPECT_EQ(
      wgmma_operand(swizzled_tile(64, 64, 1, Major::column), 64).error().text(),
      "tile ((64),(64)):((1),(64)) o Sw<2,4,3>: an MN-major operand of 1-byte elements is not there: only 16-bit types "
      "can be MN-major");
  EXPECT_EQ(wgmma_operand(swizzled_tile(96, 64, 2), 64).error().text(),
            "tile ((96),(64)):((128),(2)) o Sw<3,4,3>: 96 x 64 is not a whole number of instructions of 64 x 16");
  EXPECT_FALSE(wgmma_operand(padded_tile(64, 64, 2, 16), 64).ok());
}

// Every element of m64 x n is held by one register of one thread.
TEST(HopperLayout, FragmentsPartitionTheAccumulator) {
  const FragmentLayout& f = wgmma_fragment();
  for (int n : {8, 16, 96, 256}) {
    std::set<std::pair<int64_t, int64_t>> held;
    for (int thread = 0; thread < 128; ++thread)
      for (int v = 0; v < n / 2; ++v)
        held.insert({offset(f.thread_row, thread) + offset(f.value_row, v),
                     offset(f.thread_column, thread) + offset(f.value_column, v)});
    EXPECT_EQ(int(held.size()), 64 * n);
    EXPECT_EQ(held.rbegin()->first, 63);
    for (const auto& [row, column] : held) ASSERT_LT(column, n);
  }
}

// What stmatrix writes where the addresses say is what the fragment holds: matrix i of a warp's four has its row j at the
// address of lane 8 i + j, and lane l has the elements 2 (l % 4) and the next of row l / 4 of each.
TEST(HopperLayout, StmatrixRowsMeetTheFragment) {
  const FragmentLayout& f = wgmma_fragment();
  for (bool transposed : {false, true}) {
    const MatrixRows& rows = stmatrix_rows(transposed);
    for (int warp = 0; warp < 4; ++warp)
      for (int matrix = 0; matrix < 4; ++matrix)
        for (int lane = 0; lane < 32; ++lane)
          for (int element : {0, 1}) {
            // The registers are packed column block by column block, the upper eight rows first.
            const int register_index = matrix / 2 * 4 + matrix % 2 * 2 + element, thread = warp * 32 + lane;
            const int64_t row = offset(f.thread_row, thread) + offset(f.value_row, register_index);
            const int64_t column = offset(f.thread_column, thread) + offset(f.value_column, register_index);
            const int along = lane % 4 * 2 + element, across = lane / 4;  // in the 8x8 matrix: column and row
            const int address_lane = warp * 32 + matrix * 8 + (transposed ? along : across);
            const int64_t start_row = offset(rows.thread_row, address_lane),
                          start_column = offset(rows.thread_column, address_lane);
            EXPECT_EQ(row, transposed ? start_row + across : start_row);
            EXPECT_EQ(column, transposed ? start_column : start_column + along);
          }
  }
}

}  // namespace
}  // namespace gemmsmith
