#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "expr/linear.h"
#include "expr/names.h"
#include "expr/random_expr.h"
#include "gemmsmith/expr.h"
#include "support/half.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// One row a function: a call over acc = x, and what it is in other words. A function without a row fails the test
// below.
struct FunctionCase {
  const char* function;
  const char* call;
  double (*expected)(double x);
};
const FunctionCase kCases[] = {
    {"abs", "abs(acc)", [](double x) { return std::fabs(x); }},
    {"min", "min(acc, 0.25)", [](double x) { return std::isnan(x) ? x : std::fmin(x, 0.25); }},
    {"max", "max(0.25, acc)", [](double x) { return std::isnan(x) ? x : std::fmax(x, 0.25); }},
    {"floor", "floor(acc)", [](double x) { return std::floor(x); }},
    {"sqrt", "sqrt(acc)", [](double x) { return std::sqrt(x); }},
    {"rsqrt", "rsqrt(acc)", [](double x) { return std::pow(x, -0.5); }},
    {"exp", "exp(acc)", [](double x) { return std::exp(x); }},
    {"log", "log(acc)", [](double x) { return std::log(x); }},
    {"tanh", "tanh(acc)", [](double x) { return std::tanh(x); }},
    {"erf", "erf(acc)", [](double x) { return 1 - std::erfc(x); }},
    {"relu", "relu(acc)", [](double x) { return x < 0 ? 0 : x; }},
    {"relu6", "relu6(acc)", [](double x) { return x < 0   ? 0
                                                  : x > 6 ? 6
                                                          : x; }},
    {"leaky_relu", "leaky_relu(acc, 0.01)", [](double x) { return x < 0 ? 0.01 * x : x; }},
    {"clamp", "clamp(acc, -1, 2.5)", [](double x) { return x < -1    ? -1
                                                           : x > 2.5 ? 2.5
                                                                     : x; }},
    {"square", "square(acc)", [](double x) { return x * x; }},
    {"sigmoid", "sigmoid(acc)", [](double x) { return 0.5 * (1 + std::tanh(x / 2)); }},
    {"silu", "silu(acc)", [](double x) { return x * 0.5 * (1 + std::tanh(x / 2)); }},
    {"gelu", "gelu(acc)", [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }},
    {"gelu_tanh", "gelu_tanh(acc)",
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3)))); }},
    {"softplus", "softplus(acc)", [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }},
    {"hardswish", "hardswish(acc)", [](double x) { return x <= -3  ? 0
                                                          : x >= 3 ? x
                                                                   : x * (x + 3) / 6; }},
};

TEST(Functions, EveryOneHasACase) {
  std::set<std::string_view> tested;
  for (const FunctionCase& c : kCases) EXPECT_TRUE(tested.insert(c.function).second) << c.function << " twice";
  for (const ExprFunction& f : functions()) EXPECT_TRUE(tested.count(f.name)) << f.name << " has no row in kCases";
  EXPECT_EQ(tested.size(), functions().size());
}

TEST(Functions, AreWhatTheirCasesSay) {
  const double points[] = {-1000, -89, -88.5, -20, -3.5, -3, -2, -1, -0.5, -1e-8, 0,   1e-8,
                           0.25,  0.3, 1,     2.5, 3,    5,  6,  7,  20,   88,    1000};
  for (const FunctionCase& c : kCases) {
    const auto e = Expr::parse(c.call);
    ASSERT_TRUE(e.ok()) << e.error().text();
    ASSERT_NE(std::string_view(c.call).find(std::string(c.function) + "("), std::string_view::npos);
    for (const double x : points) {
      const double got = evaluate(*e, x, {}), expected = c.expected(x);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got)) << c.call << " at " << x;
      else if (std::isinf(expected))
        EXPECT_EQ(got, expected) << c.call << " at " << x;
      else
        EXPECT_NEAR(got, expected, 1e-14 * (1 + std::fabs(expected))) << c.call << " at " << x;
    }
    EXPECT_TRUE(std::isnan(evaluate(*e, kNan, {}))) << c.call << " loses a NaN";
  }
}

TEST(Functions, AreEitherPrimitiveOrDefined) {
  for (const ExprFunction& f : functions()) {
    EXPECT_NE(f.evaluate != nullptr, !f.definition.empty()) << f.name;
    EXPECT_TRUE(f.arity >= 1 && f.arity <= 3) << f.name;
    EXPECT_EQ(function_named(f.name), &f);
    EXPECT_TRUE(reserved_word(f.name));
    EXPECT_TRUE(is_name(f.name));
  }
  EXPECT_EQ(function_named("where"), nullptr);
}

TEST(Functions, NegativeTailsAreFiniteInF32Too) {
  // The definition of silu as a target computes it: every step rounded to f32, where exp(89) is infinite.
  for (const double x : {-1000.0, -89.0, -88.5})
    for (const bool f32 : {false, true}) {
      const LinearExpr linear = linearize(Expr::parse("silu(acc)").value());
      std::vector<double> values;
      const double y = run_steps<double>(linear, values, [&](const LinearExpr::Step& step, const auto& operand) {
        double operands[3] = {};
        for (size_t i = 0; i < step.expr.children().size(); ++i) operands[i] = operand(int(i));
        const double exact = step.expr.is_accumulator() ? x : evaluate_step(step.expr, operands);
        return f32 ? round_to(DataType::f32, exact) : exact;
      });
      EXPECT_TRUE(std::isfinite(y) && y <= 0 && std::fabs(y) < 1e-30) << x << " gives " << y;
    }
}

void expect_only_primitives(const Expr& e, std::set<const void*>& seen) {
  if (!seen.insert(e.identity()).second) return;
  if (e.kind() == Expr::Kind::call) {
    ASSERT_NE(function_named(e.name()), nullptr);
    EXPECT_NE(function_named(e.name())->evaluate, nullptr) << e.name() << " is not a primitive";
  }
  for (const Expr& child : e.children()) expect_only_primitives(child, seen);
}

TEST(Expand, LeavesOnlyPrimitives) {
  Random random(4);
  std::set<const void*> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.clear();
    expect_only_primitives(expand(random_expr(random, 4)), seen);
  }
  for (const FunctionCase& c : kCases) {
    seen.clear();
    expect_only_primitives(expand(Expr::parse(c.call).value()), seen);
  }
}

TEST(Expand, ChangesNoValueAndIsIdempotent) {
  Random random(5);
  const auto input = [](const std::string& name) { return name == "bias" ? -0.75 : name == "scale" ? 3.0 : 0.125; };
  for (int i = 0; i < 3000; ++i) {
    const Expr e = random_expr(random, 4), expanded = expand(e);
    const double x = random.normal() * 3, a = evaluate(e, x, input), b = evaluate(expanded, x, input);
    ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << e.print();
    ASSERT_TRUE(expand(expanded) == expanded);
  }
}

TEST(Expand, ParametersAreNotMixedUpWithInputsOfTheSameName) {
  const Expr e = expand(Expr::parse("clamp(y, z, x)").value());
  EXPECT_EQ(e.print(), "min(max(y, z), x)");
}

TEST(Linear, NestingOfFunctionsThatUseTheirArgumentTwiceStaysLinear) {
  std::string text = "acc";
  for (int i = 0; i < 150; ++i) text = "gelu(" + text + ")";
  const LinearExpr linear = linearize(Expr::parse(text).value());
  EXPECT_LT(linear.steps.size(), 150u * 12);
  EXPECT_NEAR(evaluate(Expr::parse(text).value(), 50, {}), 50, 1e-9);
}

TEST(Linear, OperandsComeFirstAndInputsAreNumbered) {
  Random random(6);
  for (int i = 0; i < 500; ++i) {
    const LinearExpr linear = linearize(random_expr(random, 5));
    for (size_t s = 0; s < linear.steps.size(); ++s) {
      const LinearExpr::Step& step = linear.steps[s];
      for (size_t o = 0; o < 3; ++o)
        ASSERT_TRUE(o < step.expr.children().size() ? step.operands[o] >= 0 && step.operands[o] < int(s)
                                                    : step.operands[o] == -1);
      if (step.expr.kind() == Expr::Kind::input)
        ASSERT_EQ(linear.inputs[size_t(step.input)], step.expr.name());
      else
        ASSERT_EQ(step.input, -1);
    }
  }
}

struct ValueCase {
  const char* text;
  double accumulator;
  double expected;
};
const ValueCase kValues[] = {
    {"acc < 1", 0, 1},
    {"acc < 1", 1, 0},
    {"acc <= 1", 1, 1},
    {"acc > 1", 1, 0},
    {"acc >= 1", 1, 1},
    {"acc == 1", 1, 1},
    {"acc != 1", 1, 0},
    {"acc < 1", kNan, 0},
    {"acc == acc", kNan, 0},
    {"acc != acc", kNan, 1},
    {"where(acc, 2, 3)", kNan, 2},
    {"where(acc, 2, 3)", 0, 3},
    {"where(acc > 0, acc, -acc)", -4, 4},
    {"bf16(acc)", 1.00390625, 1},
    {"f16(acc)", 70000, kInf},
    {"f32(acc)", 0.1, double(0.1f)},
    {"i8(acc)", 200, 127},
    {"i8(acc)", 2.5, 2},
    {"i8(acc)", kNan, 0},
    {"i32(acc)", -1.5, -2},
    {"-acc - 1 - 1", 1, -3},
    {"8 / 2 / 2 * acc", 3, 6},
    {"min(acc, nan)", 1, kNan},
    {"max(nan, acc)", 1, kNan},
    {"2 + 3 * acc", 4, 14},
    {"-acc * acc", 3, -9},
};

TEST(Evaluate, KnownValues) {
  for (const ValueCase& c : kValues) {
    const double got = evaluate(Expr::parse(c.text).value(), c.accumulator, {});
    EXPECT_TRUE(got == c.expected || (std::isnan(got) && std::isnan(c.expected))) << c.text << " gives " << got;
  }
}

TEST(Evaluate, InputsAreAskedForByName) {
  const std::map<std::string, double> values = {{"bias", 2}, {"aux", 3}, {"s", 0.5}};
  const Expr e = Expr::parse("(acc + bias[n]) * aux[m,n] * s").value();
  EXPECT_EQ(evaluate(e, 4, [&](const std::string& name) { return values.at(name); }), 9);
}

}  // namespace
}  // namespace gemmsmith
