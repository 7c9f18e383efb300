#include "problem/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/half.h"

namespace gemmsmith {
namespace {

int64_t offset_of(const MatrixSpec& s, int64_t batch, int64_t row, int64_t column) {
  return batch * s.batch_stride + row * s.row_stride + column * s.column_stride;
}

double wrapped_to_i32(int64_t sum) { return double(int32_t(uint32_t(uint64_t(sum)))); }

// Blocks of the products: rows of A by a slice of k by columns of B that fit into the nearest cache.
constexpr int64_t kSlice = 128, kColumns = 128;

// A block of a matrix as doubles, row by row.
void load_block(const MatrixSpec& s, const void* base, int64_t batch, int64_t row, int64_t rows, int64_t column,
                int64_t columns, double* out) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out[i * columns + j] = load_element(s.type, base, offset_of(s, batch, row + i, column + j));
}

// out[j] += a[:] * b[:, j]
void add_products(const double* a, const double* b, int64_t depth, int64_t columns, DotProduct* out) {
  double sums[kColumns] = {}, magnitudes[kColumns] = {};
  for (int64_t k = 0; k < depth; ++k, b += columns)
    for (int64_t j = 0; j < columns; ++j) {
      const double product = a[k] * b[j];
      sums[j] += product;
      magnitudes[j] += std::abs(product);
    }
  for (int64_t j = 0; j < columns; ++j) {
    out[j].sum += sums[j];
    out[j].magnitude += magnitudes[j];
  }
}

}  // namespace

Reference::Reference(const GemmProblem& p, const GemmArguments& args)
    : p_(p), args_(args), epilogue_(linearize(p.epilogue)) {
  GS_ASSERT(args.inputs.size() == p.inputs.size(), "every input of the epilogue has its memory");
}

DotProduct Reference::dot(int64_t batch, int64_t row, int64_t column) const {
  DotProduct result;
  if (!reads_ab()) return result;
  int64_t integer_sum = 0;
  for (int64_t k = 0; k < p_.k; ++k) {
    const double a = load_element(p_.a.type, args_.a, offset_of(p_.a, batch, row, k));
    const double b = load_element(p_.b.type, args_.b, offset_of(p_.b, batch, k, column));
    if (p_.acc == DataType::i32)
      integer_sum += int64_t(a) * int64_t(b);
    else
      result.sum += a * b;
    result.magnitude += std::abs(a * b);
  }
  if (p_.acc == DataType::i32) result.sum = wrapped_to_i32(integer_sum);
  return result;
}

std::vector<DotProduct> Reference::dots(int64_t batch, int64_t first_row, int64_t rows) const {
  std::vector<DotProduct> results(static_cast<size_t>(rows * p_.n));
  if (!reads_ab() || results.empty()) return results;
  std::vector<double> a(static_cast<size_t>(rows * kSlice)), b(static_cast<size_t>(kSlice * kColumns));
  for (int64_t n0 = 0; n0 < p_.n; n0 += kColumns) {
    const int64_t columns = std::min(kColumns, p_.n - n0);
    for (int64_t k0 = 0; k0 < p_.k; k0 += kSlice) {
      const int64_t depth = std::min(kSlice, p_.k - k0);
      load_block(p_.a, args_.a, batch, first_row, rows, k0, depth, a.data());
      load_block(p_.b, args_.b, batch, k0, depth, n0, columns, b.data());
      for (int64_t i = 0; i < rows; ++i)
        add_products(a.data() + i * depth, b.data(), depth, columns, results.data() + i * p_.n + n0);
    }
  }
  // |a * b| <= 2^14 and k < 2^39 in any memory: sums of integers were exact in a double.
  if (p_.acc == DataType::i32)
    for (DotProduct& d : results) d.sum = wrapped_to_i32(int64_t(d.sum));
  return results;
}

double Reference::read_c(int64_t batch, int64_t row, int64_t column) const {
  return load_element(p_.c.type, args_.c, offset_of(p_.c, batch, row, column));
}

double Reference::read_input(size_t input, int64_t batch, int64_t row, int64_t column) const {
  const InputSpec& spec = p_.inputs[input];
  int64_t offset = 0;
  switch (spec.index) {
    case InputIndex::scalar:
      break;
    case InputIndex::row:
      offset = row;
      break;
    case InputIndex::column:
      offset = column;
      break;
    case InputIndex::full:
      offset = (batch * p_.m + row) * p_.n + column;
      break;
  }
  return load_element(spec.type, args_.inputs[input], offset);
}

double Reference::value(int64_t batch, int64_t row, int64_t column, const DotProduct& dot) const {
  double x = p_.alpha == 0 ? 0 : p_.alpha * dot.sum;
  if (p_.reads_c()) x += p_.beta * read_c(batch, row, column);
  if (p_.epilogue.is_accumulator()) return x;
  return run_steps<double>(epilogue_, values_, [&](const LinearExpr::Step& step, const auto& operand) {
    if (step.expr.kind() == Expr::Kind::accumulator) return x;
    if (step.expr.kind() == Expr::Kind::input) return read_input(size_t(step.input), batch, row, column);
    double operands[3] = {};
    for (size_t i = 0; i < step.expr.children().size(); ++i) operands[i] = operand(int(i));
    return evaluate_step(step.expr, operands);
  });
}

// The bounds of a kernel's sum; its derivation is in the header.
Enclosure Reference::sum(const DotProduct& dot) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (p_.acc == DataType::i32) return Enclosure::exact(dot.sum);
  if (!std::isfinite(dot.sum)) return Enclosure::exact(dot.sum);
  if (dot.magnitude == 0) return Enclosure::exact(dot.sum);
  const double k = double(p_.k), growth = std::min(k, 4 * std::sqrt(k)) + 1;
  const double error = growth * unit_roundoff(DataType::f32) * dot.magnitude + k * std::numeric_limits<float>::min();
  if (dot.magnitude + error > std::numeric_limits<float>::max()) return {dot.sum, -kInfinity, kInfinity, true};
  return {dot.sum, dot.sum - error, dot.sum + error, false};
}

ReferenceElement Reference::element(int64_t batch, int64_t row, int64_t column, const DotProduct& dot) const {
  Enclosure x = p_.alpha == 0 ? Enclosure::exact(0) : sum(dot);
  // An i32 sum goes on as f32 unless it is D itself; up to 2^24 that is exact.
  const bool plain = p_.alpha == 1 && !p_.reads_c() && p_.epilogue.is_accumulator();
  if (p_.acc == DataType::i32 && std::abs(x.value) > 0x1p24 && !(plain && p_.d.type == DataType::i32))
    x = rounded(x, 1);
  const auto scalar = [](double factor) { return enclose_step(Expr::constant(factor), nullptr); };
  if (p_.alpha != 0 && p_.alpha != 1) x = multiply(scalar(p_.alpha), x);
  double scale = p_.alpha == 0 ? 0 : std::abs(p_.alpha) * dot.magnitude;
  if (p_.reads_c()) {
    const double c = read_c(batch, row, column);
    Enclosure addend = multiply(scalar(p_.beta), Enclosure::exact(c));
    // A kernel may start its sum from C, so that C takes part in all of its roundings.
    const double magnitude = std::abs(p_.beta * c);
    if (reads_ab() && p_.acc != DataType::i32 && std::isfinite(magnitude))
      addend = rounded(addend, std::min(double(p_.k), 4 * std::sqrt(double(p_.k))));
    x = add(x, addend);
    scale += magnitude;
  }
  ReferenceElement result;
  result.result = run_steps<Enclosure>(epilogue_, enclosures_, [&](const LinearExpr::Step& step, const auto& operand) {
    if (step.expr.kind() == Expr::Kind::accumulator) return x;
    if (step.expr.kind() == Expr::Kind::input)
      return Enclosure::exact(read_input(size_t(step.input), batch, row, column));
    Enclosure operands[3];
    for (size_t i = 0; i < step.expr.children().size(); ++i) operands[i] = operand(int(i));
    return enclose_step(step.expr, operands);
  });
  result.scale = std::isfinite(result.result.value) ? std::max(scale, std::abs(result.result.value)) : scale;
  return result;
}

void compute_reference(const GemmProblem& p, const GemmArguments& args) {
  const Reference reference(p, args);
  constexpr int64_t kRows = 64;
  for (int64_t t = 0; t < p.batch; ++t)
    for (int64_t first = 0; first < p.m; first += kRows) {
      const int64_t rows = std::min(kRows, p.m - first);
      const std::vector<DotProduct> dots = reference.dots(t, first, rows);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < p.n; ++j)
          store_element(p.d.type, args.d, offset_of(p.d, t, first + i, j),
                        reference.value(t, first + i, j, dots[size_t(i * p.n + j)]));
    }
}

}  // namespace gemmsmith
