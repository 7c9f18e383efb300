#include "problem/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "problem/operands.h"
#include "problem/random_problem.h"
#include "support/half.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

// A kernel as one might write it: f32 sums in blocks of k, epilogue in f32, every function off by its allowed error at
// random.
struct F32Kernel {
  int64_t block = 4;            // of k, summed apart
  bool reversed = false;        // order of the blocks
  bool alpha_first = false;     // scales A instead of the sum
  bool start_from_c = false;    // adds products to beta * C
  double function_error = 0.5;  // of what is allowed
};

int64_t place(const MatrixSpec& s, int64_t t, int64_t i, int64_t j) {
  return t * s.batch_stride + i * s.row_stride + j * s.column_stride;
}

float f32_epilogue(const GemmProblem& p, const GemmArguments& args, int64_t t, int64_t i, int64_t j, float x,
                   double error, Random& random) {
  const LinearExpr linear = linearize(p.epilogue);
  std::vector<float> values;
  return run_steps<float>(linear, values, [&](const LinearExpr::Step& step, const auto& operand) -> float {
    if (step.expr.kind() == Expr::Kind::accumulator) return x;
    if (step.expr.kind() == Expr::Kind::input) {
      const InputSpec& input = p.inputs[size_t(step.input)];
      const int64_t offsets[] = {0, i, j, (t * p.m + i) * p.n + j};
      return float(load_element(input.type, args.inputs[size_t(step.input)], offsets[size_t(input.index)]));
    }
    double operands[3] = {};
    for (size_t o = 0; o < step.expr.children().size(); ++o) operands[o] = operand(int(o));
    double y = evaluate_step(step.expr, operands);
    if (step.expr.kind() == Expr::Kind::call && std::isfinite(y)) {
      const ExprFunction& f = *function_named(step.expr.name());
      y += error * (2 * random.uniform() - 1) * 0x1p-24 * (f.relative_error * std::abs(y) + f.absolute_error);
    }
    return float(y);
  });
}

void run(const GemmProblem& p, const GemmArguments& args, const F32Kernel& kernel, Random& random) {
  for (int64_t t = 0; t < p.batch; ++t)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        const float c = p.reads_c() ? float(p.beta) * float(load_element(p.c.type, args.c, place(p.c, t, i, j))) : 0;
        float x = kernel.start_from_c ? c : 0;
        int64_t integer = 0;
        const int64_t blocks = p.alpha == 0 ? 0 : (p.k + kernel.block - 1) / kernel.block;
        for (int64_t b = 0; b < blocks; ++b) {
          const int64_t begin = (kernel.reversed ? blocks - 1 - b : b) * kernel.block;
          float sum = 0;
          for (int64_t k = begin; k < std::min(p.k, begin + kernel.block); ++k) {
            const double u = load_element(p.a.type, args.a, place(p.a, t, i, k)),
                         v = load_element(p.b.type, args.b, place(p.b, t, k, j));
            integer += int64_t(u) * int64_t(v);
            sum += kernel.alpha_first || kernel.start_from_c ? (float(p.alpha) * float(u)) * float(v)
                                                             : float(u) * float(v);
          }
          x += sum;
        }
        if (p.acc == DataType::i32) {
          if (p.alpha == 1 && !p.reads_c() && p.epilogue.is_accumulator() && p.d.type == DataType::i32) {
            store_element(p.d.type, args.d, place(p.d, t, i, j), double(int32_t(integer)));
            continue;
          }
          x = p.alpha == 0 ? c : float(p.alpha) * float(int32_t(integer)) + c;
        } else if (!kernel.start_from_c) {
          x = (kernel.alpha_first || p.alpha == 0 ? x : float(p.alpha) * x) + c;
        }
        const float y = f32_epilogue(p, args, t, i, j, x, kernel.function_error, random);
        store_element(p.d.type, args.d, place(p.d, t, i, j), y);
      }
}

TEST(Check, PassesEveryHonestKernel) {
  Random random(1);
  for (int i = 0; i < 1500; ++i) {
    const GemmProblem p = random_problem(random, i % 10 == 0 ? 70 : 12);
    const Operands operands = Operands::create(p, uint64_t(i)).value();
    const Check check(p, operands.arguments());
    const F32Kernel kernel{1 + int64_t(random.below(16)), random.below(2) == 0, random.below(2) == 0,
                           random.below(3) == 0, 0.9};
    run(p, operands.arguments(), kernel, random);
    const Accuracy accuracy = check.compare(operands.arguments().d);
    ASSERT_TRUE(accuracy.passed) << p.print() << "\n" << accuracy.failure;
    ASSERT_EQ(accuracy.compared, p.batch * p.m * p.n);
    ASSERT_LE(accuracy.worst, 1.0 + 1e-9) << p.print();
  }
}

TEST(Check, PassesTheReferenceItself) {
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    const GemmProblem p = random_problem(random, 20);
    const Operands operands = Operands::create(p, uint64_t(i)).value();
    compute_reference(p, operands.arguments());
    const Accuracy accuracy = Check(p, operands.arguments()).compare(operands.arguments().d);
    ASSERT_TRUE(accuracy.passed) << p.print() << "\n" << accuracy.failure;
  }
}

// Kernels that are wrong in ways that kernels are wrong.
struct Wrong {
  const char* name;
  const char* problem;
  std::function<double(const GemmProblem&, const GemmArguments&, int64_t i, int64_t j)> element;
};

double element_of(const GemmProblem& p, const GemmArguments& args, bool is_a, int64_t i, int64_t j) {
  return is_a ? load_element(p.a.type, args.a, place(p.a, 0, i, j))
              : load_element(p.b.type, args.b, place(p.b, 0, i, j));
}

double partial_sum(const GemmProblem& p, const GemmArguments& args, int64_t i, int64_t j, int64_t from, int64_t to) {
  double sum = 0;
  for (int64_t k = from; k < to; ++k) sum += element_of(p, args, true, i, k) * element_of(p, args, false, k, j);
  return sum;
}

TEST(Check, FailsWrongKernels) {
  const auto value = [](const GemmProblem& p, const GemmArguments& args, int64_t i, int64_t j) {
    return Reference(p, args).value(0, i, j);
  };
  const std::vector<Wrong> kernels = {
      {"drops the last element of k", "64x64x4096",
       [](const auto& p, const auto& args, int64_t i, int64_t j) { return partial_sum(p, args, i, j, 0, p.k - 1); }},
      {"drops the last element of k in bf16", "64x64x300 dtype=bf16",
       [](const auto& p, const auto& args, int64_t i, int64_t j) { return partial_sum(p, args, i, j, 0, p.k - 1); }},
      {"adds in bf16", "32x32x256 dtype=bf16 d=f32",
       [](const auto& p, const auto& args, int64_t i, int64_t j) {
         double sum = 0;
         for (int64_t k = 0; k < p.k; ++k)
           sum = round_to(DataType::bf16, sum + element_of(p, args, true, i, k) * element_of(p, args, false, k, j));
         return sum;
       }},
      {"rounds f32 operands to bf16", "32x32x256",
       [](const auto& p, const auto& args, int64_t i, int64_t j) {
         double sum = 0;
         for (int64_t k = 0; k < p.k; ++k)
           sum += round_to(DataType::bf16, element_of(p, args, true, i, k)) *
                  round_to(DataType::bf16, element_of(p, args, false, k, j));
         return sum;
       }},
      {"rounds the sum to bf16 before the epilogue", "32x32x64 dtype=bf16 d=f32 epilogue=acc + bias[n]",
       [](const auto& p, const auto& args, int64_t i, int64_t j) {
         return round_to(DataType::bf16, partial_sum(p, args, i, j, 0, p.k)) +
                load_element(p.inputs[0].type, args.inputs[0], j);
       }},
      {"truncates to bf16 instead of rounding", "32x32x64 dtype=bf16",
       [&](const auto& p, const auto& args, int64_t i, int64_t j) {
         return double(float_from_bf16(uint16_t(std::bit_cast<uint32_t>(float(value(p, args, i, j))) >> 16)));
       }},
      {"forgets alpha", "8x8x8 alpha=0.99",
       [](const auto& p, const auto& args, int64_t i, int64_t j) { return partial_sum(p, args, i, j, 0, p.k); }},
      {"takes gelu_tanh for gelu", "32x32x16 epilogue=gelu(acc)",
       [](const auto& p, const auto& args, int64_t i, int64_t j) {
         return evaluate(Expr::parse("gelu_tanh(acc)").value(), partial_sum(p, args, i, j, 0, p.k), {});
       }},
      {"is off by one in an integer", "8x8x8 dtype=i8",
       [&](const auto& p, const auto& args, int64_t i, int64_t j) {
         return value(p, args, i, j) + (i == 7 && j == 7 ? 1 : 0);
       }},
      {"loses NaN", "8x8x8 epilogue=log(acc)",
       [&](const auto& p, const auto& args, int64_t i, int64_t j) {
         const double x = value(p, args, i, j);
         return std::isnan(x) ? 0 : x;
       }},
      {"writes infinity", "8x8x8",
       [&](const auto& p, const auto& args, int64_t i, int64_t j) {
         return i == 3 && j == 5 ? std::numeric_limits<double>::infinity() : value(p, args, i, j);
       }},
      {"swaps two columns", "8x8x8",
       [&](const auto& p, const auto& args, int64_t i, int64_t j) { return value(p, args, i, j < 2 ? 1 - j : j); }},
      {"saturates i8 at -127", "64x64x64 dtype=i8 d=i8",
       [&](const auto& p, const auto& args, int64_t i, int64_t j) { return std::max(-127.0, value(p, args, i, j)); }},
  };
  for (const Wrong& wrong : kernels) {
    const GemmProblem p = GemmProblem::parse(wrong.problem).value();
    const Operands operands = Operands::create(p, 5).value();
    const Check check(p, operands.arguments());
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j)
        store_element(p.d.type, operands.arguments().d, place(p.d, 0, i, j),
                      wrong.element(p, operands.arguments(), i, j));
    const Accuracy accuracy = check.compare(operands.arguments().d);
    EXPECT_FALSE(accuracy.passed) << "a kernel that " << wrong.name << " passes " << wrong.problem;
    EXPECT_FALSE(accuracy.failure.empty());
  }
}

TEST(Check, AnElementThatIsNotWrittenFailsWhereverItIs) {
  for (const char* text : {"300x300x300 dtype=bf16", "5x7x3", "5x7x3 dtype=i8"}) {
    const GemmProblem p = GemmProblem::parse(text).value();
    Random random(6);
    for (int trial = 0; trial < 5; ++trial) {
      const Operands operands = Operands::create(p, 7).value();
      const Check check(p, operands.arguments(), {.all_up_to_products = 1e6, .sample_products = 1e4});
      const int64_t i = random.between(0, p.m - 1), j = random.between(0, p.n - 1);
      std::vector<char> poison(size_t(bytes_of(p.d.type)));
      char* at = static_cast<char*>(operands.arguments().d) + place(p.d, 0, i, j) * bytes_of(p.d.type);
      std::memcpy(poison.data(), at, poison.size());
      compute_reference(p, operands.arguments());
      EXPECT_TRUE(check.compare(operands.arguments().d).passed);
      std::memcpy(at, poison.data(), poison.size());
      const Accuracy accuracy = check.compare(operands.arguments().d);
      EXPECT_FALSE(accuracy.passed) << text;
      EXPECT_EQ(accuracy.failure.find(concat("D[", i, ",", j, "] is ")), 0u) << accuracy.failure;
    }
  }
}

TEST(Check, SamplesCornersAndEdgesOfLargeProblems) {
  const GemmProblem p = GemmProblem::parse("3x200x300x64 dtype=bf16").value();
  const Operands operands = Operands::create(p, 8).value();
  const Check check(p, operands.arguments(), {.all_up_to_products = 1000, .sample_products = 1e5});
  EXPECT_GE(check.elements(), 1000);
  EXPECT_LE(check.elements(), 2000);
  compute_reference(p, operands.arguments());
  ASSERT_TRUE(check.compare(operands.arguments().d).passed);
  const auto spoil = [&](int64_t t, int64_t i, int64_t j) {
    const int64_t at = place(p.d, t, i, j);
    const double before = load_element(p.d.type, operands.arguments().d, at);
    store_element(p.d.type, operands.arguments().d, at, before + 100);
    const bool passed = check.compare(operands.arguments().d).passed;
    store_element(p.d.type, operands.arguments().d, at, before);
    return !passed;
  };
  for (const int64_t t : {0, 2})
    for (const int64_t i : {0, 199})
      for (const int64_t j : {0, 299}) EXPECT_TRUE(spoil(t, i, j)) << t << " " << i << " " << j;
}

TEST(Check, FailureTextsSayWhereAndWhat) {
  const GemmProblem p = GemmProblem::parse("2x2x2 dtype=i8").value();
  const int8_t a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  const GemmArguments args{.a = a, .b = b, .c = nullptr, .d = nullptr, .inputs = {}};
  const int32_t right[] = {19, 22, 43, 50}, wrong[] = {19, 22, 43, 51};
  EXPECT_TRUE(Check(p, args).compare(right).passed);
  EXPECT_EQ(Check(p, args).compare(wrong).failure, "D[1,1] is 51, reference 50, allowed from 50 to 50");
  const GemmProblem f = GemmProblem::parse("1x1x1").value();
  const float x = NAN, y = 1, d = 3;
  EXPECT_EQ(Check(f, {.a = &x, .b = &y, .c = nullptr, .d = nullptr, .inputs = {}}).compare(&d).failure,
            "D[0,0] is 3, reference nan");
}

TEST(Check, OverflowOfF32IsNotHeldAgainstAKernel) {
  const GemmProblem p = GemmProblem::parse("1x1x2").value();
  const float a[] = {3e38f, -3e38f}, b[] = {10, 10};
  const Check check(p, {.a = a, .b = b, .c = nullptr, .d = nullptr, .inputs = {}});
  for (const float d : {0.0f, INFINITY, -INFINITY, NAN}) EXPECT_TRUE(check.compare(&d).passed) << d;
}

TEST(Operands, FillsAreReproducibleFreshAndOfTheRightSpread) {
  for (const char* text : {"300x400x500", "30x40x50 dtype=bf16 b=col",
                           "30x40x50 dtype=i8 bias=i32 epilogue=acc + bias[n]", "3x4x5 a=ld=9"}) {
    const GemmProblem p = GemmProblem::parse(text).value();
    Operands x = Operands::create(p, 1).value();
    const Operands same = Operands::create(p, 1).value(), other = Operands::create(p, 2).value();
    const int64_t bytes = span_of(operand_b(p), p.batch).elements() * bytes_of(p.b.type);
    EXPECT_EQ(std::memcmp(x.arguments().b, same.arguments().b, size_t(bytes)), 0);
    EXPECT_NE(std::memcmp(x.arguments().b, other.arguments().b, size_t(bytes)), 0);
    x.fill(2);
    EXPECT_EQ(std::memcmp(x.arguments().b, other.arguments().b, size_t(bytes)), 0);
    double squares = 0;
    for (int64_t i = 0; i < p.k * p.n; ++i) squares += std::pow(load_element(p.b.type, x.arguments().b, i), 2);
    const double mean = squares / double(p.k * p.n), expected = p.b.type == DataType::i8 ? 5461.5 : 1;
    if (p.k * p.n > 1000) {
      EXPECT_NEAR(mean / expected, 1, 0.15) << text;
    }
  }
}

TEST(Operands, DamageOutsideOfDIsFound) {
  Random random(9);
  for (int i = 0; i < 300; ++i) {
    const GemmProblem p = random_problem(random, 6);
    if (p.m * p.n * p.batch == 0) continue;
    const Operands operands = Operands::create(p, uint64_t(i), {.guard_bytes = 64, .alignment_bytes = 64}).value();
    const MatrixOperand d = operand_d(p);
    const ElementSpan span = span_of(d, p.batch);
    const int64_t size = bytes_of(p.d.type);
    char* base = static_cast<char*>(operands.arguments().d);
    ASSERT_EQ(operands.damage(), std::nullopt);
    std::vector<bool> element(size_t(span.elements() + 2));
    for (int64_t t = 0; t < p.batch; ++t)
      for (int64_t r = 0; r < p.m; ++r)
        for (int64_t c = 0; c < p.n; ++c) element[size_t(place(p.d, t, r, c) - span.low + 1)] = true;
    for (int64_t at = span.low - 1; at <= span.high + 1; ++at) {  // one element before and one behind
      const char before = base[at * size];
      base[at * size] = char(before ^ 1);
      ASSERT_EQ(operands.damage().has_value(), !element[size_t(at - span.low + 1)]) << p.print() << " at " << at;
      base[at * size] = before;
    }
  }
}

TEST(Operands, BytesAreWhatIsAllocated) {
  EXPECT_EQ(operand_bytes(GemmProblem::parse("2x3x4 dtype=bf16").value()), 2 * (8 + 12 + 6));
  EXPECT_EQ(operand_bytes(GemmProblem::parse("2x3x4 a=ld=10 beta=1 epilogue=acc+b2[n]").value()),
            4 * (14 + 12 + 6 + 6 + 3));
  const Operands operands = Operands::create(GemmProblem::parse("2x3x4 a=ld=10 epilogue=acc+b2[n]").value(), 1).value();
  EXPECT_EQ(operands.bytes(), 4 * (14 + 12 + 6 + 3));
}

}  // namespace
}  // namespace gemmsmith
