// The defaults of a problem's parts: the parser fills them in and the printer leaves them out.
#pragma once
#include "gemmsmith/problem.h"

namespace gemmsmith {

inline bool is_integer_gemm(DataType a) { return a == DataType::i8; }
inline DataType default_accumulator(DataType a) { return is_integer_gemm(a) ? DataType::i32 : DataType::f32; }
inline DataType default_output(DataType a) { return is_integer_gemm(a) ? DataType::i32 : a; }
inline DataType default_input(const GemmProblem& p) { return is_float(p.d.type) ? p.d.type : p.acc; }

// Dense rows (columns) at a leading dimension; 0 or less: as long as a row (column), at least 1. Batch members follow
// each other; a batch of 1 has stride 0. Saturates at 2^63 - 1 instead of overflowing: validate() refuses such sizes.
MatrixSpec row_major(DataType, int64_t rows, int64_t columns, int64_t batch, int64_t ld = 0);
MatrixSpec column_major(DataType, int64_t rows, int64_t columns, int64_t batch, int64_t ld = 0);

// "scale", "bias[n]", "aux[m,n]"
std::string input_form(const ExprInput&);
bool clashes_with_key(std::string_view input);  // a, b, d, m, n, k, batch, acc, alpha, beta, dtype, epilogue

// A matrix of a problem with its name and extents.
struct MatrixOperand {
  char name;
  const MatrixSpec* spec;
  int64_t rows, columns;
};
inline MatrixOperand operand_a(const GemmProblem& p) { return {'a', &p.a, p.m, p.k}; }
inline MatrixOperand operand_b(const GemmProblem& p) { return {'b', &p.b, p.k, p.n}; }
inline MatrixOperand operand_c(const GemmProblem& p) { return {'c', &p.c, p.m, p.n}; }
inline MatrixOperand operand_d(const GemmProblem& p) { return {'d', &p.d, p.m, p.n}; }

// Where a matrix lies relative to element (0,0) of batch 0, in elements; both ends included. Empty without elements.
struct ElementSpan {
  int64_t low = 0, high = -1;
  bool empty() const { return high < low; }
  int64_t elements() const { return high - low + 1; }
};
// Of a valid problem's operand.
ElementSpan span_of(const MatrixOperand&, int64_t batch);
// Of an epilogue's input: its dense elements.
int64_t elements_of(const InputSpec&, const GemmProblem&);

}  // namespace gemmsmith
