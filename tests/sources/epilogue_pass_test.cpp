#include "sources/epilogue_pass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "problem/compare.h"
#include "problem/operands.h"
#include "sources/vector_math.h"
#include "support/half.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

// ---- the functions of vector_math.h, against float64, to the errors that functions() grants

void expect_within(const char* name, float x, float result, double exact, double relative, double absolute) {
  if (std::isnan(exact) || std::isnan(result)) {
    EXPECT_EQ(std::isnan(exact), std::isnan(result)) << name << "(" << x << ") = " << result << ", exactly " << exact;
    return;
  }
  const double error = std::abs(double(result) - exact), allowed = 0x1p-24 * (relative * std::abs(exact) + absolute);
  const bool subnormal = std::abs(exact) < std::numeric_limits<float>::min();
  const bool overflow = std::isinf(result) && std::abs(exact) > std::numeric_limits<float>::max() * (1 - 0x1p-20);
  EXPECT_TRUE(error <= allowed || overflow || (subnormal && error <= std::numeric_limits<float>::min()))
      << name << "(" << x << ") = " << result << ", exactly " << exact;
}

TEST(VectorMath, is_as_exact_as_functions_are_granted) {
  const auto check = [](const char* name, auto f) {
    const ExprFunction& function = *function_named(name);
    const auto at = [&](float x) {
      const double argument = x;
      expect_within(name, x, f(x), function.evaluate(&argument), function.relative_error, function.absolute_error);
    };
    for (int exponent = -40; exponent <= 7; ++exponent)
      for (int step = 0; step < 512; ++step) {
        const float x = std::ldexp(1.0f + float(step) / 512, exponent);
        at(x), at(-x);
      }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const float x :
         {0.0f, -0.0f, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 3e38f, -3e38f, 1e-45f, 0.625f,
          std::nextafter(0.625f, 0.0f), std::nextafter(1.0f, 0.0f), 88.72f, 88.73f, -87.33f, -103.9f})
      at(x);
  };
  check("exp", [](float x) { return vector_math::exp(x); });
  check("tanh", [](float x) { return vector_math::tanh(x); });
  check("erf", [](float x) { return vector_math::erf(x); });
}

// ---- the pass

// With k = 0 and beta = 1 the problem is epilogue(C): D starts as a copy of C and the pass does the rest.
void expect_right(const std::string& text) {
  auto problem = GemmProblem::parse(text);
  ASSERT_TRUE(problem.ok()) << problem.error().text();
  auto operands = Operands::create(*problem, 3);
  ASSERT_TRUE(operands.ok());
  const Check check(*problem, operands->arguments());
  for (const int threads : {1, 3}) {
    operands->poison_output();
    set_d_from_c(*problem, operands->arguments(), problem->beta, threads);
    EpiloguePass(*problem, threads).run(operands->arguments());
    const Accuracy accuracy = check.compare(operands->arguments().d);
    EXPECT_TRUE(accuracy.passed) << text << ": " << accuracy.failure;
    EXPECT_EQ(operands->damage().value_or(""), "") << text;
  }
}

TEST(EpiloguePass, computes_every_function) {
  static constexpr std::string_view kArguments[] = {"", "(acc)", "(acc, x[m,n])", "(acc, x[n], y[m])"};
  for (const ExprFunction& function : functions()) {
    const bool positive = function.name == "log" || function.name == "sqrt" || function.name == "rsqrt";
    expect_right(
        concat("9x300x0 beta=1 epilogue=", function.name, positive ? "(abs(acc))" : kArguments[function.arity]));
  }
}

TEST(EpiloguePass, computes_operators_casts_and_choices) {
  for (const char* epilogue :
       {"acc", "-acc", "acc + 1 - x[n]", "acc * x[m] / (1 + abs(y[m,n]))", "bf16(acc)", "f16(acc) + f32(acc)",
        "i8(acc * 100)", "i32(acc)", "where(acc > x[n], acc, x[n])", "where(acc < 0, 1, 2)",
        "(acc >= x[m]) + (acc <= y)", "(acc == acc) - (acc != acc)", "nan * acc", "7", "scale"})
    expect_right(concat("9x300x0 beta=1 epilogue=", epilogue));
}

TEST(EpiloguePass, walks_every_layout_and_size) {
  for (const char* layout :
       {"", "d=col", "d=ld=333", "d=col:ld=31", "c=col", "c=strides(700,2)", "d=strides(800,2)", "d=strides(-333,1)"})
    for (const char* extents : {"1x1x0", "1x257x0", "17x255x0", "17x16x0", "3x256x0", "0x5x0", "5x0x0"})
      expect_right(concat(extents, " beta=0.5 ", layout, " x=bf16 epilogue=acc * x[m] + y[n] - z[m,n] * s"));
  expect_right("batch=3 m=5 n=7 k=0 beta=1 d=strides(7,1,40) c=strides(7,1,0) epilogue=acc + z[m,n]");
}

TEST(EpiloguePass, divides_large_outputs_among_threads) {
  expect_right("700x700x0 beta=1 epilogue=tanh(acc) + x[n] * y[m]");
  expect_right("700x700x0 beta=1 d=col epilogue=tanh(acc) + x[n] * y[m] + z[m,n]");
}

TEST(EpiloguePass, is_empty_for_the_accumulator) {
  EXPECT_TRUE(EpiloguePass(GemmProblem::parse("8x8x8").value(), 1).empty());
  EXPECT_FALSE(EpiloguePass(GemmProblem::parse("8x8x8 epilogue=relu(acc)").value(), 1).empty());
}

TEST(SetDFromC, does_not_read_c_for_a_scale_of_zero) {
  const GemmProblem p = GemmProblem::parse("3x5x0 dtype=bf16 d=ld=7").value();
  auto operands = Operands::create(p, 1);
  ASSERT_TRUE(operands.ok());
  GemmArguments arguments = operands->arguments();
  arguments.c = nullptr;
  set_d_from_c(p, arguments, 0, 2);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) EXPECT_EQ(load_element(DataType::bf16, arguments.d, i * p.d.row_stride + j), 0);
  EXPECT_EQ(operands->damage().value_or(""), "");
}

}  // namespace
}  // namespace gemmsmith
