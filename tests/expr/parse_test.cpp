#include <gtest/gtest.h>

#include "expr/random_expr.h"
#include "gemmsmith/expr.h"
#include "support/text.h"

namespace gemmsmith {
namespace {

TEST(Expr, WhatIsPrintedParsesBackToTheSameTree) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const Expr e = random_expr(random, int(random.below(7)));
    const std::string text = e.print();
    const auto back = Expr::parse(text);
    ASSERT_TRUE(back.ok()) << text << "\n" << back.error().text();
    ASSERT_TRUE(*back == e) << text << "\n" << back->print();
    ASSERT_EQ(back->print(), text);
  }
}

// Removing any pair of parentheses from a printed text must change the tree or break it.
TEST(Expr, PrintsNoParenthesesThatCouldGo) {
  Random random(2);
  int pairs = 0;
  for (int i = 0; i < 3000; ++i) {
    const Expr e = random_expr(random, 4);
    const std::string text = e.print();
    std::vector<size_t> open;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '(') open.push_back(at);
      if (text[at] != ')') continue;
      const size_t begin = open.back();
      open.pop_back();
      if (begin > 0 && is_name_character(text[begin - 1], false)) continue;  // of a call
      ++pairs;
      const std::string shorter =
          text.substr(0, begin) + " " + text.substr(begin + 1, at - begin - 1) + " " + text.substr(at + 1);
      const auto parsed = Expr::parse(shorter);
      ASSERT_FALSE(parsed.ok() && *parsed == e) << text;
    }
  }
  EXPECT_GT(pairs, 1000);
}

TEST(Expr, OtherTreesAreNotEqual) {
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    const Expr a = random_expr(random, 3), b = random_expr(random, 3);
    ASSERT_EQ(a == b, a.print() == b.print()) << a.print() << "\n" << b.print();
  }
}

TEST(Expr, TheDefaultIsTheAccumulator) {
  EXPECT_TRUE(Expr().is_accumulator());
  EXPECT_EQ(Expr().print(), "acc");
  EXPECT_TRUE(Expr::parse(" acc ").value() == Expr());
}

struct PrintCase {
  const char* text;
  const char* printed;
};
constexpr PrintCase kPrinted[] = {
    {"gelu(acc + bias[n])", "gelu(acc + bias[n])"},
    {"silu(acc)*aux[m,n]", "silu(acc) * aux[m,n]"},
    {"relu(acc) + c[ m , n ]", "relu(acc) + c[m,n]"},
    {"acc * scale", "acc * scale"},
    {"((acc)) + (1 + 2)", "acc + (1 + 2)"},
    {"(acc + 1) + 2", "acc + 1 + 2"},
    {"acc - (1 - 2)", "acc - (1 - 2)"},
    {"acc / (2 * 3)", "acc / (2 * 3)"},
    {"-acc * 2", "-acc * 2"},
    {"-(acc * 2)", "-(acc * 2)"},
    {"- 2", "-2"},
    {"-(2)", "-(2)"},
    {"--2", "--2"},
    {"acc - -2", "acc - -2"},
    {"acc<=0", "acc <= 0"},
    {"where(acc > 0, acc, bf16(acc)*.5)", "where(acc > 0, acc, bf16(acc) * 0.5)"},
    {"(acc < 1) == (acc > 2)", "(acc < 1) == (acc > 2)"},
    {"1e3 + 1.50", "1000 + 1.5"},
    {"clamp(acc,-inf,6)", "clamp(acc, -inf, 6)"},
};

TEST(Expr, PrintsInOneForm) {
  for (const PrintCase& c : kPrinted) {
    const auto e = Expr::parse(c.text);
    ASSERT_TRUE(e.ok()) << e.error().text();
    EXPECT_EQ(e->print(), c.printed);
  }
}

struct ErrorCase {
  const char* text;
  const char* error;
};
constexpr ErrorCase kErrors[] = {
    {"",
     "expression, column 1: the end of the text is not expected here; expected a number, acc, an input, a function or "
     "("},
    {"acc +",
     "expression, column 6: the end of the text is not expected here; expected a number, acc, an input, a function or "
     "("},
    {"acc + * 2",
     "expression, column 7: \"*\" is not expected here; expected a number, acc, an input, a function or ("},
    {"acc 2", "expression, column 5: \"2\" is not expected here; expected an operator or the end"},
    {"2x", "expression, column 2: \"x\" is not expected here; expected an operator or the end"},
    {"acc = 2", "expression, column 5: \"=\" is not expected here; expected an operator or the end"},
    {"(acc", "expression, column 5: the end of the text is not expected here; expected an operator or )"},
    {"relu(acc", "expression, column 9: the end of the text is not expected here; expected an operator, a comma or )"},
    {"acc \xc3\xa4 2", "expression, column 5: \"\xc3\xa4\" is not expected here; expected an operator or the end"},
    {"1 + glue(acc)", "expression, column 5: glue is not a function; did you mean gelu?"},
    {"swish9(acc)",
     "expression, column 1: swish9 is not a function; known: abs, min, max, floor, sqrt, rsqrt, exp, log, tanh, erf, "
     "relu, relu6, "
     "leaky_relu, clamp, square, sigmoid, silu, gelu, gelu_tanh, softplus, hardswish, where, f32, f16, bf16, i8, i32"},
    {"clamp(acc, 1)", "expression, column 1: clamp with 2 arguments given to a function of 3; clamp(x, y, z)"},
    {"relu()", "expression, column 1: relu with 0 arguments given to a function of 1; relu(x)"},
    {"where(acc)", "expression, column 1: where with 1 argument given to a function of 3; where(condition, x, y)"},
    {"acc + relu", "expression, column 7: relu is a function and cannot name an input; write relu(x)"},
    {"bf16 + acc", "expression, column 1: bf16 is a function and cannot name an input; write bf16(x)"},
    {"acc[m,n]", "expression, column 1: acc[ is not possible: acc is the accumulator of the element itself; write acc"},
    {"acc + bias[k]",
     "expression, column 11: bias[k] has an index that is not known; use [m] for a value a row, [n] for a value a "
     "column, [m,n] for "
     "a full tensor"},
    {"acc + bias[n", "expression, column 11: [ is never closed; use [m], [n] or [m,n]"},
    {"0 < acc < 1",
     "expression, column 9: \"<\" follows another comparison; use parentheses: comparisons do not chain"},
    {"acc * 1e999",
     "expression, column 7: 1e999 is out of range: a number's size is 0 or from 5e-324 to 1.8e+308; inf is a number"},
    {"f16_(acc)", "expression, column 1: f16_ is not a function; did you mean f16?"},
};

TEST(Expr, ErrorsSayWhereAndWhatWouldDo) {
  for (const ErrorCase& c : kErrors) {
    const auto e = Expr::parse(c.text);
    ASSERT_FALSE(e.ok()) << c.text;
    EXPECT_EQ(e.error().text(), c.error) << c.text;
  }
}

TEST(Expr, CallChecksItsArguments) {
  EXPECT_EQ(Expr::call("glue", {Expr()}).error().text(), "glue(...): glue is not a function; did you mean gelu?");
  EXPECT_EQ(Expr::call("min", {Expr()}).error().text(), "min(...): 1 argument given to a function of 2; min(x, y)");
  EXPECT_TRUE(Expr::call("where", {Expr(), Expr(), Expr()}).value() == Expr::where(Expr(), Expr(), Expr()));
  EXPECT_TRUE(Expr::call("i8", {Expr()}).value() == Expr::cast(DataType::i8, Expr()));
}

std::string repeated(const char* piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(Expr, DeepInputIsAnErrorAndNoStackOverflow) {
  const std::string limit = "nesting is deeper than 200 levels, the limit for expressions";
  for (const char* opening : {"(", "-", "relu(", "min(acc,", "where(acc, 1, ", "acc*("}) {
    const auto e = Expr::parse(repeated(opening, 100000));
    ASSERT_FALSE(e.ok());
    EXPECT_EQ(e.error().limit, "is deeper than 200 levels, the limit for expressions") << opening;
  }
  EXPECT_EQ(Expr::parse(repeated("(", 201) + "acc").error().text(), "expression, column 201: " + limit);
  EXPECT_TRUE(Expr::parse(repeated("(", 199) + "acc" + repeated(")", 199)).ok());
}

TEST(Expr, ChainsMayBeLongButNotEndless) {
  const auto chain = Expr::parse("acc" + repeated(" + acc", 999));
  ASSERT_TRUE(chain.ok());
  EXPECT_TRUE(Expr::parse(chain->print()).value() == *chain);
  EXPECT_EQ(evaluate(*chain, 2, {}), 2000);
  EXPECT_EQ(Expr::parse("acc" + repeated("+acc", 100000)).error().text(),
            "expression, column 4004: this operator makes the expression deeper than 1000 levels, the limit");
}

TEST(Inputs, InOrderOfFirstUseEachOnce) {
  const auto inputs = inputs_of(Expr::parse("gelu(acc + b2[n]) * a1[m,n] + b2[n] * s + r[m]").value());
  ASSERT_TRUE(inputs.ok());
  const std::vector<ExprInput> expected = {
      {"b2", InputIndex::column}, {"a1", InputIndex::full}, {"s", InputIndex::scalar}, {"r", InputIndex::row}};
  EXPECT_EQ(*inputs, expected);
}

TEST(Inputs, OneNameHasOneIndex) {
  EXPECT_EQ(inputs_of(Expr::parse("acc + v[n] * v[m,n]").value()).error().text(),
            "input v: v[m,n] is used as v[n] too; an input has one index; give the second one a name of its own");
}

}  // namespace
}  // namespace gemmsmith
