#include <algorithm>
#include <cmath>

#include "problem/spec.h"
#include "sources/conformance.h"
#include "support/random.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr int64_t kExtents[] = {0, 1, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 129, 200};
constexpr int64_t kDepths[] = {0, 1, 2, 3, 4, 7, 16, 17, 31, 64, 65, 128, 255, 300, 512};
constexpr double kScales[] = {1, 1, 1, 1, 0.5, -1.25, 0, 3};
constexpr double kBetas[] = {0, 0, 0, 1, 1, 0.5, -2};

struct Types {
  DataType a, b, c, d, acc;
};
constexpr Types kTypes[] = {
    {DataType::f32, DataType::f32, DataType::f32, DataType::f32, DataType::f32},
    {DataType::f32, DataType::f32, DataType::f32, DataType::f32, DataType::f32},
    {DataType::f32, DataType::f32, DataType::f32, DataType::f32, DataType::f32},
    {DataType::bf16, DataType::bf16, DataType::bf16, DataType::bf16, DataType::f32},
    {DataType::bf16, DataType::bf16, DataType::f32, DataType::f32, DataType::f32},
    {DataType::bf16, DataType::bf16, DataType::f32, DataType::bf16, DataType::f32},
    {DataType::f16, DataType::f16, DataType::f16, DataType::f16, DataType::f32},
    {DataType::f16, DataType::f16, DataType::f32, DataType::f32, DataType::f32},
    {DataType::f32, DataType::bf16, DataType::f32, DataType::f32, DataType::f32},
    {DataType::i8, DataType::i8, DataType::i32, DataType::i32, DataType::i32},
    {DataType::i8, DataType::i8, DataType::f32, DataType::f32, DataType::i32},
    {DataType::i8, DataType::i8, DataType::i8, DataType::i8, DataType::i32},
};

constexpr const char* kEpilogues[] = {"acc",
                                      "acc",
                                      "acc",
                                      "acc",
                                      "acc + bias[n]",
                                      "relu(acc)",
                                      "relu(acc + bias[n])",
                                      "gelu(acc + bias[n])",
                                      "gelu_tanh(acc + bias[n])",
                                      "silu(acc) * aux[m,n]",
                                      "relu(acc) + res[m,n]",
                                      "tanh(acc)",
                                      "sigmoid(acc * scale)",
                                      "acc * row[m]",
                                      "acc * 0.25 + 1",
                                      "clamp(acc, -1, 1)",
                                      "where(acc > 0, acc, 0.1 * acc)",
                                      "acc / (1 + abs(acc))",
                                      "exp(min(acc, 3)) - bias[n]",
                                      "sqrt(abs(acc))",
                                      "rsqrt(1 + square(acc))",
                                      "-acc",
                                      "2 - acc",
                                      "bf16(acc) + row[m] * bias[n]",
                                      "softplus(acc)",
                                      "acc - bias[n]",
                                      "hardswish(acc)",
                                      "max(acc, bias[n])",
                                      "acc * acc",
                                      "floor(acc)"};

template <class T, size_t N>
const T& any_of(Random& random, const T (&list)[N]) {
  return list[random.below(N)];
}

// A layout of one operand: mostly what libraries take, sometimes what they have to refuse.
MatrixSpec any_layout(Random& random, DataType type, int64_t rows, int64_t columns, int64_t batch, bool output) {
  MatrixSpec s = row_major(type, rows, columns, batch);
  const int64_t padding = int64_t(random.below(9));
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      break;
    case 4:
    case 5:
    case 6:
      s = column_major(type, rows, columns, batch);
      break;
    case 7:
      s = row_major(type, rows, columns, batch, std::max<int64_t>(columns, 1) + padding);
      break;
    case 8:
      s = column_major(type, rows, columns, batch, std::max<int64_t>(rows, 1) + padding);
      break;
    case 9:  // every other column
      s = row_major(type, rows, columns, batch, 2 * std::max<int64_t>(columns, 1));
      s.column_stride = 2;
      break;
    case 10:  // rows from the last to the first
      s.row_stride = -s.row_stride;
      break;
    case 11:
      if (!output) s.row_stride = 0;  // one row for all
      break;
  }
  if (batch > 1 && !output && random.below(4) == 0) s.batch_stride = 0;
  return s;
}

GemmProblem any_problem(Random& random) {
  GemmProblem p;
  p.m = any_of(random, kExtents);
  p.n = any_of(random, kExtents);
  p.k = any_of(random, kDepths);
  switch (random.below(8)) {  // vectors, which libraries compute by other routines
    case 0:
      p.m = 1;
      break;
    case 1:
      p.n = 1;
      break;
    default:
      break;
  }
  p.batch = random.below(40) == 0 ? 0 : random.below(4) == 0 ? int64_t(2 + random.below(2)) : 1;
  const Types& types = any_of(random, kTypes);
  p.acc = types.acc;
  p.a = any_layout(random, types.a, p.m, p.k, p.batch, false);
  p.b = any_layout(random, types.b, p.k, p.n, p.batch, false);
  p.c = any_layout(random, types.c, p.m, p.n, p.batch, false);
  p.d = any_layout(random, types.d, p.m, p.n, p.batch, true);
  p.alpha = any_of(random, kScales);
  p.beta = any_of(random, kBetas);
  const Status status = p.set_epilogue(Expr::parse(any_of(random, kEpilogues)).value());
  GS_ASSERT(status.ok(), "the epilogues of this list have one index an input");
  for (InputSpec& input : p.inputs)
    if (random.below(4) == 0) input.type = DataType::bf16;
  return p;
}

}  // namespace

std::vector<ConformanceCase> conformance_cases(int count, uint64_t seed) {
  Random random(seed);
  std::vector<ConformanceCase> cases;
  while (int(cases.size()) < count) {
    ConformanceCase next{any_problem(random), Contents::random};
    const uint64_t contents = random.below(8);
    if (next.problem.alpha == 0 || next.problem.k == 0)
      next.contents = Contents::nan_where_unread;
    else if (is_float(next.problem.a.type) && contents < 2)
      next.contents = contents == 0 ? Contents::nan_in_a : Contents::infinity_in_b;
    if (next.problem.validate().ok()) cases.push_back(std::move(next));
  }
  return cases;
}

}  // namespace gemmsmith
