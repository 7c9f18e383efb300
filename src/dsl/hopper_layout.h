// What Hopper's copy and tensor-core instructions need to know of a tile in shared memory. Everything is found by
// evaluating the tile's layout and checked against it at every coordinate: there is no second description to disagree.
//
// Tiles are layouts of (rows, columns) as swizzled_tile() makes them; an operand of wgmma has K along its columns. The
// instructions' own layouts are those of the PTX ISA: "Matrix fragments for wgmma.mma_async.m64nNk16" and "stmatrix".
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gemmsmith/layout.h"

namespace gemmsmith {

// One TMA instruction moves a dense box; a tile takes as many boxes as its layout has leaves beyond one.
struct TmaBoxes {
  int rows = 0, columns = 0;
  struct At {
    int row, column;
    int64_t byte;  // in the tile, before the swizzle, which acts on addresses
  };
  std::vector<At> at;
};
// Of the first `rows` of the tile. Errors: a box of more than 256 rows or columns, a tile whose bytes a box would not
// fill in the order in which TMA writes them.
Result<TmaBoxes> tma_boxes(const Layout& tile, int rows);

// An operand of wgmma: instructions of `instruction_mn` rows, steps of 32 bytes along k.
struct WgmmaOperand {
  uint64_t descriptor = 0;  // everything but the start address
  bool mn_major = false;
  std::vector<int64_t> k_steps;   // byte offsets
  std::vector<int64_t> mn_steps;  // of each instruction along m or n
};
// Errors: not one of the canonical layouts of the PTX ISA, and where it differs.
Result<WgmmaOperand> wgmma_operand(const Layout& tile, int instruction_mn);

// Registers of a warpgroup's m64 x n accumulator: thread t and register v hold the element at (row(t) + row(v),
// column(t) + column(v)). As layouts from an index to a row or a column; a register's index runs over one instruction.
struct FragmentLayout {
  Mode thread_row, thread_column, value_row, value_column;
};
const FragmentLayout& wgmma_fragment();
// Where the threads of a warpgroup have stmatrix.x4 write, in a 64 x 16 tile of 16-bit elements: the rows of its 8x8
// matrices, or with .trans their columns.
struct MatrixRows {
  Mode thread_row, thread_column;
};
const MatrixRows& stmatrix_rows(bool transposed);

}  // namespace gemmsmith
