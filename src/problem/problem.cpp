#include "gemmsmith/problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "problem/spec.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t saturating_product(int64_t x, int64_t y) {
  int64_t product;
  return __builtin_mul_overflow(x, y, &product) ? kMax : product;
}

// A mode of an operand: what it adds to the largest or smallest offset.
struct StridedMode {
  int64_t extent, stride;
};
std::array<StridedMode, 3> modes_of(const MatrixOperand& o, int64_t batch) {
  return {StridedMode{o.rows, o.spec->row_stride}, {o.columns, o.spec->column_stride}, {batch, o.spec->batch_stride}};
}

Error problem_error(std::string given, std::string limit, std::string remedy = {}) {
  return {"problem", std::move(given), std::move(limit), std::move(remedy), {}};
}

}  // namespace

MatrixSpec row_major(DataType type, int64_t rows, int64_t columns, int64_t batch, int64_t ld) {
  if (ld <= 0) ld = std::max<int64_t>(columns, 1);
  return {type, ld, 1, batch > 1 ? saturating_product(rows, ld) : 0};
}

MatrixSpec column_major(DataType type, int64_t rows, int64_t columns, int64_t batch, int64_t ld) {
  if (ld <= 0) ld = std::max<int64_t>(rows, 1);
  return {type, 1, ld, batch > 1 ? saturating_product(columns, ld) : 0};
}

Major major_of(const MatrixSpec& spec, int64_t rows, int64_t columns) {
  if (spec.column_stride == 1 || columns <= 1) return Major::row;
  if (spec.row_stride == 1 || rows <= 1) return Major::column;
  return Major::none;
}

GemmProblem make_problem(int64_t m, int64_t n, int64_t k, DataType type, Major b_major) {
  GemmProblem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = row_major(type, m, k, 1);
  p.b = b_major == Major::column ? column_major(type, k, n, 1) : row_major(type, k, n, 1);
  p.c = p.d = row_major(default_output(type), m, n, 1);
  p.acc = default_accumulator(type);
  return p;
}

Status GemmProblem::set_epilogue(Expr e) {
  GS_TRY(const std::vector<ExprInput> used, inputs_of(e));
  epilogue = std::move(e);
  inputs.clear();
  for (const ExprInput& input : used) inputs.push_back({input.name, input.index, default_input(*this)});
  return Done{};
}

bool operator==(const GemmProblem& x, const GemmProblem& y) {
  const auto same = [](double u, double v) { return u == v || (std::isnan(u) && std::isnan(v)); };
  return x.m == y.m && x.n == y.n && x.k == y.k && x.batch == y.batch && x.a == y.a && x.b == y.b && x.c == y.c &&
         x.d == y.d && x.acc == y.acc && same(x.alpha, y.alpha) && same(x.beta, y.beta) && x.epilogue == y.epilogue &&
         x.inputs == y.inputs;
}

int64_t elements_of(const InputSpec& input, const GemmProblem& p) {
  switch (input.index) {
    case InputIndex::scalar:
      return 1;
    case InputIndex::row:
      return p.m;
    case InputIndex::column:
      return p.n;
    case InputIndex::full:
      return p.batch * p.m * p.n;
  }
  return 0;
}

ElementSpan span_of(const MatrixOperand& o, int64_t batch) {
  ElementSpan span{0, 0};
  for (const StridedMode& mode : modes_of(o, batch)) {
    if (mode.extent == 0) return {};
    const int64_t reach = (mode.extent - 1) * mode.stride;
    (reach < 0 ? span.low : span.high) += reach;
  }
  return span;
}

double GemmProblem::bytes() const {
  const auto operand_bytes = [&](const MatrixOperand& o) {
    double elements = 1;
    for (const StridedMode& mode : modes_of(o, batch))
      if (mode.extent == 0 || mode.stride != 0 || mode.extent == 1) elements *= double(mode.extent);
    return elements * bytes_of(o.spec->type);
  };
  if (m == 0 || n == 0 || batch == 0) return 0;
  double total = operand_bytes(operand_d(*this));
  if (alpha != 0) total += operand_bytes(operand_a(*this)) + operand_bytes(operand_b(*this));
  if (reads_c()) total += operand_bytes(operand_c(*this));
  for (const InputSpec& input : inputs) total += double(elements_of(input, *this)) * bytes_of(input.type);
  return total;
}

// ---- validation
namespace {

Status check_extents(const GemmProblem& p) {
  const std::pair<const char*, int64_t> extents[] = {{"m", p.m}, {"n", p.n}, {"k", p.k}, {"batch", p.batch}};
  for (const auto& [name, extent] : extents)
    if (extent < 0) return problem_error(concat(name, " = ", extent), "is negative", "0 and more are sizes");
  return Done{};
}

// Offsets and bytes of an operand have to fit into 63 bits.
Status check_size(const MatrixOperand& o, int64_t batch) {
  int64_t low = 0, high = 0;
  bool overflow = false;
  const std::array<StridedMode, 3> modes = modes_of(o, batch);
  if (std::any_of(modes.begin(), modes.end(), [](const StridedMode& mode) { return mode.extent == 0; })) return Done{};
  for (const StridedMode& mode : modes) {
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(mode.extent - 1, mode.stride, &reach);
    overflow |= reach < 0 ? __builtin_add_overflow(low, reach, &low) : __builtin_add_overflow(high, reach, &high);
  }
  int64_t bytes = 0;
  overflow = overflow || __builtin_sub_overflow(high, low, &bytes) || __builtin_add_overflow(bytes, 1, &bytes) ||
             __builtin_mul_overflow(bytes, int64_t(bytes_of(o.spec->type)), &bytes);
  if (!overflow) return Done{};
  return problem_error(concat(o.name, " of ", batch > 1 ? concat(batch, " x ") : std::string(), o.rows, " x ",
                              o.columns, " ", name_of(o.spec->type), " with strides (", o.spec->row_stride, ",",
                              o.spec->column_stride, ",", o.spec->batch_stride, ")"),
                       "spans 2^63 bytes or more", "use smaller sizes or strides");
}

Status check_inputs_size(const GemmProblem& p) {
  int64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(p.m, p.n, &bytes) ||
                        __builtin_mul_overflow(bytes, std::max<int64_t>(p.batch, 1), &bytes) ||
                        __builtin_mul_overflow(bytes, int64_t(8), &bytes);
  const bool full =
      std::any_of(p.inputs.begin(), p.inputs.end(), [](const InputSpec& i) { return i.index == InputIndex::full; });
  if (!full || !overflow) return Done{};
  return problem_error(concat("an input of ", p.batch, " x ", p.m, " x ", p.n), "spans 2^63 bytes or more",
                       "use smaller sizes");
}

bool one_of(DataType type, std::initializer_list<DataType> allowed) {
  return std::find(allowed.begin(), allowed.end(), type) != allowed.end();
}

Status check_types(const GemmProblem& p) {
  using enum DataType;
  const auto form = [](const char* name, DataType type) { return concat(name, "=", name_of(type)); };
  const bool floats = one_of(p.a.type, {f32, f16, bf16}) && one_of(p.b.type, {f32, f16, bf16});
  const bool integers = p.a.type == i8 && p.b.type == i8;
  if (!floats && !integers)
    return problem_error(concat(form("a", p.a.type), " and ", form("b", p.b.type)), "cannot be multiplied",
                         "a and b are each f32, f16 or bf16, or both i8");
  if (p.acc != (integers ? i32 : f32))
    return problem_error(form("acc", p.acc),
                         concat("is not the accumulator of ", form("a", p.a.type), " and ", form("b", p.b.type)),
                         form("use acc", integers ? i32 : f32));
  const auto check_output = [&](const char* name, DataType type) -> Status {
    if (integers ? one_of(type, {i32, i8, f32, bf16}) : one_of(type, {f32, f16, bf16})) return Done{};
    return problem_error(form(name, type),
                         concat("does not go with ", form("a", p.a.type), " and ", form("b", p.b.type)),
                         integers ? "use i32, i8, f32 or bf16" : "use f32, f16 or bf16");
  };
  GS_CHECK(check_output("d", p.d.type));  // first: a C that is not given takes D's type
  GS_CHECK(check_output("c", p.c.type));
  for (const InputSpec& input : p.inputs)
    if (input.type == f64)
      return problem_error(concat(input.name, "=f64"), "is not a type of epilogue inputs",
                           "use f32, f16, bf16, i8 or i32");
  return Done{};
}

std::string inputs_text(const std::vector<std::string>& forms) { return forms.empty() ? "none" : join(forms, ", "); }

Status check_inputs(const GemmProblem& p) {
  GS_TRY(const std::vector<ExprInput> used, inputs_of(p.epilogue));
  std::vector<std::string> used_forms, listed_forms;
  for (const ExprInput& input : used) used_forms.push_back(input_form(input));
  for (const InputSpec& input : p.inputs) listed_forms.push_back(input_form({input.name, input.index}));
  if (used_forms != listed_forms)
    return problem_error(concat("the list of epilogue inputs, ", inputs_text(listed_forms), ","),
                         concat("is not what the epilogue uses, ", inputs_text(used_forms)),
                         "set_epilogue() fills it in");
  for (const InputSpec& input : p.inputs)
    if (clashes_with_key(input.name))
      return problem_error(concat("the epilogue input ", input.name), "has the name of a part of the problem",
                           "give it another name");
  return Done{};
}

// See GemmProblem::validate() for the rule.
Status check_overlap(const GemmProblem& p) {
  std::vector<StridedMode> modes;
  for (const StridedMode& mode : modes_of(operand_d(p), p.batch)) {
    if (mode.extent == 0) return Done{};
    if (mode.extent > 1) modes.push_back({mode.extent, std::abs(mode.stride)});
  }
  std::sort(modes.begin(), modes.end(), [](const StridedMode& x, const StridedMode& y) { return x.stride < y.stride; });
  int64_t reach = 0;
  for (const StridedMode& mode : modes) {
    if (mode.stride <= reach)
      return problem_error(concat("d of ", p.batch, " x ", p.m, " x ", p.n, " with strides (", p.d.row_stride, ",",
                                  p.d.column_stride, ",", p.d.batch_stride, ")"),
                           "overlaps itself: a stride is not larger than what the smaller ones span",
                           "give each element of d its own place");
    reach += (mode.extent - 1) * mode.stride;
  }
  return Done{};
}

}  // namespace

Status GemmProblem::validate() const {
  GS_CHECK(check_extents(*this));
  GS_CHECK(check_types(*this));
  for (const MatrixOperand& o : {operand_a(*this), operand_b(*this), operand_c(*this), operand_d(*this)})
    GS_CHECK(check_size(o, batch));
  GS_CHECK(check_inputs(*this));
  GS_CHECK(check_inputs_size(*this));
  return check_overlap(*this);
}

}  // namespace gemmsmith
