// What is to be computed: D[m,n] = epilogue(alpha * A[m,k] * B[k,n] + beta * C[m,n]), `batch` times.
//
// alpha = 0 does not read A and B, beta = 0 does not read C: what is not read may hold NaN or be no memory at all. What
// is read counts: zeros are never skipped, so that 0 * infinity is NaN. k = 0 gives epilogue(beta * C). Integer sums
// wrap like two's complement. Everything after the sum is computed in f32 and rounded once, to D: floats to nearest
// even; integers saturate and NaN becomes 0.
//
// A problem has a text form. Words in any order; an epilogue may have blanks in it and goes on to the next word:
//   128x4096x1024 dtype=bf16 b=col
//   m=128 n=4096 k=1024 batch=4 a=f32:row:ld=1032 b=bf16:col d=f32 alpha=0.5 beta=1
//   4x128x4096x1024 dtype=bf16 bias=f32 epilogue=gelu(acc + bias[n])
// `MxNxK` or `BATCHxMxNxK` is short for the extents. `dtype=T` is the type of all operands (i8: C and D are i32);
// without it, it is A's type or f32. C has D's type and acc is f32, for i8 i32, unless given. An operand is made of
//   [TYPE] [row | col | strides(ROW,COLUMN[,BATCH])] [ld=N]
// joined by colons; it is row-major and packed by default. ld is the step from one row (col: column) to the next; BATCH
// has to be given if batch > 1, and 0 is one matrix for all. Types of epilogue inputs are given by their names
// (`bias=bf16`, and in general `epilogue.bias=bf16`, which an input named c needs); they are D's by default, the
// accumulator's where D is an integer.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gemmsmith/data_type.h"
#include "gemmsmith/expr.h"
#include "gemmsmith/layout.h"
#include "gemmsmith/result.h"

namespace gemmsmith {

// A matrix in memory, in elements: (i, j) of batch t is at t * batch_stride + i * row_stride + j * column_stride.
struct MatrixSpec {
  DataType type = DataType::f32;
  int64_t row_stride = 0;     // from one row to the next
  int64_t column_stride = 1;  // from one column to the next
  int64_t batch_stride = 0;   // from one member of the batch to the next; 0: one matrix for all, or a batch of 1
  friend bool operator==(const MatrixSpec&, const MatrixSpec&) = default;
};

// Which mode of a matrix is contiguous (layout.h). A matrix of one row or column may count as either: `row` then.
Major major_of(const MatrixSpec&, int64_t rows, int64_t columns);

struct InputSpec {
  std::string name;
  InputIndex index = InputIndex::scalar;
  DataType type = DataType::f32;
  friend bool operator==(const InputSpec&, const InputSpec&) = default;
};

struct GemmProblem {
  int64_t m = 0, n = 0, k = 0, batch = 1;  // any may be 0
  MatrixSpec a, b, c, d;                   // m x k, k x n, m x n, m x n; C is read only if beta is not 0
  DataType acc = DataType::f32;            // sums are formed in it
  double alpha = 1, beta = 0;
  Expr epilogue;
  std::vector<InputSpec> inputs;  // of the epilogue, in order of first use; vectors are dense and shared by the batch,
                                  // full tensors are dense, row-major and one for each member of the batch

  // Reads and validates the text form; print() of the result parses back to an equal problem. Errors say the column.
  static Result<GemmProblem> parse(std::string_view text);
  // The canonical text: the same for equal problems and only for them, so stores key on it.
  std::string print() const;
  // Errors: sizes that are negative or overflow 2^63 bytes, types that do not go together, inputs that are not the
  // epilogue's, a D that overlaps itself. D has to be free of overlap by this rule: sorted by size, each of its strides
  // is larger than all that the smaller ones span.
  Status validate() const;
  // Sets the epilogue and lists its inputs with their default types. Errors: an input with two indices.
  Status set_epilogue(Expr);

  bool reads_c() const { return beta != 0; }
  double flops() const { return 2.0 * double(batch) * double(m) * double(n) * double(k); }
  // Bytes that have to move at least once: A, B, D, C if read, inputs of the epilogue. What stride 0 repeats counts
  // once.
  double bytes() const;
  friend bool operator==(const GemmProblem&, const GemmProblem&);  // alpha and beta by value, where NaN equals NaN
};

// A problem with packed operands: `b_major` column is a weight stored n x k. i8 gives an i32 C, D and accumulator.
GemmProblem make_problem(int64_t m, int64_t n, int64_t k, DataType type, Major b_major = Major::row);

}  // namespace gemmsmith
