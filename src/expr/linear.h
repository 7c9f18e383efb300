// An expression as a list of steps: what evaluators and compilers walk. Derived functions are replaced by their
// definitions, and a subtree that is used twice is one step, so that gelu(gelu(gelu(...))) stays linear.
#pragma once
#include <array>
#include <vector>

#include "gemmsmith/expr.h"

namespace gemmsmith {

struct LinearExpr {
  struct Step {
    Expr expr;                                   // its kind and fields say what to do; every call is of a primitive
    std::array<int, 3> operands = {-1, -1, -1};  // earlier steps, one for each of expr.children()
    int input = -1;                              // of an input: its place among inputs
  };
  std::vector<Step> steps;          // operands before their users; the last one is the result
  std::vector<std::string> inputs;  // names in order of first use
};

LinearExpr linearize(const Expr&);

// Computes every step in order: `compute(step, operand)` gives the value of a step, where operand(i) is the value of
// its i-th operand. `values` is scratch that can be kept from one evaluation to the next.
template <class Value, class Compute>
Value run_steps(const LinearExpr& linear, std::vector<Value>& values, const Compute& compute) {
  values.clear();
  for (const LinearExpr::Step& step : linear.steps)
    values.push_back(compute(step, [&](int i) -> const Value& { return values[size_t(step.operands[size_t(i)])]; }));
  return values.back();
}

// One step in float64, given its operands; not of inputs and of the accumulator.
double evaluate_step(const Expr&, const double* operands);

}  // namespace gemmsmith
