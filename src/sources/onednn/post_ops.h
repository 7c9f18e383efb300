// An epilogue as a chain of operations on the result of a primitive, which is how oneDNN fuses.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gemmsmith/expr.h"

namespace gemmsmith::onednn {

enum class BinaryOp : uint8_t { add, sub, mul, div };

// value = function(value), or value = value <op> tensor.
struct PostOp {
  std::string function;       // of an element-wise operation, by the expression's name; "linear": alpha * x + beta
  float alpha = 0, beta = 0;  // its parameters
  BinaryOp op = BinaryOp::add;
  std::string input;  // of a binary one: the epilogue's input; then `function` is empty
};

// The chain that computes an expression, first operation first; nothing if it is not a chain over the accumulator:
// where the accumulator is used twice, or with functions that the library lacks or computes by other rules.
std::optional<std::vector<PostOp>> post_ops_of(const Expr&);

}  // namespace gemmsmith::onednn
