// Random valid problems for laws.
#pragma once
#include <algorithm>

#include "gemmsmith/problem.h"
#include "problem/spec.h"
#include "support/random.h"

namespace gemmsmith {

// A matrix of the given extents; with `distinct`, no two of its elements share a place.
inline MatrixSpec random_spec(Random& random, DataType type, int64_t rows, int64_t columns, int64_t batch,
                              bool distinct) {
  const int64_t pad = random.between(0, 3);
  switch (random.below(distinct ? 4 : 6)) {
    case 0:
      return row_major(type, rows, columns, batch);
    case 1:
      return column_major(type, rows, columns, batch);
    case 2:
      return row_major(type, rows, columns, batch, std::max<int64_t>(columns, 1) + pad);
    case 3: {  // every stride larger than what is inside it, signs at random
      const int64_t column = random.between(1, 3), row = column * std::max<int64_t>(columns, 1) + pad;
      const auto sign = [&] { return random.below(2) ? -1 : 1; };
      return {type, sign() * row, sign() * column,
              batch > 1 || random.below(4) == 0 ? sign() * (row * std::max<int64_t>(rows, 1) + pad) : 0};
    }
    case 4:
      return {type, random.between(-3, 3), random.between(-3, 3), random.between(-2, 2)};
    default: {
      MatrixSpec broadcast = row_major(type, rows, columns, batch);
      broadcast.batch_stride = 0;
      return broadcast;
    }
  }
}

inline GemmProblem random_problem(Random& random, int64_t max_extent = 12) {
  static const char* kEpilogues[] = {"acc",
                                     "acc",
                                     "relu(acc + bias[n])",
                                     "gelu(acc + bias[n]) * aux[m,n]",
                                     "acc * scale + r[m]",
                                     "silu(acc) + c[m,n]",
                                     "clamp(acc, -1, 1)",
                                     "where(acc > 0, bf16(acc), c[m,n])"};
  static const double kFactors[] = {1, 1, 0, 0.5, -2, 0.1};
  using enum DataType;
  static const DataType kFloats[] = {f32, f16, bf16}, kIntegerOutputs[] = {i32, i8, f32, bf16},
                        kInputs[] = {f32, f16, bf16, i8, i32};
  GemmProblem p;
  p.m = random.between(0, max_extent);
  p.n = random.between(0, max_extent);
  p.k = random.between(0, max_extent);
  p.batch = random.below(2) ? 1 : random.between(0, 3);
  const bool integer = random.below(4) == 0;
  const auto input_type = [&] { return integer ? i8 : kFloats[random.below(3)]; };
  const auto output_type = [&] { return integer ? kIntegerOutputs[random.below(4)] : kFloats[random.below(3)]; };
  p.a = random_spec(random, input_type(), p.m, p.k, p.batch, false);
  p.b = random_spec(random, input_type(), p.k, p.n, p.batch, false);
  p.c = random_spec(random, output_type(), p.m, p.n, p.batch, false);
  p.d = random_spec(random, output_type(), p.m, p.n, p.batch, true);
  p.acc = integer ? i32 : f32;
  p.alpha = kFactors[random.below(std::size(kFactors))];
  p.beta = random.below(2) ? 0 : kFactors[random.below(std::size(kFactors))];
  GS_ASSERT(p.set_epilogue(Expr::parse(kEpilogues[random.below(std::size(kEpilogues))]).value()).ok(),
            "it has one index for each input");
  for (InputSpec& input : p.inputs)
    if (random.below(3) == 0) input.type = kInputs[random.below(std::size(kInputs))];
  return p;
}

}  // namespace gemmsmith
