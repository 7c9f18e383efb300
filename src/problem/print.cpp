#include "problem/spec.h"
#include "support/text.h"

namespace gemmsmith {

std::string input_form(const ExprInput& input) { return Expr::input(input.name, input.index).print(); }

namespace {

// The layout of an operand: "" where it is row-major and packed, "col", "ld=1032", "col:ld=100", "strides(51,2)".
// strides() says everything, so that whatever does not fit the short forms is still complete.
std::string layout_text(const MatrixOperand& o, int64_t batch) {
  const MatrixSpec& s = *o.spec;
  if (s == row_major(s.type, o.rows, o.columns, batch)) return "";
  if (s == column_major(s.type, o.rows, o.columns, batch)) return "col";
  if (s.column_stride == 1 && s.row_stride >= std::max<int64_t>(o.columns, 1) &&
      s == row_major(s.type, o.rows, o.columns, batch, s.row_stride))
    return concat("ld=", s.row_stride);
  if (s.row_stride == 1 && s.column_stride >= std::max<int64_t>(o.rows, 1) &&
      s == column_major(s.type, o.rows, o.columns, batch, s.column_stride))
    return concat("col:ld=", s.column_stride);
  std::string text = concat("strides(", s.row_stride, ",", s.column_stride);
  if (batch > 1 || s.batch_stride != 0) text += concat(",", s.batch_stride);
  return text + ")";
}

// " b=bf16:col": the parts that are not the default; "" if all are.
std::string operand_text(const MatrixOperand& o, DataType default_type, int64_t batch) {
  std::vector<std::string> parts;
  if (o.spec->type != default_type) parts.emplace_back(name_of(o.spec->type));
  if (std::string layout = layout_text(o, batch); !layout.empty()) parts.push_back(std::move(layout));
  return parts.empty() ? std::string() : concat(" ", o.name, "=", join(parts, ":"));
}

}  // namespace

std::string GemmProblem::print() const {
  std::string text;
  if (batch != 1) text += concat(batch, "x");
  text += concat(m, "x", n, "x", k, " dtype=", name_of(a.type));
  text += operand_text(operand_a(*this), a.type, batch);
  text += operand_text(operand_b(*this), a.type, batch);
  text += operand_text(operand_c(*this), d.type, batch);
  text += operand_text(operand_d(*this), default_output(a.type), batch);
  if (acc != default_accumulator(a.type)) text += concat(" acc=", name_of(acc));
  if (alpha != 1) text += concat(" alpha=", alpha + 0.0);  // + 0.0: -0 equals 0
  if (beta != 0) text += concat(" beta=", beta);
  for (const InputSpec& input : inputs)
    if (input.type != default_input(*this))
      text += concat(input.name == "c" ? " epilogue." : " ", input.name, "=", name_of(input.type));
  if (!epilogue.is_accumulator()) text += concat(" epilogue=", epilogue.print());
  return text;
}

}  // namespace gemmsmith
