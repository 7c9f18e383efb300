#include "templates/gemm_class.h"

namespace gemmsmith {
namespace {

OperandClass operand_class(const MatrixSpec& matrix, int64_t rows, int64_t columns) {
  const bool along_rows = matrix.column_stride == 1 || columns <= 1;  // a row is contiguous
  const bool along_columns = matrix.row_stride == 1 || rows <= 1;
  Major major = Major::none;
  if (along_rows && along_columns)
    major = matrix.column_stride == 1 && (columns >= rows || matrix.row_stride != 1) ? Major::row : Major::column;
  else if (along_rows)
    major = Major::row;
  else if (along_columns)
    major = Major::column;
  return {matrix.type, major};
}

std::string print_operand(const OperandClass& operand) {
  const char* majors[] = {"row", "col", "strided"};
  return std::string(name_of(operand.type)) + ":" + majors[int(operand.major)];
}

}  // namespace

std::string GemmClass::print() const {
  std::string text = "a=" + print_operand(a) + " b=" + print_operand(b) + " d=" + print_operand(d);
  if (reads_c) text += " c=" + print_operand(c);
  text += " acc=" + std::string(name_of(acc));
  if (scaled) text += " scaled";
  if (batched) text += " batched";
  for (const InputSpec& input : inputs) text += " " + input.name + "=" + std::string(name_of(input.type));
  return text + " epilogue=" + epilogue.print();
}

GemmClass class_of(const GemmProblem& p) {
  GemmClass c;
  c.a = operand_class(p.a, p.m, p.k);
  c.b = operand_class(p.b, p.k, p.n);
  c.c = operand_class(p.c, p.m, p.n);
  c.d = operand_class(p.d, p.m, p.n);
  if (p.k == 0) c.a.major = Major::row, c.b.major = Major::column;  // empty: whatever every kernel takes
  c.acc = p.acc;
  c.scaled = p.alpha != 1;
  c.reads_c = p.reads_c();
  c.batched = p.batch > 1;
  c.epilogue = p.epilogue;
  c.inputs = p.inputs;
  return c;
}

}  // namespace gemmsmith
