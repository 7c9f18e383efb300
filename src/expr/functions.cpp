// The functions of expressions. To add one: a line here and a line in tests/expr/functions_test.cpp. A primitive, which
// is something that cannot be said in terms of others, needs a lowering in every target too.
#include <algorithm>
#include <cmath>
#include <limits>

#include "expr/names.h"
#include "gemmsmith/expr.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

double minimum(double x, double y) { return std::isnan(x) || std::isnan(y) ? std::nan("") : x < y ? x : y; }
double maximum(double x, double y) { return std::isnan(x) || std::isnan(y) ? std::nan("") : x > y ? x : y; }

constexpr ExprFunction derived(std::string_view name, int arity, std::string_view definition) {
  return {name, arity, nullptr, 0, 0, definition};
}

constexpr ExprFunction kFunctions[] = {
    {"abs", 1, [](const double* x) { return std::abs(x[0]); }, 0, 0, {}},
    {"min", 2, [](const double* x) { return minimum(x[0], x[1]); }, 0, 0, {}},
    {"max", 2, [](const double* x) { return maximum(x[0], x[1]); }, 0, 0, {}},
    {"floor", 1, [](const double* x) { return std::floor(x[0]); }, 0, 0, {}},
    {"sqrt", 1, [](const double* x) { return std::sqrt(x[0]); }, 2, 0, {}},
    {"rsqrt", 1, [](const double* x) { return 1 / std::sqrt(x[0]); }, 4, 0, {}},
    {"exp", 1, [](const double* x) { return std::exp(x[0]); }, 8, 0, {}},
    {"log", 1, [](const double* x) { return std::log(x[0]); }, 8, 8, {}},
    {"tanh", 1, [](const double* x) { return std::tanh(x[0]); }, 8, 8, {}},
    {"erf", 1, [](const double* x) { return std::erf(x[0]); }, 8, 8, {}},

    derived("relu", 1, "max(x, 0)"),
    derived("relu6", 1, "min(max(x, 0), 6)"),
    derived("leaky_relu", 2, "where(x > 0, x, x * y)"),
    derived("clamp", 3, "min(max(x, y), z)"),
    derived("square", 1, "x * x"),
    // For very negative x, exp overflows to infinity, in f32 as in f64, and the quotient is 0 with the sign of x: never
    // NaN.
    derived("sigmoid", 1, "1 / (1 + exp(-x))"),
    derived("silu", 1, "x / (1 + exp(-x))"),
    derived("gelu", 1, "0.5 * x * (1 + erf(x * 0.7071067811865476))"),                                 // sqrt(1/2)
    derived("gelu_tanh", 1, "0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))"),  // sqrt(2/pi)
    derived("softplus", 1, "max(x, 0) + log(1 + exp(-abs(x)))"),  // exp never overflows
    derived("hardswish", 1, "x * clamp(x + 3, 0, 6) / 6"),
};

constexpr std::string_view kCasts[] = {"f32", "f16", "bf16", "i8", "i32"};

}  // namespace

std::span<const ExprFunction> functions() { return kFunctions; }

const ExprFunction* function_named(std::string_view name) {
  for (const ExprFunction& f : kFunctions)
    if (f.name == name) return &f;
  return nullptr;
}

int arity_of(std::string_view callable) {
  if (const ExprFunction* f = function_named(callable)) return f->arity;
  if (callable == "where") return 3;
  return std::find(std::begin(kCasts), std::end(kCasts), callable) != std::end(kCasts) ? 1 : 0;
}

const std::vector<std::string>& callable_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ExprFunction& f : kFunctions) all.emplace_back(f.name);
    all.emplace_back("where");
    all.insert(all.end(), std::begin(kCasts), std::end(kCasts));
    return all;
  }();
  return names;
}

std::string call_form(std::string_view callable) {
  if (callable == "where") return "where(condition, x, y)";
  static constexpr std::string_view kParameters[] = {"", "(x)", "(x, y)", "(x, y, z)"};
  return concat(callable, kParameters[arity_of(callable)]);
}

bool reserved_word(std::string_view word) {
  return word == "acc" || word == "inf" || word == "nan" || arity_of(word) > 0;
}

}  // namespace gemmsmith
